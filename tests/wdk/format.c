/* SPDX-License-Identifier: MIT */
/* The kernel's printf, compared with the host's where Windows and C agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "wdk/common/format.h"

static char got[512];
static WCHAR got_wide[512];

static size_t narrow(size_t cap, const char *format, ...)
{
    va_list args;
    size_t n, written;

    memset(got, '#', sizeof got);
    va_start(args, format);
    n = format_narrow(got, cap, &written, format, args);
    va_end(args);
    assert_int_equal(got[cap], '#');
    got[written] = 0;
    return n;
}

static size_t wide(size_t cap, const WCHAR *format, ...)
{
    va_list args;
    size_t n, written;

    memset(got_wide, 1, sizeof got_wide);
    va_start(args, format);
    n = format_wide(got_wide, cap, &written, format, args);
    va_end(args);
    assert_int_equal(got_wide[cap], 0x0101);
    got_wide[written] = 0;
    return n;
}

#define IS(expected, ...) (narrow(500, __VA_ARGS__), assert_string_equal(got, expected))
#define IS_WIDE(expected, ...) (wide(500, __VA_ARGS__), assert_memory_equal(got_wide, expected, sizeof(expected)))
#define AS_HOST(...)                                                                                                   \
    do {                                                                                                               \
        char host[500];                                                                                                \
        snprintf(host, sizeof host, __VA_ARGS__);                                                                      \
        IS(host, __VA_ARGS__);                                                                                         \
    } while (0)

static void test_like_c(void **state)
{
    static const char *flags[] = { "", "-", "+", " ", "#", "0", "-#", "+0", "0#", " 0", "+-" };
    static const char *sizes[] = { "", "1", "7", "12" }, *precisions[] = { "", ".0", ".1", ".5", ".9" };
    static const int values[] = { 0, 1, -1, 42, -9999, 123456, INT32_MAX, INT32_MIN };
    char format[32], expected[100];

    (void)state;
    for (size_t f = 0; f < RTL_NUMBER_OF(flags); f++)
        for (size_t w = 0; w < RTL_NUMBER_OF(sizes); w++)
            for (size_t p = 0; p < RTL_NUMBER_OF(precisions); p++)
                for (const char *c = "diuxXo"; *c; c++)
                    for (size_t v = 0; v < RTL_NUMBER_OF(values); v++) {
                        snprintf(format, sizeof format, "<%%%s%s%s%c>", flags[f], sizes[w], precisions[p], *c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                        snprintf(expected, sizeof expected, format, values[v]);
#pragma GCC diagnostic pop
                        narrow(500, format, values[v]);
                        if (strcmp(got, expected))
                            fail_msg("%s of %d: \"%s\", not \"%s\"", format, values[v], got, expected);
                    }
    AS_HOST("%hd %hhu %lld %llx %zu", (short)-3, (unsigned char)200, -5000000000LL, 0xfedcba9876543210ULL, (size_t)9);
    AS_HOST("%5.2f|%-9.3e|%+G|%09.1f", 3.14159, 31415.9, 0.5, -2.25);
    AS_HOST("%*d|%-*d|%.*d|%.*s", 6, 42, 6, 42, 4, 7, 2, "abcdef");
    AS_HOST("%c%c %s %10s %-10s| %.2s %%", 'a', 'b', "text", "right", "left", "cut");
}

static void test_windows(void **state)
{
    UNICODE_STRING u = { 6, 8, (PWSTR)(uintptr_t)L"wide!" };
    ANSI_STRING a = { 4, 8, (PCHAR)(uintptr_t) "narrow" };

    (void)state;
    /* long has 32 bits: the following argument is correct */
    IS("-1 4294967295 ffffffff 7", "%ld %lu %lx %d", (LONG)-1, (ULONG)-1, (ULONG)-1, 7);
    IS("-2 18446744073709551614 fffffffffffffffe 8", "%I64d %I64u %I64x %d", (LONGLONG)-2, (ULONGLONG)-2, (ULONGLONG)-2,
       8);
    IS("12 0xc 5", "%Iu %#Ix %I32d", (SIZE_T)12, (SIZE_T)12, 5);
    IS("wid|narr|(null)|  wid", "%wZ|%Z|%wZ|%5wZ", &u, &a, NULL, &u);
    IS("w\xc3\xa9 w\xc3\xa9 n x\xe2\x82\xac", "%ws %S %hs x%lc", L"w\xe9", L"w\xe9", "n", 0x20ac);
    IS("abc a  w\xc3\xa9|", "%ls %.1ws %4ws|", L"abc", L"abc", L"w\xe9");
    IS("(null) (null) (nu", "%s %S %.3s", NULL, NULL, NULL);
    IS("00007FFF00001234 0000000000000000", "%p %p", (void *)0x7fff00001234, NULL);
    IS("a%b!S!", "a%%b%!S!");
    IS("[]", "[%n]", NULL);
    IS_WIDE(L"w n w n Z", L"%s %S %ls %hs %Z", L"w", "n", L"w", "n", &(ANSI_STRING){ 1, 1, (PCHAR)(uintptr_t) "Z" });
    IS_WIDE(L"\xe9\xd83d\xde00 -5 00000000000000AB", L"%S %d %p", "\xc3\xa9\xf0\x9f\x98\x80", -5, (void *)0xab);
    IS_WIDE(L"A B    C", L"%c %C %4c", L'A', 'B', L'C');
}

/* Returns the whole length; writes whole characters only, and nothing after an omitted one. */
static void test_cut(void **state)
{
    (void)state;
    assert_int_equal(narrow(5, "%s-%d", "abcdef", 12), 9);
    assert_string_equal(got, "abcde");
    assert_int_equal(narrow(4, "abc%wsd", L"\xe9"), 6);
    assert_string_equal(got, "abc");
    assert_int_equal(narrow(0, "%8d", 1), 8);
    assert_int_equal(wide(3, L"ab%Sc", "\xf0\x9f\x98\x80"), 5);
    assert_memory_equal(got_wide, L"ab", 6);
    assert_int_equal(wide(2, L"%05d", 7), 5);
    assert_memory_equal(got_wide, L"00", 6);
}

/* Widths and precisions that exceed any buffer. */
static void test_huge(void **state)
{
    (void)state;
    assert_true(narrow(4, "%*d", INT32_MIN, 5) == INT32_MAX);
    assert_string_equal(got, "5   ");
    assert_true(narrow(4, "%*d", INT32_MAX, 5) == INT32_MAX);
    assert_string_equal(got, "    ");
    assert_true(narrow(4, "%.*d|", INT32_MAX, 5) == INT32_MAX + 1UL);
    assert_string_equal(got, "0000");
    assert_true(wide(2, L"%-*s|", INT32_MAX, L"x") == INT32_MAX + 1UL);
    assert_memory_equal(got_wide, L"x ", 6);
    IS("abc", "%.*s", INT32_MIN, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_like_c), cmocka_unit_test(test_windows),
                                        cmocka_unit_test(test_cut), cmocka_unit_test(test_huge) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
