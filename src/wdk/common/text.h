/* SPDX-License-Identifier: MIT */
/*
 * Converts UTF-8 and UTF-16. The ANSI and OEM code page of this kernel is UTF-8, as on a Windows with code page 65001.
 */
#ifndef ONDK_WDK_TEXT_H
#define ONDK_WDK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "ntdef.h"

#include "base/private_export.h"

/*
 * Each function converts `length` units of `in` and writes at most `cap` units: whole characters, without a terminator.
 * It returns the number of units of the complete result. If that number exceeds `cap`, the result was cut off. *written
 * receives the number of written units. A malformed sequence becomes U+FFFD and sets *bad. `written` and `bad` may be
 * NULL.
 */
size_t text_to_utf16(WCHAR *out, size_t cap, const char *in, size_t length, size_t *written, bool *bad);
size_t text_to_utf8(char *out, size_t cap, const WCHAR *in, size_t length, size_t *written, bool *bad);

/*
 * Returns the length of `text` in units. A unit has `unit` bytes (1 or 2). If none of the first `max` units is a
 * terminator, returns `max`.
 */
size_t text_length(const void *text, size_t unit, size_t max);
size_t text_wide_length(const WCHAR *s);

/* These functions return a terminated copy, which the caller frees, or NULL if out of memory. */
WCHAR *text_wide_copy(const char *s) PRIVATE_EXPORT(text_wide_copy);
char *text_narrow_copy(const WCHAR *s, size_t length);

/*
 * These two functions map one UTF-16 unit to upper and to lower case. Names in the registry and in \Device are compared
 * with this mapping.
 */
WCHAR text_upcase(WCHAR c);
WCHAR text_downcase(WCHAR c);

#endif
