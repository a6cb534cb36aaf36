/* SPDX-License-Identifier: MIT */
/* The provider of provider/openndk.c, named openndk_provider here, for modules that change its behaviour. */
#ifndef TESTS_CONTRACT_MODULES_OPENNDK_H
#define TESTS_CONTRACT_MODULES_OPENNDK_H

#include "ndkconform/provider.h"

const struct ndkconform_provider *openndk_provider(void);

typedef NTSTATUS openndk_query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size);
/* Opens an adapter whose NdkQueryAdapterInfo is `query`; *real receives the original. One adapter at a time. */
NTSTATUS openndk_open_with(openndk_query_info *query, openndk_query_info **real, NDK_VERSION version, uint32_t if_index,
                           NDK_ADAPTER **adapter);

#endif
