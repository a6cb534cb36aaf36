/* SPDX-License-Identifier: MIT */
/* A provider without settings, whose adapter reports another technology than iWARP and no optional capability. */
#include "contract/modules/openndk.h"
#include "ndkconform/provider.h"

static openndk_query_info *real;

static NTSTATUS query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NTSTATUS status = real(adapter, info, size);

    if (status == STATUS_SUCCESS) {
        info->RdmaTechnology = NdkRoCEv2;
        info->AdapterFlags = NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED;
        info->FRMRPageCount = info->MaxSrqDepth = 0;
        info->MaxWindowSize = 0;
    }
    return status;
}

static NTSTATUS open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return openndk_open_with(query_info, &real, version, if_index, adapter);
}

const struct ndkconform_provider *ndkconform_provider(void)
{
    static struct ndkconform_provider p;

    p = *openndk_provider();
    p.name = "narrow";
    p.open_adapter = open_adapter;
    p.set = NULL;
    return &p;
}
