/* SPDX-License-Identifier: MIT */
/* Implements the handlers by which NDIS would open and close the provider's adapters: see ndisndk.h. */
#include "ndisndk.h"

#include "verify/verify.h"
#include "wdk/common/check.h"
#include "wdk/common/kernel_call.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ndk/open.h"
#include "wdk/ndk/provider.h"

static NTSTATUS ndis_open_for_driver(NDK_VERSION version, uint32_t index, NDK_ADAPTER **out)
{
    NDK_ADAPTER *opened;
    NTSTATUS status = ndk_provider_open(version, index, &opened);

    if (!NT_SUCCESS(status))
        return status;
    status = ndk_adapter_give(opened, "OpenNDKAdapterHandler", out);
    if (!NT_SUCCESS(status))
        ndk_provider_close(opened);
    return status;
}

static NDIS_STATUS ndis_open_adapter(NDIS_HANDLE context, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters,
                                     NDK_ADAPTER **out)
{
    uint32_t index = (uint32_t)(ULONG_PTR)context;
    struct kernel_call call;
    NTSTATUS status;

    irql_check_max("OpenNDKAdapterHandler", PASSIVE_LEVEL);
    if (!parameters || !out)
        return NDIS_STATUS_INVALID_PARAMETER;
    call = KERNEL_CALL(OpenNDKAdapterHandler, .interface = index, .major = parameters->Version.Major,
                       .minor = parameters->Version.Minor);
    status = ndis_open_for_driver(parameters->Version, index, out);
    return kernel_call_return_with(&call, status,
                                   (struct kernel_call_result){ .created = NT_SUCCESS(status) ? *out : NULL });
}

static void ndis_close_for_driver(NDK_ADAPTER *adapter)
{
    static const char routine[] = "CloseNDKAdapterHandler";

    ndk_adapter_check_close_irql(routine, adapter);
    if (verify_is_wrapped(adapter)) {
        adapter = verify_close(adapter, routine);
        if (adapter)
            ndk_provider_close(adapter);
    } else if (live_remove(LIVE_NDK_OBJECT, adapter)) {
        ndk_provider_close(adapter);
    } else if (check_on()) {
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)adapter, 0, 0, 0, "%p is no open NDK_ADAPTER",
                     (void *)adapter);
    }
}

static VOID ndis_close_adapter(NDIS_HANDLE context, NDK_ADAPTER *adapter)
{
    const struct kernel_call call = KERNEL_CALL(CloseNDKAdapterHandler, .adapter = (uintptr_t)adapter);

    UNREFERENCED_PARAMETER(context);
    ndis_close_for_driver(adapter);
    kernel_call_done(&call);
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
