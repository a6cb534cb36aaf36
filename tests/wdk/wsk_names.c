/* SPDX-License-Identifier: MIT */
/*
 * WskGetAddressInfo, WskFreeAddressInfo, WskGetNameInfo: with numbers and the hosts file, so that no network is used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

static NTSTATUS resolve(PCWSTR node, PCWSTR service, ADDRINFOEXW *hints, ADDRINFOEXW **result)
{
    UNICODE_STRING n, s;
    struct kit_call c;

    RtlInitUnicodeString(&n, node);
    RtlInitUnicodeString(&s, service);
    return kit_end(&c,
                   kit_npi.Dispatch->WskGetAddressInfo(kit_npi.Client, node ? &n : NULL, service ? &s : NULL, NS_ALL,
                                                       NULL, hints, result, NULL, NULL, kit_irp(&c)),
                   NULL);
}

static void test_numbers(void **state)
{
    ADDRINFOEXW hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *result = NULL;
    kit_address expected = kit_loopback(AF_INET6, RtlUshortByteSwap(4420));

    (void)state;
    kit_attach();
    assert_int_equal(resolve(u"::1", u"4420", &hints, &result), STATUS_SUCCESS);
    assert_int_equal(result->ai_family, AF_INET6);
    assert_int_equal(result->ai_socktype, SOCK_STREAM);
    assert_int_equal(result->ai_protocol, IPPROTO_TCP);
    assert_int_equal(result->ai_addrlen, sizeof(SOCKADDR_IN6));
    assert_memory_equal(result->ai_addr, &expected, sizeof(SOCKADDR_IN6));
    assert_null(result->ai_next);
    assert_int_equal(live_count(), 3);
    kit_npi.Dispatch->WskFreeAddressInfo(kit_npi.Client, result);
    hints.ai_family = AF_INET;
    assert_int_equal(resolve(u"::1", u"4420", &hints, &result), STATUS_NO_MATCH);
    assert_null(result);
    assert_int_equal(resolve(u"no number", u"4420", &hints, &result), STATUS_NO_MATCH);
    kit_detach();
}

/* An entry for every kind of socket; each entry can be used. */
static void test_a_name(void **state)
{
    ADDRINFOEXW hints = { .ai_flags = AI_CANONNAME, .ai_family = AF_INET }, *result = NULL;
    int streams = 0, datagrams = 0;

    (void)state;
    kit_attach();
    assert_int_equal(resolve(u"localhost", NULL, &hints, &result), STATUS_SUCCESS);
    assert_non_null(result->ai_canonname);
    assert_int_equal(result->ai_canonname[0], 'l');
    for (ADDRINFOEXW *a = result; a; a = a->ai_next) {
        assert_int_equal(((PSOCKADDR_IN)(void *)a->ai_addr)->sin_addr.S_un.S_un_b.s_b1, 127);
        streams += a->ai_socktype == SOCK_STREAM;
        datagrams += a->ai_socktype == SOCK_DGRAM;
    }
    assert_true(streams >= 1);
    assert_true(datagrams >= 1);
    kit_npi.Dispatch->WskFreeAddressInfo(kit_npi.Client, result);
    kit_detach();
}

static void test_bad_questions(void **state)
{
    ADDRINFOEXW hints = { .ai_family = AF_BTH }, *result = NULL;
    struct kit_call c;
    UNICODE_STRING n = RTL_CONSTANT_STRING(u"::1");
    struct report *r;

    (void)state;
    kit_attach();
    assert_int_equal(resolve(NULL, NULL, NULL, &result), STATUS_INVALID_PARAMETER);
    assert_int_equal(resolve(u"::1", NULL, &hints, &result), STATUS_INVALID_PARAMETER);
    assert_int_equal(resolve(u"::1", NULL, NULL, NULL), STATUS_INVALID_PARAMETER);
    hints.ai_family = AF_UNSPEC;
    hints.ai_flags = 0x40000000;
    assert_int_equal(resolve(u"::1", NULL, &hints, &result), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_end(&c,
                             kit_npi.Dispatch->WskGetAddressInfo(kit_npi.Client, &n, NULL, 4711, NULL, NULL, &result,
                                                                 NULL, NULL, kit_irp(&c)),
                             NULL),
                     STATUS_INVALID_PARAMETER);
    kit_npi.Dispatch->WskFreeAddressInfo(kit_npi.Client, NULL);
    r = report_start();
    kit_npi.Dispatch->WskFreeAddressInfo(kit_npi.Client, &hints);
    report_is(r, "handle-invalid in WskFreeAddressInfo");
    kit_detach();
}

/* The report of a list that is not freed has the stack of the caller, though a thread of the library makes the list. */
static void test_list_left(void **state)
{
    ADDRINFOEXW hints = { .ai_flags = AI_NUMERICHOST }, *result = NULL;
    char *text = NULL;
    const char *list;
    size_t length = 0;
    FILE *out;

    (void)state;
    kit_attach();
    assert_int_equal(resolve(u"::1", NULL, &hints, &result), STATUS_SUCCESS);
    out = open_memstream(&text, &length);
    live_report(out);
    fclose(out);
    list = strstr(text, "left: WSK address list");
    assert_non_null(list);
    assert_non_null(strstr(list, "test_list_left"));
    free(text);
    kit_npi.Dispatch->WskFreeAddressInfo(kit_npi.Client, result);
    kit_detach();
}

static NTSTATUS name_of(const kit_address *a, ULONG flags, UNICODE_STRING *node, UNICODE_STRING *service)
{
    struct kit_call c;

    return kit_end(&c,
                   kit_npi.Dispatch->WskGetNameInfo(kit_npi.Client, (PSOCKADDR)&a->any, sizeof *a, node, service, flags,
                                                    NULL, NULL, kit_irp(&c)),
                   NULL);
}

static void test_name_of_an_address(void **state)
{
    kit_address a = kit_loopback(AF_INET, RtlUshortByteSwap(4420)), bad = { .any = { AF_BTH, { 0 } } };
    WCHAR node[64], service[8];
    UNICODE_STRING n = { 0, sizeof node, node }, s = { 0, sizeof service, service },
                   tight = { 0, 9 * sizeof(WCHAR), node };
    UNICODE_STRING expected = RTL_CONSTANT_STRING(u"127.0.0.1"), port = RTL_CONSTANT_STRING(u"4420");

    (void)state;
    kit_attach();
    assert_int_equal(name_of(&a, NI_NUMERICHOST | NI_NUMERICSERV, &n, &s), STATUS_SUCCESS);
    assert_true(RtlEqualUnicodeString(&n, &expected, FALSE));
    assert_true(RtlEqualUnicodeString(&s, &port, FALSE));
    assert_int_equal(node[9], 0);
    assert_int_equal(name_of(&a, NI_NUMERICHOST, &tight, NULL), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(name_of(&a, 0, NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(name_of(&bad, 0, &n, NULL), STATUS_INVALID_PARAMETER);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_a_name),
        cmocka_unit_test(test_bad_questions),
        cmocka_unit_test(test_list_left),
        cmocka_unit_test(test_name_of_an_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
