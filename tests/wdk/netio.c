/* SPDX-License-Identifier: MIT */
/*
 * The host's interfaces and addresses for drivers. The test runs in a network namespace of its own, with the loopback
 * interface.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "netioapi.h"
#include "wdm.h"

#include "live_count.h"
#include "openndk/wdk.h"

static NET_LUID loopback(void)
{
    NET_LUID luid;

    assert_int_equal(ConvertInterfaceNameToLuidA("lo", &luid), STATUS_SUCCESS);
    return luid;
}

static void test_names(void **state)
{
    NET_LUID luid, again;
    NET_IFINDEX index;
    WCHAR alias[NDIS_IF_MAX_STRING_SIZE + 1];
    GUID guid;

    (void)state;
    luid = loopback();
    assert_int_equal(luid.Info.IfType, IF_TYPE_SOFTWARE_LOOPBACK);
    assert_int_equal(ConvertInterfaceLuidToIndex(&luid, &index), STATUS_SUCCESS);
    assert_int_equal(ConvertInterfaceIndexToLuid(index, &again), STATUS_SUCCESS);
    assert_true(again.Value == luid.Value);
    assert_int_equal(ConvertInterfaceLuidToAlias(&luid, alias, RTL_NUMBER_OF(alias)), STATUS_SUCCESS);
    assert_memory_equal(alias, L"lo", sizeof(L"lo"));
    assert_int_equal(ConvertInterfaceAliasToLuid(L"lo", &again), STATUS_SUCCESS);
    assert_true(again.Value == luid.Value);
    assert_int_equal(ConvertInterfaceLuidToGuid(&luid, &guid), STATUS_SUCCESS);
    assert_int_equal(ConvertInterfaceGuidToLuid(&guid, &again), STATUS_SUCCESS);
    assert_true(again.Value == luid.Value);
}

static void test_no_such_name(void **state)
{
    NET_LUID luid = { .Value = 77 };
    NET_IFINDEX index = 9;
    WCHAR alias[2];
    GUID guid = { 0 };

    (void)state;
    assert_int_equal(ConvertInterfaceLuidToIndex(&luid, &index), STATUS_INVALID_PARAMETER);
    assert_int_equal(index, NET_IFINDEX_UNSPECIFIED);
    assert_int_equal(ConvertInterfaceIndexToLuid(4711, &luid), STATUS_INVALID_PARAMETER);
    assert_true(luid.Value == 0);
    assert_int_equal(ConvertInterfaceAliasToLuid(L"none", &luid), STATUS_INVALID_PARAMETER);
    assert_int_equal(ConvertInterfaceAliasToLuid(L"far too long for a name", &luid), STATUS_INVALID_PARAMETER);
    assert_int_equal(ConvertInterfaceGuidToLuid(&guid, &luid), STATUS_INVALID_PARAMETER);
    luid = loopback();
    assert_int_equal(ConvertInterfaceLuidToAlias(&luid, alias, RTL_NUMBER_OF(alias)), STATUS_NO_MEMORY);
    assert_int_equal(ConvertInterfaceLuidToAlias(NULL, alias, RTL_NUMBER_OF(alias)), STATUS_INVALID_PARAMETER);
}

static void test_masks(void **state)
{
    static const struct {
        ULONG length, mask;
    } cases[] = { { 0, 0 }, { 8, 0x000000ff }, { 20, 0x00f0ffff }, { 32, 0xffffffff } };
    UINT8 length;
    ULONG mask;

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(cases); i++) {
        assert_int_equal(ConvertLengthToIpv4Mask(cases[i].length, &mask), STATUS_SUCCESS);
        assert_int_equal(mask, cases[i].mask);
        assert_int_equal(ConvertIpv4MaskToLength(mask, &length), STATUS_SUCCESS);
        assert_int_equal(length, cases[i].length);
    }
    assert_int_equal(ConvertLengthToIpv4Mask(33, &mask), STATUS_INVALID_PARAMETER);
    assert_int_equal(ConvertIpv4MaskToLength(0xff00ff00, &length), STATUS_INVALID_PARAMETER);
}

static void test_interfaces(void **state)
{
    PMIB_IF_TABLE2 table;
    PMIB_IPINTERFACE_TABLE ip;
    MIB_IF_ROW2 row = { .InterfaceLuid = loopback() }, none = { .InterfaceIndex = 4711 };
    MIB_IPINTERFACE_ROW entry;
    bool seen = false;

    (void)state;
    assert_int_equal(GetIfEntry2(&row), STATUS_SUCCESS);
    assert_int_equal(row.OperStatus, IfOperStatusUp);
    assert_int_equal(row.MediaType, NdisMediumLoopback);
    assert_true(row.Mtu >= 1500);
    assert_int_equal(GetIfEntry2(&none), STATUS_NOT_FOUND);

    assert_int_equal(GetIfTable2(&table), STATUS_SUCCESS);
    for (ULONG i = 0; i < table->NumEntries; i++)
        seen = seen || table->Table[i].InterfaceLuid.Value == row.InterfaceLuid.Value;
    assert_true(seen);
    FreeMibTable(table);

    InitializeIpInterfaceEntry(&entry);
    assert_int_equal(GetIpInterfaceEntry(&entry), STATUS_INVALID_PARAMETER);
    entry.Family = AF_INET6;
    entry.InterfaceIndex = row.InterfaceIndex;
    assert_int_equal(GetIpInterfaceEntry(&entry), STATUS_SUCCESS);
    assert_true(entry.InterfaceLuid.Value == row.InterfaceLuid.Value && entry.Connected);
    assert_int_equal(entry.NlMtu, row.Mtu);

    assert_int_equal(GetIpInterfaceTable(AF_INET, &ip), STATUS_SUCCESS);
    assert_true(ip->NumEntries >= 1 && ip->Table[0].Family == AF_INET);
    FreeMibTable(ip);
}

static SOCKADDR_INET v4(ULONG address)
{
    SOCKADDR_INET a = { .Ipv4 = { .sin_family = AF_INET } };

    a.Ipv4.sin_addr.S_un.S_addr = __builtin_bswap32(address);
    return a;
}

static void test_addresses(void **state)
{
    PMIB_UNICASTIPADDRESS_TABLE table;
    MIB_UNICASTIPADDRESS_ROW row;
    int seen = 0;

    (void)state;
    assert_int_equal(GetUnicastIpAddressTable(AF_INET, &table), STATUS_SUCCESS);
    for (ULONG i = 0; i < table->NumEntries; i++) {
        assert_int_equal(table->Table[i].Address.si_family, AF_INET);
        seen += table->Table[i].Address.Ipv4.sin_addr.s_addr == __builtin_bswap32(INADDR_LOOPBACK) &&
                table->Table[i].OnLinkPrefixLength == 8;
    }
    assert_int_equal(seen, 1);
    assert_int_equal(live_count(), 1);
    FreeMibTable(table);
    assert_int_equal(live_count(), 0);
    assert_int_equal(GetUnicastIpAddressTable(99, &table), STATUS_INVALID_PARAMETER);

    InitializeUnicastIpAddressEntry(&row);
    row.Address = v4(INADDR_LOOPBACK);
    row.InterfaceLuid = loopback();
    assert_int_equal(GetUnicastIpAddressEntry(&row), STATUS_SUCCESS);
    assert_int_equal(row.DadState, IpDadStatePreferred);
    row.Address = v4(INADDR_LOOPBACK + 1);
    assert_int_equal(GetUnicastIpAddressEntry(&row), STATUS_NOT_FOUND);
}

/* The route to an own address uses its interface. */
static void test_paths(void **state)
{
    PMIB_IPPATH_TABLE table;
    int seen = 0;

    (void)state;
    assert_int_equal(GetIpPathTable(AF_INET, &table), STATUS_SUCCESS);
    for (ULONG i = 0; i < table->NumEntries; i++)
        seen += table->Table[i].Source.Ipv4.sin_addr.s_addr == __builtin_bswap32(INADDR_LOOPBACK) &&
                table->Table[i].InterfaceLuid.Value == loopback().Value && table->Table[i].IsReachable &&
                table->Table[i].PathMtu >= 576;
    assert_int_equal(seen, 1);
    FreeMibTable(table);
    assert_int_equal(live_count(), 0);
    assert_int_equal(GetIpPathTable(99, &table), STATUS_INVALID_PARAMETER);
}

