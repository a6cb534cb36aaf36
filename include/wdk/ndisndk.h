/* SPDX-License-Identifier: MIT */
/*
 * NDK between NDIS and a miniport driver: how the provider's adapters are opened from below. For tests of a provider;
 * an NDK consumer goes through wskndk.h.
 */
#ifndef ONDK_WDK_NDISNDK_H
#define ONDK_WDK_NDISNDK_H

#include "ndis.h"
#include "ndkpi.h"

EXTERN_C_START

#ifndef NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS
#define NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS 0xb2
#endif

/* A switch and its port count where adapters are virtual, which they are not here: zero, or left alone. */
typedef struct _NDIS_OPEN_NDK_ADAPTER_PARAMETERS {
    NDK_VERSION Version;
    ULONG SwitchId;
    ULONG VPortId;
} NDIS_OPEN_NDK_ADAPTER_PARAMETERS, *PNDIS_OPEN_NDK_ADAPTER_PARAMETERS;

/*
 * Opens an instance of the miniport adapter's. PASSIVE_LEVEL. The provider's highest minor of the major counts.
 *   NDIS_STATUS_BAD_VERSION        another major, or a minor that is higher than the provider's
 *   NDIS_STATUS_ADAPTER_NOT_READY  the interface is down
 *   NDIS_STATUS_RESOURCES          memory ran out
 */
typedef NDIS_STATUS (*OPEN_NDK_ADAPTER_HANDLER)(
    _In_ NDIS_HANDLE MiniportAdapterContext, _In_ PNDIS_OPEN_NDK_ADAPTER_PARAMETERS Parameters,
    _Out_ NDK_ADAPTER **ppNdkAdapter);

/* Closes it, when all that was made from it is closed. PASSIVE_LEVEL. */
typedef VOID (*CLOSE_NDK_ADAPTER_HANDLER)(_In_ NDIS_HANDLE MiniportAdapterContext, _In_ NDK_ADAPTER *pNdkAdapter);

#define NDIS_NDK_PROVIDER_CHARACTERISTICS_REVISION_1 1

/* Header: type NDK_PROVIDER_CHARACTERISTICS, revision and size as below; Flags is 0. */
typedef struct _NDIS_NDK_PROVIDER_CHARACTERISTICS {
    NDIS_OBJECT_HEADER Header;
    ULONG Flags;
    OPEN_NDK_ADAPTER_HANDLER OpenNDKAdapterHandler;
    CLOSE_NDK_ADAPTER_HANDLER CloseNDKAdapterHandler;
} NDIS_NDK_PROVIDER_CHARACTERISTICS, *PNDIS_NDK_PROVIDER_CHARACTERISTICS;

#define NDIS_SIZEOF_NDK_PROVIDER_CHARACTERISTICS_REVISION_1 \
    RTL_SIZEOF_THROUGH_FIELD(NDIS_NDK_PROVIDER_CHARACTERISTICS, CloseNDKAdapterHandler)

/*
 * Not of Windows: what OpenNDK's miniport would give NdisSetOptionalHandlers. The context of its adapters is the index
 * of the host's interface, (NDIS_HANDLE)(ULONG_PTR)index; adapters are the provider's own, with nothing in between.
 */
NTKERNELAPI VOID OndkNdkProviderCharacteristics(_Out_ PNDIS_NDK_PROVIDER_CHARACTERISTICS Characteristics);

C_ASSERT(sizeof(NDIS_OPEN_NDK_ADAPTER_PARAMETERS) == 0xc);
C_ASSERT(sizeof(NDIS_NDK_PROVIDER_CHARACTERISTICS) == 0x18);

EXTERN_C_END

#endif
