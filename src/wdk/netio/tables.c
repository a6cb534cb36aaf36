/* SPDX-License-Identifier: MIT */
/*
 * Tables of the host's interfaces and addresses, and the host's best route. Each table is one block, registered as live
 * until FreeMibTable.
 */
#include <stdlib.h>
#include <string.h>

#include "netioapi.h"
#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/interface_map.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/netio/netio.h"

/*
 * Allocates a table of `front` bytes, followed by `count` rows of `row` bytes each. `table` points at a pointer, which
 * receives the table's address.
 */
static NTSTATUS netio_table_alloc(size_t front, size_t row, size_t count, void *table)
{
    void *memory = calloc(1, front + row * (count ? count : 1));

    if (!memory)
        return STATUS_NO_MEMORY;
    live_add(LIVE_REFERENCE, memory, "MIB table");
    memcpy(table, &memory, sizeof(memory));
    return STATUS_SUCCESS;
}

VOID FreeMibTable(PVOID Memory)
{
    irql_check_max(__func__, APC_LEVEL);
    if (!Memory)
        return;
    if (!live_remove(LIVE_REFERENCE, Memory))
        check_failed(CHECK_POOL_BAD_ADDRESS, __func__, (uintptr_t)Memory, 0, 0, 0, "%p is no table of this kernel's",
                     Memory);
    else
        free(Memory);
}

static void netio_fill_if_counters(PMIB_IF_ROW2 row, const struct netio_interface *i)
{
    row->InOctets = i->in_bytes;
    row->InUcastOctets = i->in_bytes;
    row->InUcastPkts = i->in_packets;
    row->InErrors = i->in_errors;
    row->InDiscards = i->in_dropped;
    row->OutOctets = i->out_bytes;
    row->OutUcastOctets = i->out_bytes;
    row->OutUcastPkts = i->out_packets;
    row->OutErrors = i->out_errors;
    row->OutDiscards = i->out_dropped;
}

static void netio_fill_if(PMIB_IF_ROW2 row, const struct netio_interface *i, bool counters)
{
    memset(row, 0, sizeof(*row));
    row->InterfaceLuid = netio_luid(i);
    row->InterfaceIndex = interface_map_driver(i->index);
    row->InterfaceGuid = netio_guid(row->InterfaceLuid);
    netio_widen(row->Alias, i->name);
    netio_widen(row->Description, i->name);
    row->PhysicalAddressLength = i->hardware_length;
    memcpy(row->PhysicalAddress, i->hardware, i->hardware_length);
    memcpy(row->PermanentPhysicalAddress, i->hardware, i->hardware_length);
    row->Mtu = i->mtu;
    row->Type = (IFTYPE)row->InterfaceLuid.Info.IfType;
    row->MediaType = i->loopback ? NdisMediumLoopback : NdisMedium802_3;
    row->PhysicalMediumType = i->loopback ? NdisPhysicalMediumUnspecified : NdisPhysicalMedium802_3;
    row->AccessType = i->loopback         ? NET_IF_ACCESS_LOOPBACK
                      : i->point_to_point ? NET_IF_ACCESS_POINT_TO_POINT
                                          : NET_IF_ACCESS_BROADCAST;
    row->DirectionType = NET_IF_DIRECTION_SENDRECEIVE;
    row->InterfaceAndOperStatusFlags.ConnectorPresent = !i->loopback;
    row->InterfaceAndOperStatusFlags.HardwareInterface = !i->loopback;
    row->InterfaceAndOperStatusFlags.NotMediaConnected = !i->running;
    row->OperStatus = i->up && i->running ? IfOperStatusUp : IfOperStatusDown;
    row->AdminStatus = i->up ? NET_IF_ADMIN_STATUS_UP : NET_IF_ADMIN_STATUS_DOWN;
    row->MediaConnectState = i->running ? MediaConnectStateConnected : MediaConnectStateDisconnected;
    row->ConnectionType = NET_IF_CONNECTION_DEDICATED;
    row->TransmitLinkSpeed = i->bits_per_second;
    row->ReceiveLinkSpeed = i->bits_per_second;
    if (counters)
        netio_fill_if_counters(row, i);
}

