/* SPDX-License-Identifier: MIT */
/*
 * Converts between an interface's index, LUID, GUID, name and alias. LUID and GUID are computed from the host's index
 * and the interface's type, so they need no table.
 */
#include <stdlib.h>
#include <string.h>

#include "netioapi.h"
#include "wdm.h"

#include "wdk/common/interface_map.h"
#include "wdk/common/missing.h"
#include "wdk/ke/thread.h"
#include "wdk/netio/netio.h"

/* The first 8 bytes of every interface's GUID. The last 8 bytes are the interface's LUID. */
static const GUID guid_base = { 0x4f4e444b, 0x6e69, 0x4c55, { 0 } };

NET_LUID netio_luid(const struct netio_interface *i)
{
    NET_LUID luid = { .Value = 0 };

    luid.Info.NetLuidIndex = i->index;
    luid.Info.IfType = i->loopback ? IF_TYPE_SOFTWARE_LOOPBACK : IF_TYPE_ETHERNET_CSMACD;
    return luid;
}

GUID netio_guid(NET_LUID luid)
{
    GUID guid = guid_base;

    memcpy(guid.Data4, &luid.Value, sizeof(guid.Data4));
    return guid;
}

bool netio_find(const char *name, NET_LUID luid, NET_IFINDEX index, struct netio_interface *found)
{
    struct netio_interface *all;
    size_t count;
    bool hit = false;

    if (!netio_host_interfaces(&all, &count))
        return false;
    for (size_t i = 0; i < count && !hit; i++) {
        hit = name         ? strcmp(all[i].name, name) == 0
              : luid.Value ? netio_luid(&all[i]).Value == luid.Value
                           : all[i].index == index;
        if (hit)
            *found = all[i];
    }
    free(all);
    return hit;
}

bool netio_find_for_driver(const char *routine, NET_LUID luid, NET_IFINDEX driver_index, struct netio_interface *found)
{
    uint32_t host_index = interface_map_host(driver_index);
    bool hit = netio_find(NULL, luid, host_index, found);

    if (!hit && !luid.Value)
        missing_report_interface(routine, driver_index, host_index);
    return hit;
}

static bool netio_find_luid(const NET_LUID *luid, struct netio_interface *found)
{
    return luid && luid->Value && netio_find(NULL, *luid, 0, found);
}

NTSTATUS ConvertInterfaceIndexToLuid(NET_IFINDEX InterfaceIndex, PNET_LUID InterfaceLuid)
{
    struct netio_interface i;

    irql_check_max(__func__, APC_LEVEL);
    if (!InterfaceLuid)
        return STATUS_INVALID_PARAMETER;
    InterfaceLuid->Value = 0;
    if (!InterfaceIndex || !netio_find_for_driver(__func__, *InterfaceLuid, InterfaceIndex, &i))
        return STATUS_INVALID_PARAMETER;
    *InterfaceLuid = netio_luid(&i);
    return STATUS_SUCCESS;
}

NTSTATUS ConvertInterfaceLuidToIndex(const NET_LUID *InterfaceLuid, PNET_IFINDEX InterfaceIndex)
{
    struct netio_interface i;

    irql_check_max(__func__, APC_LEVEL);
    if (!InterfaceIndex)
        return STATUS_INVALID_PARAMETER;
    *InterfaceIndex = NET_IFINDEX_UNSPECIFIED;
    if (!netio_find_luid(InterfaceLuid, &i))
        return STATUS_INVALID_PARAMETER;
    *InterfaceIndex = interface_map_driver(i.index);
    return STATUS_SUCCESS;
}

void netio_widen(WCHAR *to, const char *from)
{
    while ((*to++ = (unsigned char)*from++))
        ;
}

/* Copies the name as ASCII. Returns false if a character is not ASCII, or the name is too long. */
static bool netio_narrow(char *to, size_t size, const WCHAR *from)
{
    for (size_t i = 0; i < size; i++) {
        if (from[i] > 127)
            return false;
        to[i] = (char)from[i];
        if (!from[i])
            return true;
    }
    return false;
}

static NTSTATUS netio_get_wide_name(const char *routine, const NET_LUID *luid, PWSTR name, SIZE_T length)
{
    struct netio_interface i;

    irql_check_max(routine, PASSIVE_LEVEL);
    if (!name || !netio_find_luid(luid, &i))
        return STATUS_INVALID_PARAMETER;
    if (length <= strlen(i.name))
        return STATUS_NO_MEMORY;
    netio_widen(name, i.name);
    return STATUS_SUCCESS;
}

