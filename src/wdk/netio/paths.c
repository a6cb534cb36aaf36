/* SPDX-License-Identifier: MIT */
/* Implements GetIpPathTable, which lists only the paths to the machine's own addresses. */
#include <stddef.h>
#include <stdlib.h>

#include "wdm.h"
#include "netioapi.h"

#include "wdk/common/live.h"
#include "wdk/ke/thread.h"

static void netio_fill_path(PMIB_IPPATH_ROW path, const MIB_UNICASTIPADDRESS_ROW *address)
{
    MIB_IF_ROW2 interface = { .InterfaceLuid = address->InterfaceLuid };

    path->Source = path->Destination = path->CurrentNextHop = address->Address;
    path->InterfaceLuid = address->InterfaceLuid;
    path->InterfaceIndex = address->InterfaceIndex;
    path->IsReachable = TRUE;
    if (!NT_SUCCESS(GetIfEntry2(&interface)))
        return;
    path->PathMtu = interface.Mtu;
    path->LinkTransmitSpeed = interface.TransmitLinkSpeed;
    path->LinkReceiveSpeed = interface.ReceiveLinkSpeed;
}

NTSTATUS GetIpPathTable(ADDRESS_FAMILY Family, PMIB_IPPATH_TABLE *Table)
{
    PMIB_UNICASTIPADDRESS_TABLE addresses;
    PMIB_IPPATH_TABLE paths;
    NTSTATUS status;

    irql_check_max("GetIpPathTable", APC_LEVEL);
    if (!Table)
        return STATUS_INVALID_PARAMETER;
    status = GetUnicastIpAddressTable(Family, &addresses);
    if (!NT_SUCCESS(status))
        return status;
    paths = calloc(1, offsetof(MIB_IPPATH_TABLE, Table) + (addresses->NumEntries + 1) * sizeof(MIB_IPPATH_ROW));
    for (ULONG i = 0; paths && i < addresses->NumEntries; i++)
        netio_fill_path(&paths->Table[paths->NumEntries++], &addresses->Table[i]);
    FreeMibTable(addresses);
    if (paths)
        live_add(LIVE_REFERENCE, paths, "MIB table");
    *Table = paths;
    return paths ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}