NTSTATUS GetIfEntry2(PMIB_IF_ROW2 Row)
{
    struct netio_interface i;

    irql_check_max(__func__, APC_LEVEL);
    if (!Row || (!Row->InterfaceLuid.Value && !Row->InterfaceIndex))
        return STATUS_INVALID_PARAMETER;
    if (!netio_find_for_driver(__func__, Row->InterfaceLuid, Row->InterfaceIndex, &i))
        return STATUS_NOT_FOUND;
    netio_fill_if(Row, &i, true);
    return STATUS_SUCCESS;
}

NTSTATUS GetIfTable2Ex(MIB_IF_TABLE_LEVEL Level, PMIB_IF_TABLE2 *Table)
{
    struct netio_interface *all;
    size_t count;
    NTSTATUS status;

    irql_check_max(__func__, APC_LEVEL);
    if (!Table || (ULONG)Level > MibIfTableNormalWithoutStatistics)
        return STATUS_INVALID_PARAMETER;
    if (!netio_host_interfaces(&all, &count))
        return STATUS_NO_MEMORY;
    status = netio_table_alloc(offsetof(MIB_IF_TABLE2, Table), sizeof(MIB_IF_ROW2), count, Table);
    if (NT_SUCCESS(status)) {
        (*Table)->NumEntries = (ULONG)count;
        for (size_t i = 0; i < count; i++)
            netio_fill_if(&(*Table)->Table[i], &all[i], Level != MibIfTableNormalWithoutStatistics);
    }
    free(all);
    return status;
}

NTSTATUS GetIfTable2(PMIB_IF_TABLE2 *Table)
{
    return GetIfTable2Ex(MibIfTableNormal, Table);
}

VOID InitializeIpInterfaceEntry(PMIB_IPINTERFACE_ROW Row)
{
    memset(Row, 0, sizeof(*Row));
    Row->RouterDiscoveryBehavior = RouterDiscoveryUnchanged;
    Row->LinkLocalAddressBehavior = LinkLocalUnchanged;
    Row->SitePrefixLength = MAXULONG;
}

void netio_fill_ip_row(PMIB_IPINTERFACE_ROW row, ADDRESS_FAMILY family, const struct netio_interface *i)
{
    InitializeIpInterfaceEntry(row);
    row->Family = family;
    row->InterfaceLuid = netio_luid(i);
    row->InterfaceIndex = interface_map_driver(i->index);
    row->MaxReassemblySize = 65535;
    row->UseAutomaticMetric = TRUE;
    row->RouterDiscoveryBehavior = family == AF_INET6 ? RouterDiscoveryEnabled : RouterDiscoveryDhcp;
    row->LinkLocalAddressBehavior = family == AF_INET6 ? LinkLocalAlwaysOn : LinkLocalDelayed;
    row->SitePrefixLength = 0;
    row->DadTransmits = i->loopback ? 0 : 3;
    row->BaseReachableTime = 30000;
    row->RetransmitTime = 1000;
    row->ReachableTime = 30000;
    row->NlMtu = i->mtu;
    row->Connected = i->up && i->running;
    row->UseNeighborUnreachabilityDetection = !i->loopback;
    row->SupportsNeighborDiscovery = !i->loopback;
    row->SupportsRouterDiscovery = !i->loopback;
    for (int level = 0; level < ScopeLevelCount; level++)
        row->ZoneIndices[level] = level <= ScopeLevelSubnet ? row->InterfaceIndex : 1;
}

NTSTATUS GetIpInterfaceEntry(PMIB_IPINTERFACE_ROW Row)
{
    struct netio_interface i;

    irql_check_max(__func__, APC_LEVEL);
    if (!Row || (Row->Family != AF_INET && Row->Family != AF_INET6) ||
        (!Row->InterfaceLuid.Value && !Row->InterfaceIndex))
        return STATUS_INVALID_PARAMETER;
    if (!netio_find_for_driver(__func__, Row->InterfaceLuid, Row->InterfaceIndex, &i))
        return STATUS_NOT_FOUND;
    netio_fill_ip_row(Row, Row->Family, &i);
    return STATUS_SUCCESS;
}

bool netio_is_family_known(ADDRESS_FAMILY family)
{
    return family == AF_UNSPEC || family == AF_INET || family == AF_INET6;
}

