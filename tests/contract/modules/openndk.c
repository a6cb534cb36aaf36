/* SPDX-License-Identifier: MIT */
/* Opens an OpenNDK adapter whose NdkQueryAdapterInfo is replaced: see openndk.h. */
#include "contract/modules/openndk.h"

NTSTATUS openndk_open_with(openndk_query_info *query, openndk_query_info **real, NDK_VERSION version, uint32_t if_index,
                           NDK_ADAPTER **adapter)
{
    static NDK_ADAPTER_DISPATCH table;
    NTSTATUS status = openndk_provider()->open_adapter(version, if_index, adapter);

    if (status != STATUS_SUCCESS)
        return status;
    table = *(*adapter)->Dispatch;
    *real = table.NdkQueryAdapterInfo;
    table.NdkQueryAdapterInfo = query;
    (*adapter)->Dispatch = &table;
    return status;
}
