/* SPDX-License-Identifier: MIT */
/* Selects the NDK provider that drivers use: see provider.h. */
#include "wdk/ndk/provider.h"

#include "front/open.h"
#include "openndk/adapter.h"
#include "openndk/trace.h"
#include "openndk/wdk.h"

/* The functions of a foreign provider, or NULL if OpenNDK is the provider. Constant once a driver is loaded. */
static ondk_wdk_open_adapter_t foreign_open;
static ondk_wdk_close_adapter_t foreign_close;

void ondk_wdk_set_provider(ondk_wdk_open_adapter_t open, ondk_wdk_close_adapter_t close)
{
    foreign_open = open;
    foreign_close = close;
}

bool ndk_provider_is_foreign(void)
{
    return foreign_open != NULL;
}

NTSTATUS ndk_provider_open(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    NTSTATUS status;

    if (foreign_open) {
        status = foreign_open(version.Major, version.Minor, if_index, adapter);
        if (NT_SUCCESS(status))
            (void)ondk_trace_begin(*adapter, if_index);
        return status;
    }
    status = front_open_provider(version, if_index, adapter);
    if (NT_SUCCESS(status))
        ondk_use_windows_families(*adapter, 1);
    return status;
}

void ndk_provider_close(NDK_ADAPTER *adapter)
{
    if (foreign_open) {
        ondk_trace_end(adapter);
        foreign_close(adapter);
    } else {
        front_close_provider(adapter);
    }
}
