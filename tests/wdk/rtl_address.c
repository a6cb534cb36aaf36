/* SPDX-License-Identifier: MIT */
/* Internet addresses as text, compared with the host's inet_pton and inet_ntop where Windows and POSIX agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

#include "in6addr.h"
#include "inaddr.h"

/* Not the host's header, which declares another sockaddr. */
int inet_pton(int family, const char *text, void *out);
const char *inet_ntop(int family, const void *address, char *out, uint32_t size);
enum { HOST_AF_INET = 2, HOST_AF_INET6 = 10 };

static void widen(WCHAR *out, const char *s)
{
    do
        *out++ = (WCHAR)(unsigned char)*s;
    while (*s++);
}

/*
 * A strict and complete address equals inet_pton's result. Wide and narrow forms agree, also in the end of the parsed
 * text.
 */
static void like_host4(const char *s)
{
    struct in_addr a = { 0 }, b = { 0 };
    WCHAR wide[128];
    uint8_t host[4];
    bool good = inet_pton(HOST_AF_INET, s, host) == 1;
    PCSTR end = NULL;
    PCWSTR wide_end = NULL;
    NTSTATUS status = RtlIpv4StringToAddressA(s, TRUE, &end, &a);
    USHORT port = 9;

    widen(wide, s);
    if ((status == STATUS_SUCCESS && !*end) != good)
        fail_msg("%s: 0x%08X, and inet_pton says %d", s, (unsigned)status, good);
    if (good)
        assert_memory_equal(&a, host, 4);
    assert_int_equal(RtlIpv4StringToAddressW(wide, TRUE, &wide_end, &b), status);
    assert_int_equal(wide_end - wide, end - s);
    assert_memory_equal(&a, &b, 4);
    assert_int_equal(RtlIpv4StringToAddressExW(wide, TRUE, &b, &port) == STATUS_SUCCESS,
                     good || strchr(s, ':') != NULL);
}

static void test_ipv4_strict(void **state)
{
    static const char *texts[] = { "10.0.0.1", "0.0.0.0",          "255.255.255.255", "256.1.1.1",
                                   "1.2.3",    "1.2.3.4.5",        "1.2.3.4 ",        "",
                                   ".",        "1..2.3",           "1.2.3.",          "a.b.c.d",
                                   "01.2.3.4", "0x1.2.3.4",        "1.2.3.0x4",       "-1.2.3.4",
                                   "1.2.3.4a", "4294967296.1.1.1", "1,2,3,4" };

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(texts); i++)
        like_host4(texts[i]);
}

static void loose(const char *s, int used, uint32_t expected)
{
    struct in_addr a = { 0 };
    PCSTR end;

    if (RtlIpv4StringToAddressA(s, FALSE, &end, &a) != STATUS_SUCCESS || end - s != used ||
        __builtin_bswap32(a.s_addr) != expected)
        fail_msg("%s: 0x%08x, %d used", s, __builtin_bswap32(a.s_addr), (int)(end - s));
}

static void test_ipv4_loose(void **state)
{
    struct in_addr a;
    PCSTR end;

    (void)state;
    loose("1.2.3.4", 7, 0x01020304);
    loose("0x10.010.9.1/8", 12, 0x10080901);
    loose("1.2.0x304", 9, 0x01020304);
    loose("1.131844", 8, 0x01020304);
    loose("16909060", 8, 0x01020304);
    loose("0", 1, 0);
    loose("4294967295", 10, 0xffffffff);
    assert_int_equal(RtlIpv4StringToAddressA("1.2.65536", FALSE, &end, &a), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressA("1.16777216", FALSE, &end, &a), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressA("256.1", FALSE, &end, &a), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressA("4294967296", FALSE, &end, &a), STATUS_INVALID_PARAMETER);
}

