/* SPDX-License-Identifier: MIT */
/* Memory and strings as a driver calls them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ntddk.h"

static void test_memory(void **state)
{
    UCHAR a[200], b[200];

    (void)state;
    RtlFillMemory(a, sizeof a, 7);
    RtlCopyMemory(b, a, sizeof a);
    assert_true(RtlEqualMemory(a, b, sizeof a));
    assert_int_equal(RtlCompareMemory(a, b, sizeof a), sizeof a);
    b[131] = 8;
    assert_int_equal(RtlCompareMemory(a, b, sizeof a), 131);
    assert_false(RtlEqualMemory(a, b, sizeof a));
    assert_int_equal(RtlCompareMemory(a, b, 131), 131);
    assert_int_equal(RtlCompareMemory(a, b, 0), 0);
    RtlZeroMemory(a, 12);
    assert_int_equal(RtlCompareMemoryUlong(a, 16, 0), 12);
    assert_ptr_equal(RtlSecureZeroMemory(b, sizeof b), b);
    assert_int_equal(b[131], 0);
    for (int i = 0; i < 8; i++)
        a[i] = (UCHAR)i;
    RtlMoveMemory(a + 1, a, 7);
    assert_true(a[1] == 0 && a[7] == 6);
    assert_int_equal(memcpy_s(b, 4, a, 4), 0);
    assert_int_not_equal(memcpy_s(b, 4, a, 5), 0);
    assert_true(b[0] == 0 && b[3] == 0);
}

static void test_bounded_strings(void **state)
{
    CHAR narrow[6];
    WCHAR wide[6];

    (void)state;
    assert_int_equal(strcpy_s(narrow, 6, "abc"), 0);
    assert_int_equal(strcat_s(narrow, 6, "de"), 0);
    assert_string_equal(narrow, "abcde");
    assert_int_not_equal(strcat_s(narrow, 6, "f"), 0);
    assert_string_equal(narrow, "");
    assert_int_equal(strncpy_s(narrow, 6, "abcdefgh", 5), 0);
    assert_string_equal(narrow, "abcde");
    assert_int_not_equal(strncpy_s(narrow, 6, "abcdefgh", 6), 0);
    assert_int_equal(strncpy_s(narrow, 6, "abcdefgh", _TRUNCATE), STRUNCATE);
    assert_string_equal(narrow, "abcde");
    assert_int_equal(wcscpy_s(wide, 6, L"abcde"), 0);
    assert_int_not_equal(wcscpy_s(wide, 6, L"abcdef"), 0);
    assert_int_equal(wide[0], 0);
    assert_int_equal(wcscat_s(wide, 6, L"xy"), 0);
    assert_int_equal(wcscmp(wide, L"xy"), 0);
}

static void test_wide_strings(void **state)
{
    WCHAR s[16] = { 0 };

    (void)state;
    assert_int_equal(wcslen(L"four"), 4);
    assert_int_equal(wcsnlen(L"four", 2), 2);
    assert_ptr_equal(wcscpy(s, L"\\Device"), s);
    wcscat(s, L"\\x");
    assert_int_equal(wcscmp(s, L"\\Device\\x"), 0);
    assert_true(wcscmp(L"a", L"b") < 0 && wcscmp(L"b", L"a") > 0);
    assert_int_equal(wcsncmp(s, L"\\Devil", 5), 0);
    assert_int_equal(_wcsicmp(s, L"\\dEVICE\\X"), 0);
    assert_true(_wcsnicmp(L"ab", L"AC", 2) < 0);
    assert_ptr_equal(wcschr(s, L'D'), s + 1);
    assert_ptr_equal(wcschr(s, 0), s + 9);
    assert_ptr_equal(wcsrchr(s, L'\\'), s + 7);
    assert_null(wcschr(s, L'?'));
    assert_ptr_equal(wcsstr(s, L"vice"), s + 3);
    assert_ptr_equal(wcsstr(s, L""), s);
    assert_null(wcsstr(s, L"vices"));
    wcsncpy(s, L"abc", 6);
    assert_true(s[2] == L'c' && s[3] == 0 && s[5] == 0 && s[6] != 0);
    assert_int_equal(wcscmp(_wcsupr(s), L"ABC"), 0);
    assert_int_equal(wcscspn(s, L"C?"), 2);
    assert_ptr_equal(wcspbrk(s, L"CB"), s + 1);
    assert_int_equal(_stricmp("HeLLo", "hEllO"), 0);
    assert_true(_stricmp("a", "B") < 0);
    assert_int_equal(_strnicmp("ABx", "aby", 2), 0);
}

static void test_numbers(void **state)
{
    WCHAR text[] = L" -0x1Fz";
    PWSTR end = NULL;

    (void)state;
    assert_int_equal(wcstol(text, &end, 0), -31);
    assert_ptr_equal(end, text + 6);
    assert_int_equal(wcstoul(L"4294967295", NULL, 10), MAXULONG);
    assert_int_equal(wcstoul(L"4294967296", NULL, 10), MAXULONG);
    assert_int_equal(wcstol(L"-2147483648", NULL, 10), MINLONG);
    assert_int_equal(wcstol(L"2147483648", NULL, 10), MAXLONG);
    assert_int_equal(wcstol(L"017", NULL, 0), 15);
    assert_int_equal(wcstol(L"zz", &end, 10), 0);
    assert_true(_wcstoui64(L"ffffffffffffffff", NULL, 16) == MAXULONGLONG);
    assert_true(_wcstoi64(L"-9223372036854775808", NULL, 10) == (LONGLONG)(1ULL << 63));
    assert_int_equal(_wtoi(L"42 "), 42);
    assert_int_equal(wcstoul(L"-1", NULL, 10), MAXULONG);
    assert_int_equal(wcstoul(L"zZ", NULL, 36), 35 * 36 + 35);
    assert_int_equal(wcstoul(L"0x", &end, 16), 0);
    assert_int_equal(end[0], L'x');
    for (int base = 37; base < 64; base++)
        assert_int_equal(wcstol(text, &end, base), 0);
    assert_ptr_equal(end, text);
    assert_int_equal(wcstol(text, &end, 1) + wcstol(text, &end, -10), 0);
}

static void test_narrow_formatting(void **state)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"name");
    CHAR s[16];

    (void)state;
    assert_int_equal(sprintf(s, "%wZ %d", &name, 42), 7);
    assert_string_equal(s, "name 42");
    assert_int_equal(_snprintf(s, 8, "%S %d", L"name", 42), 7);
    assert_string_equal(s, "name 42");
    memset(s, 'x', sizeof s);
    assert_int_equal(_snprintf(s, 7, "name 42"), 7);
    assert_memory_equal(s, "name 42x", 8);
    assert_int_equal(_snprintf(s, 6, "name 42"), -1);
    assert_memory_equal(s, "name 42x", 8);
    assert_int_equal(snprintf(s, 5, "%s", "name 42"), 7);
    assert_string_equal(s, "name");
    assert_int_equal(snprintf(NULL, 0, "%I64d", 1LL << 40), 13);
    assert_int_equal(sprintf_s(s, 8, "%s", "name 42"), 7);
    assert_int_equal(sprintf_s(s, 7, "%s", "name 42"), -1);
    assert_string_equal(s, "");
    assert_int_equal(_snprintf_s(s, 7, _TRUNCATE, "%s", "name 42"), -1);
    assert_string_equal(s, "name 4");
    assert_int_equal(_snprintf_s(s, 16, 3, "%s", "name 42"), -1);
    assert_string_equal(s, "nam");
    assert_int_equal(_snprintf_s(s, 16, 7, "%s", "name 42"), 7);
    assert_int_equal(_scprintf("%s%c", "abc", 'd'), 4);
}

static void test_wide_formatting(void **state)
{
    WCHAR s[16];

    (void)state;
    assert_int_equal(swprintf(s, L"%s %d", L"name", 42), 7);
    assert_int_equal(wcscmp(s, L"name 42"), 0);
    assert_int_equal(swprintf(s, RTL_NUMBER_OF(s), L"%ws %d", L"abc", 1), 5);
    assert_int_equal(wcscmp(s, L"abc 1"), 0);
    assert_int_equal(swprintf(s, L"plain"), 5);
    assert_int_equal(swprintf(s, 4, L"%s", L"name"), -1);
    assert_int_equal(wcscmp(s, L"nam"), 0);
    assert_int_equal(_snwprintf(s, 4, L"%hs", "name"), 4);
    assert_int_equal(_snwprintf(s, 3, L"name"), -1);
    assert_int_equal(swprintf_s(s, 5, L"name"), 4);
    assert_int_equal(swprintf_s(s, 4, L"name"), -1);
    assert_int_equal(s[0], 0);
    assert_int_equal(_snwprintf_s(s, 4, _TRUNCATE, L"name"), -1);
    assert_int_equal(wcscmp(s, L"nam"), 0);
    assert_int_equal(_scwprintf(L"%d", -17), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_bounded_strings),
        cmocka_unit_test(test_wide_strings),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_narrow_formatting),
        cmocka_unit_test(test_wide_formatting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