static void test_route(void **state)
{
    SOCKADDR_INET to = v4(INADDR_LOOPBACK + 5), from;
    MIB_IPFORWARD_ROW2 route;

    (void)state;
    assert_int_equal(GetBestRoute2(NULL, 0, NULL, &to, 0, &route, &from), STATUS_SUCCESS);
    assert_true(route.InterfaceLuid.Value == loopback().Value && route.Loopback);
    assert_int_equal(from.Ipv4.sin_addr.s_addr, __builtin_bswap32(INADDR_LOOPBACK));
    assert_int_equal(GetBestRoute2(NULL, 4711, NULL, &to, 0, &route, &from), STATUS_NOT_FOUND);
}

struct seen {
    atomic_int initial, added, removed;
    atomic_uint address;
};

static VOID changed(PVOID context, PMIB_UNICASTIPADDRESS_ROW row, MIB_NOTIFICATION_TYPE type)
{
    struct seen *seen = context;

    if (type == MibInitialNotification) {
        atomic_fetch_add(&seen->initial, row == NULL);
    } else if (type == MibAddInstance) {
        atomic_store(&seen->address, row->Address.Ipv4.sin_addr.s_addr);
        atomic_fetch_add(&seen->added, 1);
    } else if (type == MibDeleteInstance) {
        atomic_fetch_add(&seen->removed, 1);
    }
}