static void test_ipv4_port(void **state)
{
    struct in_addr a;
    USHORT port = 7;

    (void)state;
    assert_int_equal(RtlIpv4StringToAddressExW(L"10.0.0.1", TRUE, &a, &port), STATUS_SUCCESS);
    assert_int_equal(port, 0);
    assert_int_equal(RtlIpv4StringToAddressExW(L"10.0.0.2:54321", TRUE, &a, &port), STATUS_SUCCESS);
    assert_int_equal(port, __builtin_bswap16(54321));
    assert_int_equal(a.s_addr, __builtin_bswap32(0x0a000002));
    assert_int_equal(RtlIpv4StringToAddressExA("10.0.0.2:0x1F", TRUE, &a, &port), STATUS_SUCCESS);
    assert_int_equal(port, __builtin_bswap16(31));
    assert_int_equal(RtlIpv4StringToAddressExA("10.0.0.2:65536", TRUE, &a, &port), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressExA("10.0.0.2:", TRUE, &a, &port), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressExA("10.0.0.2:1x", TRUE, &a, &port), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressExA(NULL, TRUE, &a, &port), STATUS_INVALID_PARAMETER);
    assert_int_equal(RtlIpv4StringToAddressExW(L"10.0.0.\x664", TRUE, &a, &port), STATUS_INVALID_PARAMETER);
}

/* The wide forms parse a copy, which must not drop the end of a long text. */
static void test_long_text(void **state)
{
    WCHAR text[200];
    struct in_addr a = { 0 };
    PCWSTR end;
    USHORT port;

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(text); i++)
        text[i] = L'0';
    text[198] = L'x';
    text[199] = 0;
    assert_int_equal(RtlIpv4StringToAddressExW(text, FALSE, &a, &port), STATUS_INVALID_PARAMETER);
    text[100] = L'?';
    assert_int_equal(RtlIpv4StringToAddressW(text, FALSE, &end, &a), STATUS_SUCCESS);
    assert_ptr_equal(end, text + 100);
}

static void like_host6(const char *s)
{
    struct in6_addr a = { 0 }, b = { 0 };
    uint8_t host[16];
    WCHAR wide[128];
    bool good = inet_pton(HOST_AF_INET6, s, host) == 1;
    PCSTR end = NULL;
    PCWSTR wide_end = NULL;
    NTSTATUS status = RtlIpv6StringToAddressA(s, &end, &a);
    ULONG scope = 5;
    USHORT port = 5;

    widen(wide, s);
    if ((status == STATUS_SUCCESS && !*end) != good)
        fail_msg("%s: 0x%08X at %d, and inet_pton says %d", s, (unsigned)status, (int)(end - s), good);
    if (good)
        assert_memory_equal(&a, host, 16);
    assert_int_equal(RtlIpv6StringToAddressW(wide, &wide_end, &b), status);
    assert_int_equal(wide_end - wide, end - s);
    assert_memory_equal(&a, &b, 16);
    assert_int_equal(RtlIpv6StringToAddressExW(wide, &b, &scope, &port) == STATUS_SUCCESS, good);
}

static void test_ipv6(void **state)
{
    static const char *texts[] = { "::",
                                   "::1",
                                   "1::",
                                   "fe80::1",
                                   "1:2:3:4:5:6:7:8",
                                   "1:2:3:4:5:6:7::",
                                   "::2:3:4:5:6:7:8",
                                   "1:2:3:4:5:6:7",
                                   "1:2:3:4:5:6:7:8:9",
                                   "1::2::3",
                                   ":::",
                                   ":1",
                                   "1:",
                                   "12345::",
                                   "g::",
                                   "::ffff:1.2.3.4",
                                   "::1.2.3.4",
                                   "1:2:3:4:5:6:1.2.3.4",
                                   "1:2:3:4:5:6:7:1.2.3.4",
                                   "1.2.3.4",
                                   "::1.2.3",
                                   "::1.2.3.256",
                                   "64:ff9b::192.0.2.33",
                                   "2001:DB8::A",
                                   "",
                                   ":",
                                   "1:2:3::5:6:7:8",
                                   "1::3:4:5:6:7:8",
                                   "0:0:0:0:0:0:0:0",
                                   "::1 ",
                                   "1:2" };

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(texts); i++)
        like_host6(texts[i]);
}

static void whole6(const char *s, NTSTATUS expected, uint32_t expected_scope, uint16_t expected_port)
{
    struct in6_addr a;
    ULONG scope = 99;
    USHORT port = 99;
    NTSTATUS status = RtlIpv6StringToAddressExA(s, &a, &scope, &port);

    if (status != expected || (!status && (scope != expected_scope || __builtin_bswap16(port) != expected_port)))
        fail_msg("%s: 0x%08X, scope %u, port %u", s, (unsigned)status, scope, __builtin_bswap16(port));
}

