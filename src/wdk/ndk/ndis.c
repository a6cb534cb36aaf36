/* SPDX-License-Identifier: MIT */
/* The handlers by which NDIS would open and close the provider's adapters: see ndisndk.h. */
#include "ndisndk.h"

#include "openndk/adapter.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"

static NDIS_STATUS ndis_open_adapter(NDIS_HANDLE context, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters,
                                     NDK_ADAPTER **out)
{
    NTSTATUS status;

    irql_check_max("OpenNDKAdapterHandler", PASSIVE_LEVEL);
    if (!parameters || !out)
        return NDIS_STATUS_INVALID_PARAMETER;
    status = ondk_open_adapter(parameters->Version, (uint32_t)(ULONG_PTR)context, out);
    if (NT_SUCCESS(status)) {
        ondk_use_windows_families(*out, 1);
        live_add(LIVE_NDK_OBJECT, *out, "NDK_ADAPTER");
    }
    return status;
}

static VOID ndis_close_adapter(NDIS_HANDLE context, NDK_ADAPTER *adapter)
{
    (void)context;
    irql_check_max("CloseNDKAdapterHandler", PASSIVE_LEVEL);
    if (live_remove(LIVE_NDK_OBJECT, adapter))
        ondk_close_adapter(adapter);
    else if (check_on())
        check_failed(CHECK_HANDLE_INVALID, "CloseNDKAdapterHandler", (uintptr_t)adapter, 0, 0, 0,
                     "%p is no open NDK_ADAPTER", (void *)adapter);
}

VOID OndkNdkProviderCharacteristics(PNDIS_NDK_PROVIDER_CHARACTERISTICS Characteristics)
{
    *Characteristics = (NDIS_NDK_PROVIDER_CHARACTERISTICS){
        .Header = { NDIS_OBJECT_TYPE_NDK_PROVIDER_CHARACTERISTICS, NDIS_NDK_PROVIDER_CHARACTERISTICS_REVISION_1,
                    NDIS_SIZEOF_NDK_PROVIDER_CHARACTERISTICS_REVISION_1 },
        .OpenNDKAdapterHandler = ndis_open_adapter,
        .CloseNDKAdapterHandler = ndis_close_adapter,
    };
}
