/* SPDX-License-Identifier: MIT */
/* Implements the C library's routines for memory and strings: see wdm/crt.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/text.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

SIZE_T RtlCompareMemory(const VOID *Source1, const VOID *Source2, SIZE_T Length)
{
    const UCHAR *a = Source1, *b = Source2;
    SIZE_T i = 0;

    while (Length - i >= 64 && !memcmp(a + i, b + i, 64))
        i += 64;
    while (i < Length && a[i] == b[i])
        i++;
    return i;
}

SIZE_T RtlCompareMemoryUlong(PVOID Source, SIZE_T Length, ULONG Pattern)
{
    const UCHAR *at = Source;
    SIZE_T i = 0;

    while (Length - i >= sizeof Pattern && !memcmp(at + i, &Pattern, sizeof Pattern))
        i += sizeof Pattern;
    return i;
}

static errno_t crt_move_bounded(void *destination, rsize_t size, const void *source, rsize_t count)
{
    if (!count)
        return 0;
    if (!destination)
        return EINVAL;
    if (!source || count > size) {
        memset(destination, 0, size);
        return source ? ERANGE : EINVAL;
    }
    memmove(destination, source, count);
    return 0;
}

errno_t ondk_memcpy_s(PVOID destination, rsize_t size, const VOID *source, rsize_t count)
{
    return crt_move_bounded(destination, size, source, count);
}

/*
 * Copies `count` bytes. If the destination is too small, or the source is NULL, does not change the destination.
 * memcpy_s would zero it.
 */
errno_t ondk_memmove_s(PVOID destination, rsize_t size, const VOID *source, rsize_t count)
{
    if (count && destination && source && count > size)
        return ERANGE;
    return count && destination && !source ? EINVAL : crt_move_bounded(destination, size, source, count);
}

/* ---- Narrow strings ---------------------------------------------------------------------------------------------- */

