/* SPDX-License-Identifier: MIT */
/*
 * The NDK interface between NDIS and a miniport driver, through which NDIS opens the provider's adapters. This header
 * is for tests of a provider; an NDK consumer uses wskndk.h.
 */
#ifndef ONDK_WDK_NDISNDK_H
#define ONDK_WDK_NDISNDK_H

#include "ndis.h"
#include "ndkpi.h"

EXTERN_C_START

#ifndef NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS
#define NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS 0xb2
#endif

/* The parameters of an open. SwitchId and VPortId are ignored, because this kernel has no virtual adapters. */
typedef struct _NDIS_OPEN_NDK_ADAPTER_PARAMETERS {
    NDK_VERSION Version;
    ULONG SwitchId;
    ULONG VPortId;
} NDIS_OPEN_NDK_ADAPTER_PARAMETERS, *PNDIS_OPEN_NDK_ADAPTER_PARAMETERS;

/*
 * Opens an adapter of the miniport. PASSIVE_LEVEL. The adapter has the provider's highest minor version of the
 * requested major version.
 *   NDIS_STATUS_BAD_VERSION        another major version, or a minor version higher than the provider's
 *   NDIS_STATUS_ADAPTER_NOT_READY  the interface is down
 *   NDIS_STATUS_RESOURCES          out of memory
 */
typedef NDIS_STATUS (*OPEN_NDK_ADAPTER_HANDLER)(
    _In_ NDIS_HANDLE MiniportAdapterContext, _In_ PNDIS_OPEN_NDK_ADAPTER_PARAMETERS Parameters,
    _Out_ NDK_ADAPTER **ppNdkAdapter);

/* Closes an adapter. All objects that were created from it must be closed. PASSIVE_LEVEL. */
typedef VOID (*CLOSE_NDK_ADAPTER_HANDLER)(_In_ NDIS_HANDLE MiniportAdapterContext, _In_ NDK_ADAPTER *pNdkAdapter);

#define NDIS_NDK_PROVIDER_CHARACTERISTICS_REVISION_1 1

/* The provider's handlers. Header has the type and revision defined above, and the size defined below. Flags is 0. */
typedef struct _NDIS_NDK_PROVIDER_CHARACTERISTICS {
    NDIS_OBJECT_HEADER Header;
    ULONG Flags;
    OPEN_NDK_ADAPTER_HANDLER OpenNDKAdapterHandler;
    CLOSE_NDK_ADAPTER_HANDLER CloseNDKAdapterHandler;
} NDIS_NDK_PROVIDER_CHARACTERISTICS, *PNDIS_NDK_PROVIDER_CHARACTERISTICS;

#define NDIS_SIZEOF_NDK_PROVIDER_CHARACTERISTICS_REVISION_1 \
    RTL_SIZEOF_THROUGH_FIELD(NDIS_NDK_PROVIDER_CHARACTERISTICS, CloseNDKAdapterHandler)

/*
 * Returns the structure that OpenNDK's miniport would pass to NdisSetOptionalHandlers. Windows does not have this
 * function. The handlers' MiniportAdapterContext is the index of the host's interface, (NDIS_HANDLE)(ULONG_PTR)index.
 * Calls on adapters that these handlers open are not checked. Calls on adapters that wskndk.h opens are checked.
 */
NTKERNELAPI VOID OndkNdkProviderCharacteristics(_Out_ PNDIS_NDK_PROVIDER_CHARACTERISTICS Characteristics);

C_ASSERT(sizeof(NDIS_OPEN_NDK_ADAPTER_PARAMETERS) == 0xc);
C_ASSERT(sizeof(NDIS_NDK_PROVIDER_CHARACTERISTICS) == 0x18);

EXTERN_C_END

#endif
