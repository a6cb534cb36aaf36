/* SPDX-License-Identifier: MIT */
/*
 * The C of Windows sources, with the headers and flags of drivers: the extensions of Microsoft's compiler, its layouts,
 * and definitions that occur in several files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define INITGUID
#include "wdm.h"
#include "ws2ipdef.h"

#include "language.h"

#ifdef WINAPI
#error "headers that drivers share with programs declare what only programs have if WINAPI is defined"
#endif

typedef enum _LANGUAGE_STATE { LanguageIdle, LanguageBusy } LANGUAGE_STATE;

/* Names of the host's library that a driver may define. */
static ULONG index, called;
typedef struct _ulong {
    ULONG value;
} ulong, uint;

static VOID wait(ULONG seconds)
{
    index = seconds;
}

_Use_decl_annotations_ VOID LanguageCallback(PVOID Context, CONST VOID *Data, ULONG Length)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Data);
    called += Length;
}

__declspec(noinline) VOID static called_late(LANGUAGE_CALLBACK callback)
{
    callback(NULL, NULL, 5);
}

static void test_layouts(void **state)
{
    LANGUAGE_RECORD record = { 0 };

    (void)state;
    record.Whole = 0x12345678;
    assert_int_equal(record.High, 0x1234);
    assert_int_equal(FIELD_OFFSET(LANGUAGE_RECORD, Aligned), 16);
    assert_int_equal(sizeof(LANGUAGE_RECORD), 64);
    record.Narrow = 7;
    record.Wide = 5;
    assert_int_equal(((UCHAR *)&record)[4], 7);
    assert_int_equal(((UCHAR *)&record)[8], 5);
    assert_int_equal(sizeof(LONG), 4);
    assert_int_equal(sizeof(unsigned __int64), 8);
    assert_int_equal(sizeof(L"two"), 8);
    assert_int_equal(LANGUAGE_TAG, 0x676e614c);
    assert_ptr_equal(CONTAINING_RECORD(&record.High, LANGUAGE_RECORD, High), &record);
}

static void test_several_files(void **state)
{
    LANGUAGE_STATE idle = LanguageIdle;

    (void)state;
    LanguageCommon = 1;
    LANGUAGE_BEGIN
    assert_int_equal(LanguageOther(), STATUS_SUCCESS);
    LANGUAGE_END;
    assert_int_equal(LanguageCommon, 81);
    assert_int_equal(LanguageForced(1) + LanguageStaticForced(1) + LanguageInline(1), 9);
    assert_int_equal(GUID_LANGUAGE.Data1, 0x9f6f0797);
    assert_int_equal(GUID_LANGUAGE.Data4[7], 0xed);
    wait(3);
    assert_int_equal(((ulong){ index }).value, 3);
    called_late(LanguageCallback);
    assert_int_equal(called, 5);
    assert_int_equal(idle, 0);
}

static void test_addresses(void **state)
{
    SOCKADDR_INET address = { 0 }, *found = NULL;

    (void)state;
    address.Ipv4.sin_addr.S_un.S_un_b.s_b1 = 10;
    address.Ipv4.sin_addr.S_un.S_un_b.s_b4 = 1;
    assert_int_equal(address.Ipv4.sin_addr.S_un.S_addr, 0x0100000a);
    assert_int_equal(address.Ipv4.sin_addr.s_addr, 0x0100000a);
    address.si_family = AF_INET6;
    assert_null(InterlockedCompareExchangePointer(&found, &address, NULL));
    assert_ptr_equal(InterlockedExchangePointer(&found, NULL), &address);
    assert_int_equal(address.Ipv6.sin6_family, 23);
    assert_true(IN6_IS_ADDR_LOOPBACK(&(IN6_ADDR)IN6ADDR_LOOPBACK_INIT));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layouts), cmocka_unit_test(test_several_files),
                                        cmocka_unit_test(test_addresses) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