static int crt_fold_case(int c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

int ondk_strnicmp(PCSTR a, PCSTR b, size_t count)
{
    for (; count; a++, b++, count--) {
        int difference = crt_fold_case((UCHAR)*a) - crt_fold_case((UCHAR)*b);

        if (difference || !*a)
            return difference;
    }
    return 0;
}

int ondk_stricmp(PCSTR a, PCSTR b)
{
    return ondk_strnicmp(a, b, SIZE_MAX);
}

PSTR ondk_strlwr(PSTR s)
{
    for (PSTR at = s; *at; at++)
        *at = (CHAR)crt_fold_case((UCHAR)*at);
    return s;
}

PSTR ondk_strupr(PSTR s)
{
    for (PSTR at = s; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (CHAR)(*at - ('a' - 'A'));
    return s;
}

/* ---- Wide strings ------------------------------------------------------------------------------------------------ */

size_t ondk_wcsnlen(PCWSTR s, size_t max)
{
    return text_length(s, sizeof *s, max);
}

size_t ondk_wcslen(PCWSTR s)
{
    return ondk_wcsnlen(s, SIZE_MAX);
}

PWSTR ondk_wcscpy(PWSTR destination, PCWSTR source)
{
    memcpy(destination, source, (ondk_wcslen(source) + 1) * sizeof *source);
    return destination;
}

PWSTR ondk_wcsncpy(PWSTR destination, PCWSTR source, size_t count)
{
    size_t n = ondk_wcsnlen(source, count);

    memcpy(destination, source, n * sizeof *source);
    memset(destination + n, 0, (count - n) * sizeof *source);
    return destination;
}

PWSTR ondk_wcsncat(PWSTR destination, PCWSTR source, size_t count)
{
    size_t used = ondk_wcslen(destination), n = ondk_wcsnlen(source, count);

    memcpy(destination + used, source, n * sizeof *source);
    destination[used + n] = 0;
    return destination;
}

PWSTR ondk_wcscat(PWSTR destination, PCWSTR source)
{
    return ondk_wcsncat(destination, source, SIZE_MAX);
}

int ondk_wcsncmp(PCWSTR a, PCWSTR b, size_t count)
{
    for (; count; a++, b++, count--)
        if (*a != *b || !*a)
            return *a - *b;
    return 0;
}

int ondk_wcscmp(PCWSTR a, PCWSTR b)
{
    return ondk_wcsncmp(a, b, SIZE_MAX);
}

int ondk_wcsnicmp(PCWSTR a, PCWSTR b, size_t count)
{
    for (; count; a++, b++, count--)
        if (crt_fold_case(*a) != crt_fold_case(*b) || !*a)
            return crt_fold_case(*a) - crt_fold_case(*b);
    return 0;
}

int ondk_wcsicmp(PCWSTR a, PCWSTR b)
{
    return ondk_wcsnicmp(a, b, SIZE_MAX);
}

PWSTR ondk_wcschr(PCWSTR s, WCHAR c)
{
    while (*s != c && *s)
        s++;
    return *s == c ? (PWSTR)(uintptr_t)s : NULL;
}

PWSTR ondk_wcsrchr(PCWSTR s, WCHAR c)
{
    for (size_t n = ondk_wcslen(s) + 1; n-- > 0;)
        if (s[n] == c)
            return (PWSTR)(uintptr_t)(s + n);
    return NULL;
}

PWSTR ondk_wcsstr(PCWSTR s, PCWSTR part)
{
    size_t n = ondk_wcslen(part);

    for (;; s++) {
        if (!ondk_wcsncmp(s, part, n))
            return (PWSTR)(uintptr_t)s;
        if (!*s)
            return NULL;
    }
}

size_t ondk_wcsspn(PCWSTR s, PCWSTR set)
{
    size_t n = 0;

    while (s[n] && ondk_wcschr(set, s[n]))
        n++;
    return n;
}

size_t ondk_wcscspn(PCWSTR s, PCWSTR set)
{
    size_t n = 0;

    while (s[n] && !ondk_wcschr(set, s[n]))
        n++;
    return n;
}

PWSTR ondk_wcspbrk(PCWSTR s, PCWSTR set)
{
    s += ondk_wcscspn(s, set);
    return *s ? (PWSTR)(uintptr_t)s : NULL;
}

WCHAR ondk_towlower(WCHAR c)
{
    return (WCHAR)crt_fold_case(c);
}

WCHAR ondk_towupper(WCHAR c)
{
    return c >= 'a' && c <= 'z' ? (WCHAR)(c - ('a' - 'A')) : c;
}

PWSTR ondk_wcslwr(PWSTR s)
{
    for (PWSTR at = s; *at; at++)
        *at = ondk_towlower(*at);
    return s;
}

PWSTR ondk_wcsupr(PWSTR s)
{
    for (PWSTR at = s; *at; at++)
        *at = ondk_towupper(*at);
    return s;
}

/* ---- Strings with a size ----------------------------------------------------------------------------------------- */

static void crt_terminate(void *destination, size_t at, size_t unit)
{
    memset((char *)destination + at * unit, 0, unit);
}

/*
 * Copies a string and a terminator. Copies at most `count` units of `unit` bytes each. If the result does not fit into
 * `size` units, makes the destination an empty string and returns ERANGE. Exception: if `count` is _TRUNCATE, copies as
 * many units as fit and returns STRUNCATE. If `source` is NULL, makes the destination an empty string, returns EINVAL.
 */
static errno_t crt_copy_s(void *destination, size_t size, const void *source, size_t count, size_t unit)
{
    size_t length;
    bool whole;

    if (!destination || !size)
        return EINVAL;
    length = source ? text_length(source, unit, min(count, size)) : 0;
    whole = source && length < size;
    if (!whole && (!source || count != _TRUNCATE)) {
        crt_terminate(destination, 0, unit);
        return source ? ERANGE : EINVAL;
    }
    length = min(length, size - 1);
    memcpy(destination, source, length * unit);
    crt_terminate(destination, length, unit);
    return whole ? 0 : STRUNCATE;
}

static errno_t crt_append_s(void *destination, size_t size, const void *source, size_t unit)
{
    size_t used = destination ? text_length(destination, unit, size) : size;
    errno_t error = used < size ? crt_copy_s((char *)destination + used * unit, size - used, source, size - used, unit)
                                : EINVAL;

    if (error && destination && size)
        crt_terminate(destination, 0, unit);
    return error;
}

errno_t ondk_strncpy_s(PSTR destination, rsize_t size, PCSTR source, rsize_t count)
{
    return crt_copy_s(destination, size, source, count, sizeof *destination);
}

errno_t ondk_strcpy_s(PSTR destination, rsize_t size, PCSTR source)
{
    return crt_copy_s(destination, size, source, size, sizeof *destination);
}

errno_t ondk_strcat_s(PSTR destination, rsize_t size, PCSTR source)
{
    return crt_append_s(destination, size, source, sizeof *destination);
}

errno_t ondk_wcsncpy_s(PWSTR destination, rsize_t size, PCWSTR source, rsize_t count)
{
    return crt_copy_s(destination, size, source, count, sizeof *destination);
}

errno_t ondk_wcscpy_s(PWSTR destination, rsize_t size, PCWSTR source)
{
    return crt_copy_s(destination, size, source, size, sizeof *destination);
}

errno_t ondk_wcscat_s(PWSTR destination, rsize_t size, PCWSTR source)
{
    return crt_append_s(destination, size, source, sizeof *destination);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static int crt_digit_value(WCHAR c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ondk_towlower(c);
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 36;
}

static bool crt_is_hex_prefix(PCWSTR s)
{
    return s[0] == '0' && crt_fold_case(s[1]) == 'x' && crt_digit_value(s[2]) < 16;
}

struct number {
    uint64_t magnitude; /* at most the limit that crt_scan_number has received */
    bool negative, over;
    PCWSTR end;
};

/* Reads spaces, a sign, a prefix and digits. If there is no digit, or the base is invalid, sets `end` to s. */
static struct number crt_scan_number(PCWSTR s, int base, uint64_t limit)
{
    struct number n = { .end = s };
    PCWSTR at = s;

    if (base < 0 || base == 1 || base > 36)
        return n;
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    n.negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    if ((base == 0 || base == 16) && crt_is_hex_prefix(at)) {
        at += 2;
        base = 16;
    } else if (base == 0) {
        base = *at == '0' ? 8 : 10;
    }
    for (int digit; (digit = crt_digit_value(*at)) < base; n.end = ++at) {
        if (n.over || n.magnitude > (limit - (uint64_t)digit) / (uint64_t)base)
            n.over = true;
        else
            n.magnitude = n.magnitude * (uint64_t)base + (uint64_t)digit;
    }
    return n;
}

static uint64_t crt_unsigned_value(PCWSTR s, PWSTR *end, int base, uint64_t limit)
{
    struct number n = crt_scan_number(s, base, limit);

    if (end)
        *end = (PWSTR)(uintptr_t)n.end;
    if (n.over)
        return limit;
    return n.negative ? 0 - n.magnitude : n.magnitude;
}

static int64_t crt_signed_value(PCWSTR s, PWSTR *end, int base, int64_t max)
{
    struct number n = crt_scan_number(s, base, (uint64_t)max + 1);

    if (end)
        *end = (PWSTR)(uintptr_t)n.end;
    if (n.negative)
        return n.over || n.magnitude > (uint64_t)max ? -max - 1 : -(int64_t)n.magnitude;
    return n.over || n.magnitude > (uint64_t)max ? max : (int64_t)n.magnitude;
}

LONG ondk_wcstol(PCWSTR s, PWSTR *end, int base)
{
    return (LONG)crt_signed_value(s, end, base, INT32_MAX);
}

ULONG ondk_wcstoul(PCWSTR s, PWSTR *end, int base)
{
    return (ULONG)crt_unsigned_value(s, end, base, UINT32_MAX);
}

LONGLONG ondk_wcstoi64(PCWSTR s, PWSTR *end, int base)
{
    return crt_signed_value(s, end, base, INT64_MAX);
}

ULONGLONG ondk_wcstoui64(PCWSTR s, PWSTR *end, int base)
{
    return crt_unsigned_value(s, end, base, UINT64_MAX);
}
