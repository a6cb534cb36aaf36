/* SPDX-License-Identifier: MIT */
/*
 * printf as Windows' kernel has it, for what drivers pass: long has 32 bits, wide characters 16.
 *   d i u o x X      with nothing, l, I32 (32 bits), h, hh, ll, I64, I, z, j, t (64 bits)
 *   c C s S          of the format's own width or, capital, of the other; h: narrow, l and w: wide; a null pointer:
 * (null) Z wZ             ANSI_STRING *, UNICODE_STRING * p                16 digits in upper case e E f F g G a A
 * double %n writes nothing. Width, precision, * and the flags - + space # 0 as in C.
 */
#ifndef ONDK_WDK_FORMAT_H
#define ONDK_WDK_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

#include "ntdef.h"

/*
 * Writes at most `cap` units, without a terminator, and returns how many the whole text takes; *written, if not NULL,
 * receives how many there are. A character that does not fit whole is left out with all that follows.
 */
size_t format_narrow(char *out, size_t cap, size_t *written, const char *format, va_list args);
size_t format_wide(WCHAR *out, size_t cap, size_t *written, const WCHAR *format, va_list args);

#endif
