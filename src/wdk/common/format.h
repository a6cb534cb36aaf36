/* SPDX-License-Identifier: MIT */
/*
 * printf as in Windows' kernel: long has 32 bits, wide characters have 16.
 *   d i u o x X      32 bits without a size prefix, with l or with I32; 8 with hh; 16 with h; 64 with ll, I64, I, z, j
 *                    or t
 *   c C s S          c and s take characters of the format's own type (narrow or wide). C and S take characters of the
 *                    other type. With the prefix h, all four take narrow characters. With the prefix l or w, all four
 *                    take wide characters. A null pointer prints as (null)
 *   Z wZ             ANSI_STRING *, UNICODE_STRING *
 *   p                16 digits in upper case
 *   e E f F g G a A  double
 * %n writes nothing. Field width, precision, * and the flags - + space # 0 are as in C.
 */
#ifndef ONDK_WDK_FORMAT_H
#define ONDK_WDK_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include "ntdef.h"

/*
 * These functions write at most `cap` units (char or WCHAR) and no terminator. They write nothing after the first
 * character that does not fit. They return the number of units of the complete text. *written receives the number of
 * units written. `written` may be NULL.
 */
size_t format_narrow(char *out, size_t cap, size_t *written, const char *format, va_list args);
size_t format_wide(WCHAR *out, size_t cap, size_t *written, const WCHAR *format, va_list args);

#endif
