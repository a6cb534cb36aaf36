/* SPDX-License-Identifier: MIT */
/*
 * NDK as an extension of Winsock Kernel: the two functions that open and close an adapter. WskControlClient returns
 * them.
 */
#ifndef ONDK_WDK_WSKNDK_H
#define ONDK_WDK_WSKNDK_H

#include "wsk.h"
#include "ndkpi.h"

EXTERN_C_START

/*
 * Opens the NDK adapter of the network interface IfIndex. PASSIVE_LEVEL. IfIndex is the host's index, or an
 * index that ndkrun maps.
 *   NDIS_STATUS_BAD_VERSION        the provider does not have this version
 *   STATUS_INVALID_PARAMETER       there is no such interface, or it has no address
 *   NDIS_STATUS_ADAPTER_NOT_READY  the interface is down
 */
typedef NTSTATUS (WSKAPI *PFN_WSK_NDK_OPEN_ADAPTER)(
    _In_ PWSK_CLIENT Client, _In_ NDK_VERSION NdkVersion, _In_ NET_IFINDEX IfIndex, _Out_ NDK_ADAPTER **ppNdkAdapter);

/*
 * Waits until every object of the adapter has been closed and every callback has returned, then closes the adapter.
 * PASSIVE_LEVEL.
 */
typedef VOID (WSKAPI *PFN_WSK_NDK_CLOSE_ADAPTER)(_In_ PWSK_CLIENT Client, _In_ NDK_ADAPTER *pNdkAdapter);

typedef struct _WSK_PROVIDER_NDK_DISPATCH {
    PFN_WSK_NDK_OPEN_ADAPTER WskOpenNdkAdapter;
    PFN_WSK_NDK_CLOSE_ADAPTER WskCloseNdkAdapter;
} WSK_PROVIDER_NDK_DISPATCH, *PWSK_PROVIDER_NDK_DISPATCH;

/*
 * Control code of WskControlClient. The call has no input and needs no IRP; the output is a WSK_PROVIDER_NDK_DISPATCH.
 * If the output buffer is shorter, the call returns STATUS_INVALID_PARAMETER. The value is 'NDKD'. It is written as a
 * number, because compilers warn of character constants with several characters.
 */
#define WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH ((ULONG)0x4E444B44)

C_ASSERT(sizeof(WSK_PROVIDER_NDK_DISPATCH) == 0x10);

EXTERN_C_END

#endif
