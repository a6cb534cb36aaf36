/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 and UTF-16. The ANSI and OEM code page of this kernel is UTF-8, as a Windows that is set to code page 65001
 * has it.
 */
#ifndef ONDK_WDK_TEXT_H
#define ONDK_WDK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "ntdef.h"

#include "base/private_export.h"

/*
 * Each writes at most `cap` units of what `length` units of `in` become, whole characters only, and no terminator.
 * Returns how many units all of it takes, so that more than cap means it was cut; *written, if not NULL, receives how
 * many were written. What is not well-formed becomes U+FFFD and sets *bad, if not NULL.
 */
size_t text_to_utf16(WCHAR *out, size_t cap, const char *in, size_t length, size_t *written, bool *bad);
size_t text_to_utf8(char *out, size_t cap, const WCHAR *in, size_t length, size_t *written, bool *bad);

/* In units of 1 or 2 octets; `most` where there is no terminator among so many. */
size_t text_length(const void *text, size_t unit, size_t most);
size_t text_wide_length(const WCHAR *s);

/* Allocated with malloc and terminated; NULL without memory. */
WCHAR *text_wide_copy(const char *s) PRIVATE_EXPORT(text_wide_copy);
char *text_narrow_copy(const WCHAR *s, size_t length);

/* Simple case mapping of one UTF-16 unit, as names in the registry and in \Device are compared. */
WCHAR text_upcase(WCHAR c);
WCHAR text_downcase(WCHAR c);

#endif
