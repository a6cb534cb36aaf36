/* SPDX-License-Identifier: MIT */
/* ntstrsafe.h, ntintsafe.h and wdmsec.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ntstrsafe.h"

#include "ntintsafe.h"
#include "wdmsec.h"

static void test_copy(void **state)
{
    CHAR a[6] = "#####";
    WCHAR w[6];

    (void)state;
    assert_int_equal(RtlStringCbCopyA(a, 6, "abcde"), STATUS_SUCCESS);
    assert_string_equal(a, "abcde");
    assert_int_equal(RtlStringCchCopyA(a, 4, "xyz!"), STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(a, "xyz\0e", 6);
    assert_int_equal(RtlStringCchCopyA(a, 0, "x"), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlStringCchCopyA(NULL, 4, "x"), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlStringCchCopyA(a, (SIZE_T)NTSTRSAFE_MAX_CCH + 1, "x"), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlStringCchCopyA(a, 6, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlStringCbCopyW(w, sizeof w, L"abcdef"), STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(w, L"abcde", sizeof w);
    assert_int_equal(RtlStringCchCopyW(w, 6, L"ab"), STATUS_SUCCESS);
    assert_memory_equal(w, L"ab", 6);
    assert_int_equal(RtlStringCbCopyNW(w, sizeof w, L"wxyz", 3 * sizeof(WCHAR)), STATUS_SUCCESS);
    assert_memory_equal(w, L"wxy", 8);
    assert_int_equal(RtlStringCchCopyNA(a, 6, "unterminated", 2), STATUS_SUCCESS);
    assert_string_equal(a, "un");
    assert_int_equal(RtlStringCbCopyUnicodeString(w, sizeof w, &(UNICODE_STRING)RTL_CONSTANT_STRING(L"long text")),
                     STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(w, L"long ", sizeof w);
}

static void test_cat_length(void **state)
{
    CHAR a[6] = "ab";
    WCHAR w[4] = L"a";
    SIZE_T n = 9;

    (void)state;
    assert_int_equal(RtlStringCbCatA(a, 6, "cd"), STATUS_SUCCESS);
    assert_int_equal(RtlStringCchCatA(a, 6, "efg"), STATUS_BUFFER_OVERFLOW);
    assert_string_equal(a, "abcde");
    assert_int_equal(RtlStringCchCatA(a, 5, "x"), STATUS_INVALID_PARAMETER); /* no terminator in five */
    assert_int_equal(RtlStringCchCatNW(w, 4, L"bcd", 1), STATUS_SUCCESS);
    assert_memory_equal(w, L"ab", 6);
    assert_int_equal(RtlStringCbLengthA("abc", 4, &n), STATUS_SUCCESS);
    assert_int_equal(n, 3);
    assert_int_equal(RtlStringCbLengthA("abc", 3, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(n, 0);
    assert_int_equal(RtlStringCbLengthW(L"abc", 8, &n), STATUS_SUCCESS);
    assert_int_equal(n, 6);
    assert_int_equal(RtlStringCchLengthW(NULL, 8, &n), STATUS_INVALID_PARAMETER);
}

static void test_print(void **state)
{
    UNICODE_STRING u = RTL_CONSTANT_STRING(L"dev");
    CHAR a[16];
    WCHAR w[8];

    (void)state;
    assert_int_equal(RtlStringCbPrintfA(a, sizeof a, "%wZ-%ld/%lu", &u, (LONG)-1, (ULONG)7), STATUS_SUCCESS);
    assert_string_equal(a, "dev--1/7");
    assert_int_equal(RtlStringCchPrintfA(a, 5, "%s", "abcdef"), STATUS_BUFFER_OVERFLOW);
    assert_string_equal(a, "abcd");
    assert_int_equal(RtlStringCbPrintfW(w, sizeof w, L"%s %d", L"n", 42), STATUS_SUCCESS);
    assert_memory_equal(w, L"n 42", 10);
    assert_int_equal(RtlStringCchPrintfW(w, 8, L"%S-long", "narrow"), STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(w, L"narrow-", sizeof w);
    assert_int_equal(RtlStringCchPrintfA(a, 5, NULL), STATUS_INVALID_PARAMETER);
}

static void test_ex(void **state)
{
    CHAR a[8], *end = NULL;
    WCHAR w[8], *wide_end = NULL;
    SIZE_T left = 99;

    (void)state;
    memset(a, '#', sizeof a);
    assert_int_equal(RtlStringCchCopyExA(a, 8, "abc", &end, &left, STRSAFE_FILL_BYTE('z')), STATUS_SUCCESS);
    assert_memory_equal(a, "abc\0zzzz", 8);
    assert_ptr_equal(end, a + 3);
    assert_int_equal(left, 5);
    assert_int_equal(RtlStringCbCatExW((w[0] = 'q', w[1] = 0, w), sizeof w, L"rs", &wide_end, &left, 0),
                     STATUS_SUCCESS);
    assert_ptr_equal(wide_end, w + 3);
    assert_int_equal(left, 10);
    assert_int_equal(RtlStringCchCopyExA(a, 4, "abcdef", NULL, NULL, STRSAFE_NO_TRUNCATION), STATUS_BUFFER_OVERFLOW);
    assert_string_equal(a, "");
    assert_int_equal(RtlStringCchCopyExA(a, 4, "abcdef", NULL, NULL, STRSAFE_NULL_ON_FAILURE), STATUS_BUFFER_OVERFLOW);
    assert_string_equal(a, "");
    assert_int_equal(RtlStringCchCopyExA(a, 4, "abcdef", &end, &left, STRSAFE_FAILURE_BYTE('f')),
                     STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(a, "fff\0", 4);
    assert_int_equal(left, 1);
    assert_int_equal(RtlStringCchCopyExA(a, 4, NULL, NULL, NULL, STRSAFE_IGNORE_NULLS), STATUS_SUCCESS);
    assert_string_equal(a, "");
    assert_int_equal(RtlStringCchCopyExA(NULL, 0, NULL, NULL, NULL, STRSAFE_IGNORE_NULLS), STATUS_SUCCESS);
    assert_int_equal(RtlStringCchCopyExA(a, 0, "x", NULL, NULL, 0), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(RtlStringCchCopyExA(a, 4, "x", NULL, NULL, 0x2000), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlStringCchPrintfExA(a, 8, &end, &left, 0, "%d", 12345), STATUS_SUCCESS);
    assert_ptr_equal(end, a + 5);
    assert_int_equal(left, 3);
    assert_int_equal(RtlStringCchPrintfExA(a, 4, &end, &left, STRSAFE_NO_TRUNCATION, "%d", 12345),
                     STATUS_BUFFER_OVERFLOW);
    assert_string_equal(a, "");
}

static void test_unicode_string(void **state)
{
    WCHAR buffer[4];
    UNICODE_STRING s = { 0, sizeof buffer, buffer }, other = RTL_CONSTANT_STRING(L"xyz");

    (void)state;
    assert_int_equal(RtlUnicodeStringCopyString(&s, L"ab"), STATUS_SUCCESS);
    assert_int_equal(RtlUnicodeStringCat(&s, &other), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(s.Length, 8);
    assert_memory_equal(buffer, L"abxy", 8);
    assert_int_equal(RtlUnicodeStringCopy(&s, &other), STATUS_SUCCESS);
    assert_int_equal(s.Length, 6);
    assert_int_equal(RtlUnicodeStringCatString(&s, L"!"), STATUS_SUCCESS);
    assert_memory_equal(buffer, L"xyz!", 8);
    assert_int_equal(RtlUnicodeStringPrintf(&s, L"%u", 65535), STATUS_BUFFER_OVERFLOW);
    assert_memory_equal(buffer, L"6553", 8);
    assert_int_equal(RtlUnicodeStringPrintf(&s, L"%u", 7), STATUS_SUCCESS);
    assert_int_equal(s.Length, 2);
    s.Length = 3;
    assert_int_equal(RtlUnicodeStringCatString(&s, L"!"), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlUnicodeStringInit(&s, L"abc"), STATUS_SUCCESS);
    assert_int_equal(s.MaximumLength, 8);
}

static void test_integers(void **state)
{
    ULONG ul;
    LONG l;
    USHORT us;
    SIZE_T sz;
    ULONGLONG ull;
    UINT8 u8;

    (void)state;
    assert_int_equal(RtlULongAdd(0xfffffffe, 1, &ul), STATUS_SUCCESS);
    assert_int_equal(ul, 0xffffffff);
    ul = 0;
    assert_int_equal(RtlULongAdd(0xffffffff, 1, &ul), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(ul, 0xffffffff);
    assert_int_equal(RtlULongSub(1, 2, &ul), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlLongMult(0x10000, 0x8000, &l), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlLongMult(-0x10000, 0x8000, &l), STATUS_SUCCESS);
    assert_int_equal(l, INT32_MIN);
    assert_int_equal(RtlSIZETMult(SIZE_MAX / 2, 3, &sz), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlULongLongMult(1ULL << 32, 1ULL << 31, &ull), STATUS_SUCCESS);
    assert_int_equal(RtlULongToUShort(65535, &us), STATUS_SUCCESS);
    assert_int_equal(RtlULongToUShort(65536, &us), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(us, 0xffff);
    assert_int_equal(RtlLongToULong(-1, &ul), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlULongLongToULong(1ULL << 32, &ul), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlSizeTToULong(77, &ul), STATUS_SUCCESS);
    assert_int_equal(ul, 77);
    assert_int_equal(RtlULongToLong(0x80000000, &l), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(l, -1);
    assert_int_equal(RtlIntToUInt8(256, &u8), STATUS_INTEGER_OVERFLOW);
    assert_int_equal(RtlIntToUInt8(255, &u8), STATUS_SUCCESS);
}

static NTSTATUS secure(PCWSTR sddl)
{
    UNICODE_STRING text, name = RTL_CONSTANT_STRING(L"\\Device\\Secure");
    DRIVER_OBJECT *driver = NULL;
    PDEVICE_OBJECT device;

    RtlInitUnicodeString(&text, sddl);
    return IoCreateDeviceSecure(driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &text, NULL, &device);
}

/* Calls that fail before a device is created; drivers/controls.c creates one. */
static void test_security(void **state)
{
    PDEVICE_OBJECT device;

    (void)state;
    assert_int_equal(secure(L""), STATUS_INVALID_PARAMETER);
    assert_int_equal(secure(L"X:P"), STATUS_INVALID_PARAMETER);
    assert_int_equal(secure(L"D:P(A;;GA;;;SY"), STATUS_INVALID_PARAMETER);
    assert_int_equal(secure(L"D:P(A;;GA;;SY)"), STATUS_INVALID_PARAMETER);
    assert_int_equal(secure(L"D:P(A;;GA;;;)"), STATUS_INVALID_PARAMETER);
    assert_int_equal(secure(L"D:P(A;;GA;;;SY)x y"), STATUS_INVALID_PARAMETER);
    assert_int_equal(
        IoCreateDeviceSecure(NULL, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &SDDL_DEVOBJ_SYS_ALL, NULL, &device),
        STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),     cmocka_unit_test(test_cat_length),     cmocka_unit_test(test_print),
        cmocka_unit_test(test_ex),       cmocka_unit_test(test_unicode_string), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_security),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
