/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes NDK adapters with the two functions that Winsock Kernel provides. Determines the adapter's interface
 * and the local address from the route to the target. All functions require PASSIVE_LEVEL.
 */
#include "nvmendk.h"

#include <netioapi.h>

static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Provider;
static WSK_PROVIDER_NDK_DISPATCH Ndk;

NTSTATUS NvmeProviderRegister(VOID)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NTSTATUS status = WskRegister(&client, &Registration);

    if (!NT_SUCCESS(status))
        return status;
    status = WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Provider);
    if (!NT_SUCCESS(status)) {
        WskDeregister(&Registration);
        return status;
    }
    status = Provider.Dispatch->WskControlClient(Provider.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
        sizeof(Ndk), &Ndk, NULL, NULL);
    if (!NT_SUCCESS(status))
        NvmeProviderDeregister();
    return status;
}

VOID NvmeProviderDeregister(VOID)
{
    WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
}

static BOOLEAN IsSameAddress(const SOCKADDR_INET *One, const SOCKADDR_INET *Other)
{
    if (One->si_family != Other->si_family)
        return FALSE;
    if (One->si_family == AF_INET)
        return One->Ipv4.sin_addr.s_addr == Other->Ipv4.sin_addr.s_addr;
    return RtlEqualMemory(&One->Ipv6.sin6_addr, &Other->Ipv6.sin6_addr, sizeof(One->Ipv6.sin6_addr));
}

/*
 * Returns the interface that has the local address, or 0 if there is none. If several interfaces have the address,
 * prefers Preferred.
 */
static NET_IFINDEX FindInterface(const SOCKADDR_INET *Local, NET_IFINDEX Preferred)
{
    MIB_UNICASTIPADDRESS_TABLE *table;
    NET_IFINDEX index = 0;
    ULONG i;

    if (!NT_SUCCESS(GetUnicastIpAddressTable(Local->si_family, &table)))
        return 0;
    for (i = 0; i < table->NumEntries && (index == 0 || index != Preferred); i++)
        if (IsSameAddress(&table->Table[i].Address, Local))
            index = table->Table[i].InterfaceIndex;
    FreeMibTable(table);
    return index;
}

/*
 * Finds the interface and the local address on the route to the target. Each reconnect calls this again, because the
 * route may have changed together with the network. The route to an address of this machine leads to the loopback
 * interface, whose adapter does not have the local address. Therefore the interface that has the local address is used.
 */
NTSTATUS NvmeFindRoute(NVME_TARGET *Target)
{
    MIB_IPFORWARD_ROW2 route;
    NTSTATUS status;

    if (Target->Interface != 0)
        return STATUS_SUCCESS;
    status = GetBestRoute2(NULL, 0, NULL, &Target->Address, 0, &route, &Target->LocalAddress);
    if (!NT_SUCCESS(status))
        return status;
    Target->Interface = FindInterface(&Target->LocalAddress, route.InterfaceIndex);
    return Target->Interface ? STATUS_SUCCESS : STATUS_NETWORK_UNREACHABLE;
}

/* Opens the adapter with NDK 1.2, the first version with NdkGetCqResultsEx and NDK_OP_FLAG_DEFER. */
NTSTATUS NvmeOpenAdapter(ULONG Interface, NDK_ADAPTER **Adapter)
{
    NDK_VERSION version = { 1, 2 };

    *Adapter = NULL;
    return Ndk.WskOpenNdkAdapter(Provider.Client, version, Interface, Adapter);
}

VOID NvmeCloseAdapter(NDK_ADAPTER *Adapter)
{
    Ndk.WskCloseNdkAdapter(Provider.Client, Adapter);
}
