/* SPDX-License-Identifier: MIT */
/* Strings, conversions, GUIDs, time, bitmaps, version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ntifs.h"
#include "ntverp.h"

#include "wdk/mm/pool.h"

static UNICODE_STRING wide(PCWSTR text)
{
    UNICODE_STRING s;

    RtlInitUnicodeString(&s, text);
    return s;
}

static ANSI_STRING narrow(PCSZ text)
{
    ANSI_STRING s;

    RtlInitAnsiString(&s, text);
    return s;
}

#define IS_WIDE(s, text)                                                                                               \
    (assert_int_equal((s).Length, sizeof(text) - sizeof(WCHAR)), assert_memory_equal((s).Buffer, text, (s).Length))

static void test_init(void **state)
{
    UNICODE_STRING s = wide(L"abc"), none = wide(NULL);
    WCHAR *long_text = malloc(40001 * sizeof(WCHAR));
    ANSI_STRING a = narrow("abc");

    (void)state;
    IS_WIDE(s, L"abc");
    assert_int_equal(s.MaximumLength, 8);
    assert_int_equal(none.Length + none.MaximumLength, 0);
    assert_null(none.Buffer);
    assert_int_equal(a.Length, 3);
    assert_int_equal(a.MaximumLength, 4);
    for (int i = 0; i < 40000; i++)
        long_text[i] = 'x';
    long_text[40000] = 0;
    assert_int_equal(RtlInitUnicodeStringEx(&s, long_text), STATUS_NAME_TOO_LONG);
    RtlInitUnicodeString(&s, long_text);
    assert_int_equal(s.Length, 65532);
    assert_int_equal(s.MaximumLength, 65534);
    free(long_text);
}

static void test_copy_append(void **state)
{
    WCHAR buffer[6];
    CHAR bytes[4];
    UNICODE_STRING s, other = wide(L"long text");
    ANSI_STRING a, b = narrow("xyz");

    (void)state;
    RtlInitEmptyUnicodeString(&s, buffer, sizeof buffer);
    assert_int_equal(RtlAppendUnicodeToString(&s, L"abc"), STATUS_SUCCESS);
    assert_int_equal(buffer[3], 0);
    assert_int_equal(RtlAppendUnicodeStringToString(&s, &other), STATUS_BUFFER_TOO_SMALL);
    IS_WIDE(s, L"abc");
    assert_int_equal(RtlAppendUnicodeToString(&s, L"def"), STATUS_SUCCESS);
    IS_WIDE(s, L"abcdef");
    assert_int_equal(RtlAppendUnicodeToString(&s, L"g"), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(RtlAppendUnicodeToString(&s, NULL), STATUS_SUCCESS);
    RtlCopyUnicodeString(&s, &other);
    IS_WIDE(s, L"long t");
    RtlCopyUnicodeString(&s, NULL);
    assert_int_equal(s.Length, 0);
    RtlInitEmptyAnsiString(&a, bytes, sizeof bytes);
    assert_int_equal(RtlAppendStringToString(&a, &b), STATUS_SUCCESS);
    assert_int_equal(RtlAppendAsciizToString(&a, "12"), STATUS_BUFFER_TOO_SMALL);
    assert_string_equal(bytes, "xyz");
    RtlUpperString(&a, &b);
    assert_memory_equal(bytes, "XYZ", 3);
}

static void test_compare(void **state)
{
    UNICODE_STRING abc = wide(L"abc"), up = wide(L"ABC"), abcd = wide(L"abcd"), cd = wide(L"CD"), e = wide(L"\xe9"),
                   E = wide(L"\xc9");
    ANSI_STRING n = narrow("abc"), m = narrow("ABD");
    ULONG h1, h2;

    (void)state;
    assert_true(RtlCompareUnicodeString(&abc, &up, FALSE) > 0);
    assert_int_equal(RtlCompareUnicodeString(&abc, &up, TRUE), 0);
    assert_true(RtlCompareUnicodeString(&abc, &abcd, FALSE) < 0);
    assert_true(RtlEqualUnicodeString(&e, &E, TRUE));
    assert_false(RtlEqualUnicodeString(&e, &E, FALSE));
    assert_true(RtlPrefixUnicodeString(&up, &abcd, TRUE));
    assert_false(RtlPrefixUnicodeString(&up, &abcd, FALSE));
    assert_false(RtlPrefixUnicodeString(&abcd, &abc, TRUE));
    assert_true(RtlSuffixUnicodeString(&cd, &abcd, TRUE));
    assert_false(RtlSuffixUnicodeString(&cd, &abcd, FALSE));
    assert_true(RtlCompareString(&n, &m, TRUE) < 0);
    assert_true(RtlCompareString(&n, &m, FALSE) > 0);
    assert_int_equal(RtlUpcaseUnicodeChar(0x3b1), 0x391);
    assert_int_equal(RtlDowncaseUnicodeChar('Q'), 'q');
    assert_int_equal(RtlHashUnicodeString(&abc, TRUE, HASH_STRING_ALGORITHM_DEFAULT, &h1), STATUS_SUCCESS);
    assert_int_equal(RtlHashUnicodeString(&up, FALSE, HASH_STRING_ALGORITHM_X65599, &h2), STATUS_SUCCESS);
    assert_int_equal(h1, h2);
    assert_int_equal(h1, (65u * 65599 + 66) * 65599 + 67);
    assert_int_equal(RtlHashUnicodeString(&up, FALSE, 7, &h2), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlValidateUnicodeString(0, &abc), STATUS_SUCCESS);
    assert_int_equal(RtlValidateUnicodeString(0, &(UNICODE_STRING){ 3, 4, abc.Buffer }), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlValidateUnicodeString(0, &(UNICODE_STRING){ 4, 2, abc.Buffer }), STATUS_INVALID_PARAMETER);
}

/* Converts UTF-8 of one to four bytes there and back, and frees the pool. */
static void test_convert(void **state)
{
    ANSI_STRING utf8 = narrow("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), back;
    UNICODE_STRING s, own;
    WCHAR buffer[3];
    uint64_t before = pool_block_count();

    (void)state;
    assert_int_equal(RtlAnsiStringToUnicodeString(&s, &utf8, TRUE), STATUS_SUCCESS);
    IS_WIDE(s, L"a\xe9\x20ac\xd83d\xde00");
    assert_int_equal(s.Buffer[5], 0);
    assert_int_equal(RtlAnsiStringToUnicodeSize(&utf8), 12);
    assert_int_equal(RtlUnicodeStringToAnsiSize(&s), 11);
    assert_int_equal(RtlUnicodeStringToAnsiString(&back, &s, TRUE), STATUS_SUCCESS);
    assert_string_equal(back.Buffer, utf8.Buffer);
    assert_int_equal(pool_block_count(), before + 2);
    RtlFreeAnsiString(&back);
    assert_null(back.Buffer);
    RtlInitEmptyUnicodeString(&own, buffer, sizeof buffer);
    assert_int_equal(RtlAnsiStringToUnicodeString(&own, &utf8, FALSE), STATUS_BUFFER_OVERFLOW);
    utf8 = narrow("xy");
    assert_int_equal(RtlUTF8StringToUnicodeString(&own, &utf8, FALSE), STATUS_SUCCESS);
    IS_WIDE(own, L"xy");
    assert_int_equal(RtlUpcaseUnicodeString(&own, &own, FALSE), STATUS_SUCCESS);
    IS_WIDE(own, L"XY");
    RtlFreeUnicodeString(&s);
    assert_int_equal(RtlDowncaseUnicodeString(&s, &own, TRUE), STATUS_SUCCESS);
    IS_WIDE(s, L"xy");
    RtlFreeUnicodeString(&s);
    assert_int_equal(RtlDuplicateUnicodeString(RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE, &own, &s), STATUS_SUCCESS);
    assert_int_equal(s.MaximumLength, 6);
    RtlFreeUnicodeString(&s);
    assert_int_equal(RtlDuplicateUnicodeString(0, NULL, &s), STATUS_SUCCESS);
    assert_null(s.Buffer);
    assert_int_equal(RtlDuplicateUnicodeString(2, &own, &s), STATUS_INVALID_PARAMETER);
    assert_int_equal(pool_block_count(), before);
}

static void test_utf8_n(void **state)
{
    WCHAR out[4];
    CHAR bytes[4];
    ULONG n;

    (void)state;
    assert_int_equal(RtlUTF8ToUnicodeN(NULL, 0, &n, "\xe2\x82\xac!", 4), STATUS_SUCCESS);
    assert_int_equal(n, 4);
    assert_int_equal(RtlUTF8ToUnicodeN(out, sizeof out, &n, "a\xff\xe2\x82z", 5), STATUS_SOME_NOT_MAPPED);
    assert_int_equal(n, 8);
    assert_memory_equal(out, L"a\xfffd\xfffdz", 8);
    assert_int_equal(RtlUTF8ToUnicodeN(out, 2, &n, "ab", 2), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(n, 2);
    assert_int_equal(RtlUTF8ToUnicodeN(out, sizeof out, &n, "\xed\xa0\x80", 3), STATUS_SOME_NOT_MAPPED);
    assert_int_equal(RtlUTF8ToUnicodeN(out, sizeof out, &n, "\xc0\x80", 2), STATUS_SOME_NOT_MAPPED);
    assert_int_equal(RtlUnicodeToUTF8N(bytes, sizeof bytes, &n, L"\xd83d\xde00", 4), STATUS_SUCCESS);
    assert_memory_equal(bytes, "\xf0\x9f\x98\x80", 4);
    assert_int_equal(RtlUnicodeToUTF8N(bytes, sizeof bytes, &n, L"\xd83d", 2), STATUS_SOME_NOT_MAPPED);
    assert_memory_equal(bytes, "\xef\xbf\xbd", 3);
}

/* The examples of the reference, and prefixes. */
static void test_numbers(void **state)
{
    static const struct {
        PCWSTR text;
        ULONG base, value;
    } cases[] = {
        { L"123", 10, 123 },
        { L"-345", 10, (ULONG)-345 },
        { L"xyz", 10, 0 },
        { L"+678abc", 10, 678 },
        { L"+678abc", 16, 6785724 },
        { L"007", 10, 7 },
        { L"789", 8, 7 },
        { L"FGH", 16, 15 },
        { L" ", 10, 0 },
        { L"  0x1F", 0, 31 },
        { L"0o17", 0, 15 },
        { L"-0b101", 0, (ULONG)-5 },
        { L"42", 0, 42 },
        { L"4294967295", 0, MAXULONG },
    };
    UNICODE_STRING s;
    WCHAR buffer[8];
    ULONG value;

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(cases); i++) {
        s = wide(cases[i].text);
        assert_int_equal(RtlUnicodeStringToInteger(&s, cases[i].base, &value), STATUS_SUCCESS);
        assert_int_equal(value, cases[i].value);
    }
    s = wide(L"");
    assert_int_equal(RtlUnicodeStringToInteger(&s, 10, &value), STATUS_INVALID_PARAMETER);
    s = wide(L"1");
    assert_int_equal(RtlUnicodeStringToInteger(&s, 7, &value), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlCharToInteger("0x10", 0, &value), STATUS_SUCCESS);
    assert_int_equal(value, 16);
    RtlInitEmptyUnicodeString(&s, buffer, sizeof buffer);
    assert_int_equal(RtlIntegerToUnicodeString(0xbeef, 16, &s), STATUS_SUCCESS);
    IS_WIDE(s, L"BEEF");
    assert_int_equal(RtlIntegerToUnicodeString(0, 0, &s), STATUS_SUCCESS);
    IS_WIDE(s, L"0");
    assert_int_equal(RtlIntegerToUnicodeString(12345678, 10, &s), STATUS_SUCCESS);
    assert_int_equal(RtlIntegerToUnicodeString(123456789, 10, &s), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(RtlIntegerToUnicodeString(1, 3, &s), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUlongByteSwap(0x01020304), 0x04030201);
    assert_int_equal(RtlUshortByteSwap(0x0102), 0x0201);
}

static void test_int64(void **state)
{
    static const struct {
        const WCHAR *text;
        ULONG base;
        NTSTATUS status;
        LONG64 number;
        int end;
    } cases[] = {
        { L"123", 10, STATUS_SUCCESS, 123, 3 },
        { L" -0x10 MiB", 0, STATUS_SUCCESS, -16, 6 },
        { L"017", 0, STATUS_SUCCESS, 15, 3 },
        { L"z", 36, STATUS_SUCCESS, 35, 1 },
        { L"none", 10, STATUS_SUCCESS, 0, 0 },
        { L"", 0, STATUS_SUCCESS, 0, 0 },
        { L"9223372036854775807", 10, STATUS_SUCCESS, INT64_MAX, 19 },
        { L"9223372036854775808", 10, STATUS_INTEGER_OVERFLOW, INT64_MAX, 19 },
        { L"-9223372036854775808", 10, STATUS_SUCCESS, INT64_MIN, 20 },
        { L"-9223372036854775809", 10, STATUS_INTEGER_OVERFLOW, INT64_MIN, 20 },
        { L"99999999999999999999999", 10, STATUS_INTEGER_OVERFLOW, INT64_MAX, 23 },
        { L"0xFFFFFFFFFFFFFFFF", 16, STATUS_INTEGER_OVERFLOW, INT64_MAX, 18 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        UNICODE_STRING s;
        LONG64 number = 77;
        PWSTR end = NULL;

        RtlInitUnicodeString(&s, cases[i].text);
        assert_int_equal(RtlUnicodeStringToInt64(&s, cases[i].base, &number, &end), cases[i].status);
        assert_int_equal(number, cases[i].number);
        assert_ptr_equal(end, s.Buffer + cases[i].end);
        s.Length = 2 * (s.Length > 2); /* the conversion ends with the string, not with the terminator */
        assert_int_equal(RtlUnicodeStringToInt64(&s, 10, &number, NULL), STATUS_SUCCESS);
        assert_in_range(number + 9, 0, 18);
    }
}

static void test_created_string(void **state)
{
    PVOID one[4], all[16];
    UNICODE_STRING s;
    ULONG hash = 0;
    USHORT n;

    (void)state;
    assert_true(RtlCreateUnicodeString(&s, L"text"));
    assert_int_equal(s.Length, 8);
    assert_memory_equal(s.Buffer, L"text", 10);
    RtlFreeUnicodeString(&s);
    n = RtlCaptureStackBackTrace(0, 16, all, &hash);
    assert_in_range(n, 2, 16);
    assert_int_equal(RtlCaptureStackBackTrace(1, 1, one, &hash), 1);
    assert_ptr_equal(one[0], all[1]);
    assert_int_equal(hash, (ULONG)(ULONG_PTR)all[1]);
    assert_int_equal(RtlCaptureStackBackTrace(100, 4, one, NULL), 0);
}

static void test_guid(void **state)
{
    static const GUID guid = { 0x01234567, 0x89ab, 0xcdef, { 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef } };
    UNICODE_STRING s;
    GUID other = { 0 };

    (void)state;
    assert_int_equal(RtlStringFromGUID(&guid, &s), STATUS_SUCCESS);
    IS_WIDE(s, L"{01234567-89AB-CDEF-0123-456789ABCDEF}");
    assert_int_equal(RtlGUIDFromString(&s, &other), STATUS_SUCCESS);
    assert_memory_equal(&other, &guid, sizeof guid);
    s.Buffer[37] = ')';
    assert_int_equal(RtlGUIDFromString(&s, &other), STATUS_INVALID_PARAMETER);
    s.Buffer[37] = '}';
    s.Buffer[36] = 'g';
    assert_int_equal(RtlGUIDFromString(&s, &other), STATUS_INVALID_PARAMETER);
    RtlFreeUnicodeString(&s);
    s = wide(L"{01234567}");
    assert_int_equal(RtlGUIDFromString(&s, &other), STATUS_INVALID_PARAMETER);
    assert_int_equal(ExUuidCreate(&other), STATUS_SUCCESS);
    assert_int_equal(other.Data3 >> 12, 4);
    assert_int_equal(other.Data4[0] >> 6, 2);
}

/* Compares each day from 1970 to 2400 with the host's calendar. */
static void test_time(void **state)
{
    LARGE_INTEGER t, back;
    TIME_FIELDS f;
    ULONG seconds;

    (void)state;
    for (int64_t day = 0; day < 430 * 366; day += 1) {
        time_t at = day * 86400 + 3723;
        struct tm tm;

        gmtime_r(&at, &tm);
        t.QuadPart = (at + 11644473600LL) * 10000000 + 450000;
        RtlTimeToTimeFields(&t, &f);
        if (f.Year != tm.tm_year + 1900 || f.Month != tm.tm_mon + 1 || f.Day != tm.tm_mday || f.Weekday != tm.tm_wday ||
            f.Hour != 1 || f.Minute != 2 || f.Second != 3 || f.Milliseconds != 45)
            fail_msg("day %d: %d-%d-%d", (int)day, f.Year, f.Month, f.Day);
        assert_true(RtlTimeFieldsToTime(&f, &back));
        assert_int_equal(back.QuadPart, t.QuadPart);
    }
    t.QuadPart = 0;
    RtlTimeToTimeFields(&t, &f);
    assert_int_equal(f.Year * 10000 + f.Month * 100 + f.Day, 16010101);
    assert_false(RtlTimeFieldsToTime(&(TIME_FIELDS){ 2023, 2, 29, 0, 0, 0, 0, 0 }, &t));
    assert_true(RtlTimeFieldsToTime(&(TIME_FIELDS){ 2024, 2, 29, 0, 0, 0, 0, 0 }, &t));
    assert_false(RtlTimeFieldsToTime(&(TIME_FIELDS){ 1600, 2, 2, 0, 0, 0, 0, 0 }, &t));
    RtlSecondsSince1970ToTime(1700000000, &t);
    assert_true(RtlTimeToSecondsSince1970(&t, &seconds));
    assert_int_equal(seconds, 1700000000);
    t.QuadPart = 5;
    assert_false(RtlTimeToSecondsSince1970(&t, &seconds));
}

static void test_bitmap(void **state)
{
    ULONG words[3] = { 0, 0, ~0u };
    RTL_BITMAP map;

    (void)state;
    RtlInitializeBitMap(&map, words, 70);
    RtlClearAllBits(&map);
    RtlSetBits(&map, 30, 5);
    assert_true(RtlAreBitsSet(&map, 30, 5));
    assert_false(RtlAreBitsSet(&map, 29, 2));
    assert_true(RtlAreBitsClear(&map, 35, 35));
    assert_false(RtlAreBitsClear(&map, 60, 20)); /* beyond the end */
    assert_int_equal(RtlNumberOfSetBits(&map), 5);
    assert_int_equal(RtlNumberOfClearBits(&map), 65);
    assert_int_equal(RtlFindSetBits(&map, 5, 0), 30);
    assert_int_equal(RtlFindSetBits(&map, 5, 40), 30); /* around the end */
    assert_int_equal(RtlFindSetBits(&map, 6, 0), 0xffffffff);
    assert_int_equal(RtlFindClearBitsAndSet(&map, 31, 0), 35);
    assert_int_equal(RtlFindClearBits(&map, 31, 0), 0xffffffff);
    assert_int_equal(RtlFindSetBitsAndClear(&map, 36, 0), 30);
    assert_int_equal(RtlNumberOfSetBits(&map), 0);
    RtlSetBit(&map, 69);
    assert_true(RtlTestBit(&map, 69));
    assert_true(RtlCheckBit(&map, 69));
    RtlClearBit(&map, 69);
    assert_false(RtlTestBit(&map, 69));
    assert_int_equal(RtlFindMostSignificantBit(0x8000000000000001), 63);
    assert_int_equal(RtlFindLeastSignificantBit(0x80), 7);
    assert_int_equal(RtlFindLeastSignificantBit(0), -1);
    assert_int_equal(RtlNumberOfSetBitsUlongPtr(0xff), 8);
}

static NTSTATUS verify(ULONG major, ULONG minor, ULONG build, ULONG mask, UCHAR condition)
{
    RTL_OSVERSIONINFOEXW v = {
        .dwOSVersionInfoSize = sizeof v, .dwMajorVersion = major, .dwMinorVersion = minor, .dwBuildNumber = build
    };

    return RtlVerifyVersionInfo(&v, mask, VerSetConditionMask(0, mask, condition));
}

static void test_version(void **state)
{
    RTL_OSVERSIONINFOW v = { .dwOSVersionInfoSize = sizeof v };
    ULONG seed = 1, again = 1;

    (void)state;
    assert_int_equal(RtlGetVersion(&v), STATUS_SUCCESS);
    assert_int_equal(v.dwMajorVersion, 10);
    assert_int_equal(v.dwBuildNumber, 19041);
    assert_int_equal(v.dwBuildNumber, VER_PRODUCTBUILD);
    assert_string_equal(VER_PRODUCTVERSION_STR, "10.0.19041.1");
    assert_int_equal(verify(6, 2, 0, VER_MAJORVERSION | VER_MINORVERSION, VER_GREATER_EQUAL), STATUS_SUCCESS);
    assert_int_equal(verify(10, 1, 0, VER_MAJORVERSION | VER_MINORVERSION, VER_GREATER_EQUAL),
                     STATUS_REVISION_MISMATCH);
    assert_int_equal(verify(10, 0, 0, VER_MAJORVERSION, VER_EQUAL), STATUS_SUCCESS);
    assert_int_equal(verify(0, 0, 99999, VER_BUILDNUMBER, VER_LESS), STATUS_SUCCESS);
    assert_int_equal(verify(10, 0, 0, 0, VER_EQUAL), STATUS_INVALID_PARAMETER);
    assert_true(RtlIsNtDdiVersionAvailable(0x06020000));
    assert_false(RtlIsNtDdiVersionAvailable(0x0B000000));
    assert_int_equal(RtlRandomEx(&seed), RtlRandomEx(&again));
    assert_int_equal(seed, again);
    assert_int_not_equal(RtlRandomEx(&seed), RtlRandomEx(&seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),    cmocka_unit_test(test_copy_append), cmocka_unit_test(test_compare),
        cmocka_unit_test(test_convert), cmocka_unit_test(test_utf8_n),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_int64),   cmocka_unit_test(test_guid),        cmocka_unit_test(test_time),
        cmocka_unit_test(test_bitmap),  cmocka_unit_test(test_version),     cmocka_unit_test(test_created_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