NTSTATUS GetIpInterfaceTable(ADDRESS_FAMILY Family, PMIB_IPINTERFACE_TABLE *Table)
{
    static const ADDRESS_FAMILY families[] = { AF_INET, AF_INET6 };
    struct netio_interface *all;
    size_t count;
    NTSTATUS status;

    irql_check_max(__func__, APC_LEVEL);
    if (!Table || !netio_is_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    if (!netio_host_interfaces(&all, &count))
        return STATUS_NO_MEMORY;
    status = netio_table_alloc(offsetof(MIB_IPINTERFACE_TABLE, Table), sizeof(MIB_IPINTERFACE_ROW), count * 2, Table);
    for (size_t f = 0; NT_SUCCESS(status) && f < RTL_NUMBER_OF(families); f++) {
        for (size_t i = 0; i < count && (Family == AF_UNSPEC || Family == families[f]); i++)
            netio_fill_ip_row(&(*Table)->Table[(*Table)->NumEntries++], families[f], &all[i]);
    }
    free(all);
    return status;
}

static void netio_address_to_inet(SOCKADDR_INET *to, const struct netio_address *from)
{
    memset(to, 0, sizeof(*to));
    if (from->v6) {
        to->si_family = AF_INET6;
        memcpy(&to->Ipv6.sin6_addr, from->bytes, 16);
        to->Ipv6.sin6_scope_id = from->scope;
    } else {
        to->si_family = AF_INET;
        memcpy(&to->Ipv4.sin_addr, from->bytes, 4);
    }
}

static struct netio_address netio_address_from_inet(const SOCKADDR_INET *from)
{
    struct netio_address to = { .v6 = from->si_family == AF_INET6 };

    if (to.v6) {
        memcpy(to.bytes, &from->Ipv6.sin6_addr, 16);
        to.scope = from->Ipv6.sin6_scope_id;
    } else {
        memcpy(to.bytes, &from->Ipv4.sin_addr, 4);
    }
    return to;
}

VOID InitializeUnicastIpAddressEntry(PMIB_UNICASTIPADDRESS_ROW Row)
{
    memset(Row, 0, sizeof(*Row));
    Row->PrefixOrigin = IpPrefixOriginUnchanged;
    Row->SuffixOrigin = IpSuffixOriginUnchanged;
    Row->ValidLifetime = MAXULONG;
    Row->PreferredLifetime = MAXULONG;
    Row->OnLinkPrefixLength = 255;
}

void netio_fill_unicast_row(PMIB_UNICASTIPADDRESS_ROW row, const struct netio_address *address)
{
    struct netio_interface i;

    InitializeUnicastIpAddressEntry(row);
    netio_address_to_inet(&row->Address, address);
    if (netio_find(NULL, (NET_LUID){ .Value = 0 }, address->index, &i))
        row->InterfaceLuid = netio_luid(&i);
    row->InterfaceIndex = interface_map_driver(address->index);
    row->PrefixOrigin = IpPrefixOriginManual;
    row->SuffixOrigin = IpSuffixOriginManual;
    row->OnLinkPrefixLength = address->prefix;
    row->DadState = IpDadStatePreferred;
    row->ScopeId.Value = address->scope;
}

NTSTATUS GetUnicastIpAddressTable(ADDRESS_FAMILY Family, PMIB_UNICASTIPADDRESS_TABLE *Table)
{
    struct netio_address *all;
    size_t count;
    NTSTATUS status;

    irql_check_max(__func__, APC_LEVEL);
    if (!Table || !netio_is_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    if (!netio_host_addresses(&all, &count))
        return STATUS_NO_MEMORY;
    status = netio_table_alloc(offsetof(MIB_UNICASTIPADDRESS_TABLE, Table), sizeof(MIB_UNICASTIPADDRESS_ROW), count,
                               Table);
    for (size_t i = 0; NT_SUCCESS(status) && i < count; i++) {
        if (Family == AF_UNSPEC || (Family == AF_INET6) == all[i].v6)
            netio_fill_unicast_row(&(*Table)->Table[(*Table)->NumEntries++], &all[i]);
    }
    free(all);
    return status;
}

/*
 * Finds a row's interface, by LUID if the LUID is not 0, else by index. Returns the host's index, or 0 if there is no
 * such interface.
 */
static NET_IFINDEX netio_host_index_of_row(const char *routine, NET_LUID luid, NET_IFINDEX index)
{
    struct netio_interface i;

    return netio_find_for_driver(routine, luid, index, &i) ? i.index : 0;
}

NTSTATUS GetUnicastIpAddressEntry(PMIB_UNICASTIPADDRESS_ROW Row)
{
    struct netio_address *all, wanted;
    size_t count;
    NTSTATUS status = STATUS_NOT_FOUND;
    NET_IFINDEX index;

    irql_check_max(__func__, APC_LEVEL);
    if (!Row || (Row->Address.si_family != AF_INET && Row->Address.si_family != AF_INET6) ||
        (!Row->InterfaceLuid.Value && !Row->InterfaceIndex))
        return STATUS_INVALID_PARAMETER;
    index = netio_host_index_of_row(__func__, Row->InterfaceLuid, Row->InterfaceIndex);
    wanted = netio_address_from_inet(&Row->Address);
    if (!netio_host_addresses(&all, &count))
        return STATUS_NO_MEMORY;
    for (size_t i = 0; i < count && status != STATUS_SUCCESS; i++) {
        if (all[i].index == index && all[i].v6 == wanted.v6 && memcmp(all[i].bytes, wanted.bytes, 16) == 0) {
            netio_fill_unicast_row(Row, &all[i]);
            status = STATUS_SUCCESS;
        }
    }
    free(all);
    return status;
}

NTSTATUS GetBestRoute2(NET_LUID *InterfaceLuid, NET_IFINDEX InterfaceIndex, const SOCKADDR_INET *SourceAddress,
                       const SOCKADDR_INET *DestinationAddress, ULONG AddressSortOptions, PMIB_IPFORWARD_ROW2 BestRoute,
                       SOCKADDR_INET *BestSourceAddress)
{
    struct netio_route route = { .index = 0 };
    struct netio_interface i;

    (void)AddressSortOptions;
    irql_check_max(__func__, APC_LEVEL);
    if (!DestinationAddress || !BestRoute || !BestSourceAddress ||
        (DestinationAddress->si_family != AF_INET && DestinationAddress->si_family != AF_INET6) ||
        (SourceAddress && SourceAddress->si_family != AF_UNSPEC &&
         SourceAddress->si_family != DestinationAddress->si_family))
        return STATUS_INVALID_PARAMETER;
    route.to = netio_address_from_inet(DestinationAddress);
    if (SourceAddress && SourceAddress->si_family != AF_UNSPEC)
        route.source = netio_address_from_inet(SourceAddress);
    route.source.v6 = route.to.v6;
    if ((InterfaceLuid && InterfaceLuid->Value) || InterfaceIndex) {
        route.index = netio_host_index_of_row(__func__, InterfaceLuid ? *InterfaceLuid : (NET_LUID){ .Value = 0 },
                                              InterfaceIndex);
        if (!route.index)
            return STATUS_NOT_FOUND;
    }
    if (netio_host_route(&route) != 0 || !netio_find(NULL, (NET_LUID){ .Value = 0 }, route.index, &i))
        return STATUS_NETWORK_UNREACHABLE;
    memset(BestRoute, 0, sizeof(*BestRoute));
    BestRoute->InterfaceLuid = netio_luid(&i);
    BestRoute->InterfaceIndex = interface_map_driver(i.index);
    netio_address_to_inet(&BestRoute->DestinationPrefix.Prefix, &route.to);
    BestRoute->DestinationPrefix.PrefixLength = route.to.v6 ? 128 : 32;
    memcpy(route.to.bytes, route.via, sizeof(route.via));
    netio_address_to_inet(&BestRoute->NextHop, &route.to);
    BestRoute->ValidLifetime = MAXULONG;
    BestRoute->PreferredLifetime = MAXULONG;
    BestRoute->Metric = route.metric;
    BestRoute->Protocol = RouteProtocolNetMgmt;
    BestRoute->Loopback = i.loopback;
    BestRoute->Immortal = TRUE;
    netio_address_to_inet(BestSourceAddress, &route.source);
    return STATUS_SUCCESS;
}