static void wait_for(atomic_int *count, int least)
{
    while (atomic_load(count) < least)
        usleep(5000);
}

static void test_notices(void **state)
{
    struct seen seen = { 0 };
    HANDLE handle = NULL;

    (void)state;
    assert_int_equal(NotifyUnicastIpAddressChange(AF_INET, changed, &seen, TRUE, &handle), STATUS_SUCCESS);
    wait_for(&seen.initial, 1);
    if (system("ip addr add 10.77.0.1/24 dev lo") != 0) {
        assert_int_equal(CancelMibChangeNotify2(handle), STATUS_SUCCESS);
        print_message("skipped: no address can be added in this network\n");
        skip();
    }
    wait_for(&seen.added, 1);
    assert_int_equal(seen.address, __builtin_bswap32(0x0a4d0001));
    assert_int_equal(system("ip addr del 10.77.0.1/24 dev lo"), 0);
    wait_for(&seen.removed, 1);
    assert_int_equal(live_count(), 1);
    assert_int_equal(CancelMibChangeNotify2(handle), STATUS_SUCCESS);
    assert_int_equal(live_count(), 0);
    assert_int_equal(CancelMibChangeNotify2(handle), STATUS_INVALID_PARAMETER);
}

/* The last test, because the mapping remains. */
static void test_mapped(void **state)
{
    MIB_IF_ROW2 row = { .InterfaceIndex = 15 };
    NET_LUID luid = loopback();
    NET_IFINDEX index;

    (void)state;
    assert_int_equal(GetIfEntry2(&row), STATUS_NOT_FOUND);
    assert_int_equal(ConvertInterfaceLuidToIndex(&luid, &index), STATUS_SUCCESS);
    assert_true(ondk_wdk_map_interface(15, index));
    assert_int_equal(GetIfEntry2(&row), STATUS_SUCCESS);
    assert_true(row.InterfaceLuid.Value == luid.Value);
    assert_int_equal(row.InterfaceIndex, 15);
    assert_int_equal(ConvertInterfaceLuidToIndex(&luid, &index), STATUS_SUCCESS);
    assert_int_equal(index, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),      cmocka_unit_test(test_no_such_name), cmocka_unit_test(test_masks),
        cmocka_unit_test(test_interfaces), cmocka_unit_test(test_addresses),    cmocka_unit_test(test_paths),
        cmocka_unit_test(test_route),      cmocka_unit_test(test_notices),      cmocka_unit_test(test_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