static NTSTATUS netio_find_luid_by_name(const char *routine, const char *name, PNET_LUID luid)
{
    struct netio_interface i;

    irql_check_max(routine, PASSIVE_LEVEL);
    luid->Value = 0;
    if (!netio_find(name, *luid, 0, &i))
        return STATUS_INVALID_PARAMETER;
    *luid = netio_luid(&i);
    return STATUS_SUCCESS;
}

static NTSTATUS netio_find_luid_by_wide_name(const char *routine, const WCHAR *wide, PNET_LUID luid)
{
    char name[sizeof(((struct netio_interface *)0)->name)];

    if (!wide || !luid || !netio_narrow(name, sizeof(name), wide))
        return STATUS_INVALID_PARAMETER;
    return netio_find_luid_by_name(routine, name, luid);
}

NTSTATUS ConvertInterfaceLuidToAlias(const NET_LUID *InterfaceLuid, PWSTR InterfaceAlias, SIZE_T Length)
{
    return netio_get_wide_name(__func__, InterfaceLuid, InterfaceAlias, Length);
}

NTSTATUS ConvertInterfaceLuidToNameW(const NET_LUID *InterfaceLuid, PWSTR InterfaceName, SIZE_T Length)
{
    return netio_get_wide_name(__func__, InterfaceLuid, InterfaceName, Length);
}

NTSTATUS ConvertInterfaceLuidToNameA(const NET_LUID *InterfaceLuid, PSTR InterfaceName, SIZE_T Length)
{
    struct netio_interface i;

    irql_check_max(__func__, PASSIVE_LEVEL);
    if (!InterfaceName || !netio_find_luid(InterfaceLuid, &i))
        return STATUS_INVALID_PARAMETER;
    if (Length <= strlen(i.name))
        return STATUS_NO_MEMORY;
    memcpy(InterfaceName, i.name, strlen(i.name) + 1);
    return STATUS_SUCCESS;
}

NTSTATUS ConvertInterfaceAliasToLuid(const WCHAR *InterfaceAlias, PNET_LUID InterfaceLuid)
{
    return netio_find_luid_by_wide_name(__func__, InterfaceAlias, InterfaceLuid);
}

NTSTATUS ConvertInterfaceNameToLuidW(const WCHAR *InterfaceName, NET_LUID *InterfaceLuid)
{
    return netio_find_luid_by_wide_name(__func__, InterfaceName, InterfaceLuid);
}

NTSTATUS ConvertInterfaceNameToLuidA(const CHAR *InterfaceName, NET_LUID *InterfaceLuid)
{
    if (!InterfaceName || !InterfaceLuid)
        return STATUS_INVALID_PARAMETER;
    return netio_find_luid_by_name(__func__, InterfaceName, InterfaceLuid);
}

NTSTATUS ConvertInterfaceLuidToGuid(const NET_LUID *InterfaceLuid, GUID *InterfaceGuid)
{
    struct netio_interface i;

    irql_check_max(__func__, PASSIVE_LEVEL);
    if (!InterfaceGuid || !netio_find_luid(InterfaceLuid, &i))
        return STATUS_INVALID_PARAMETER;
    *InterfaceGuid = netio_guid(*InterfaceLuid);
    return STATUS_SUCCESS;
}

NTSTATUS ConvertInterfaceGuidToLuid(const GUID *InterfaceGuid, PNET_LUID InterfaceLuid)
{
    struct netio_interface i;
    NET_LUID luid;
    GUID guid;

    irql_check_max(__func__, PASSIVE_LEVEL);
    if (!InterfaceGuid || !InterfaceLuid)
        return STATUS_INVALID_PARAMETER;
    memcpy(&luid.Value, InterfaceGuid->Data4, sizeof(luid.Value));
    guid = netio_guid(luid);
    if (!IsEqualGUID(&guid, InterfaceGuid) || !netio_find_luid(&luid, &i))
        return STATUS_INVALID_PARAMETER;
    *InterfaceLuid = luid;
    return STATUS_SUCCESS;
}

NTSTATUS ConvertLengthToIpv4Mask(ULONG MaskLength, PULONG Mask)
{
    if (!Mask || MaskLength > 32)
        return STATUS_INVALID_PARAMETER;
    *Mask = __builtin_bswap32(MaskLength ? 0xffffffffu << (32 - MaskLength) : 0);
    return STATUS_SUCCESS;
}

NTSTATUS ConvertIpv4MaskToLength(ULONG Mask, PUINT8 MaskLength)
{
    ULONG zeros = ~__builtin_bswap32(Mask);

    if (!MaskLength || (zeros & (zeros + 1)))
        return STATUS_INVALID_PARAMETER;
    *MaskLength = (UINT8)(32 - __builtin_popcount(zeros));
    return STATUS_SUCCESS;
}