static void test_ipv6_whole(void **state)
{
    (void)state;
    whole6("fe80::1%12", STATUS_SUCCESS, 12, 0);
    whole6("[fe80::1%12]:443", STATUS_SUCCESS, 12, 443);
    whole6("[::1]", STATUS_SUCCESS, 0, 0);
    whole6("[::1]:0x10", STATUS_SUCCESS, 0, 16);
    whole6("[::1", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("::1]", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("[::1]:", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("[::1]:99999", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("fe80::1%", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("fe80::1%4294967296", STATUS_INVALID_PARAMETER, 0, 0);
    whole6("fe80::1%eth0", STATUS_INVALID_PARAMETER, 0, 0);
}

/* Every pattern of zero and other groups, with small and large ones. */
static void test_write(void **state)
{
    char host[64], narrow[64];
    WCHAR wide[64], expected[64];

    (void)state;
    for (unsigned pattern = 0; pattern < 256; pattern++)
        for (unsigned kind = 0; kind < 2; kind++) {
            struct in6_addr a = { 0 };

            for (unsigned i = 0; i < 8; i++)
                if (pattern >> i & 1)
                    a.u.Word[i] = kind ? (USHORT)(0x1100 + i) : (USHORT)__builtin_bswap16((uint16_t)(i + 1));
            assert_non_null(inet_ntop(HOST_AF_INET6, &a, host, sizeof host));
            assert_ptr_equal(RtlIpv6AddressToStringA(&a, narrow), narrow + strlen(host));
            assert_string_equal(narrow, host);
            assert_ptr_equal(RtlIpv6AddressToStringW(&a, wide), wide + strlen(host));
            widen(expected, narrow);
            assert_memory_equal(wide, expected, (strlen(narrow) + 1) * sizeof(WCHAR));
        }
}

static void test_write_special(void **state)
{
    struct in6_addr mapped = { .u.Byte = { [10] = 0xff, 0xff, 1, 2, 3, 4 } };
    struct in6_addr isatap = { .u.Byte = { 0xfe, 0x80, [10] = 0x5e, 0xfe, 10, 0, 0, 1 } };
    struct in_addr ipv4 = { .s_addr = __builtin_bswap32(0x0a0000fe) };
    char text[64];
    WCHAR wide[64];
    ULONG length = 3;

    (void)state;
    RtlIpv6AddressToStringA(&mapped, text);
    assert_string_equal(text, "::ffff:1.2.3.4");
    RtlIpv6AddressToStringA(&isatap, text);
    assert_string_equal(text, "fe80::5efe:10.0.0.1");
    assert_ptr_equal(RtlIpv4AddressToStringA(&ipv4, text), text + 10);
    assert_string_equal(text, "10.0.0.254");
    assert_ptr_equal(RtlIpv4AddressToStringW(&ipv4, wide), wide + 10);
    assert_memory_equal(wide, L"10.0.0.254", 22);
    assert_int_equal(RtlIpv4AddressToStringExA(&ipv4, __builtin_bswap16(80), text, &length), STATUS_INVALID_PARAMETER);
    assert_int_equal(length, 14);
    assert_int_equal(RtlIpv4AddressToStringExA(&ipv4, __builtin_bswap16(80), text, &length), STATUS_SUCCESS);
    assert_string_equal(text, "10.0.0.254:80");
    length = 64;
    assert_int_equal(RtlIpv6AddressToStringExW(&mapped, 3, __builtin_bswap16(443), wide, &length), STATUS_SUCCESS);
    assert_int_equal(length, 23);
    assert_memory_equal(wide, L"[::ffff:1.2.3.4%3]:443", 46);
    length = 64;
    assert_int_equal(RtlIpv6AddressToStringExA(&mapped, 0, 0, text, &length), STATUS_SUCCESS);
    assert_string_equal(text, "::ffff:1.2.3.4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ipv4_strict), cmocka_unit_test(test_ipv4_loose),    cmocka_unit_test(test_ipv4_port),
        cmocka_unit_test(test_long_text),   cmocka_unit_test(test_ipv6),          cmocka_unit_test(test_ipv6_whole),
        cmocka_unit_test(test_write),       cmocka_unit_test(test_write_special),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
