/* SPDX-License-Identifier: MIT */
/*
 * The provider's own adapters, for the kernel surface. It lets several drivers share one adapter, and puts the layers in
 * front of the provider for each driver separately.
 */
#ifndef FRONT_OPEN_H
#define FRONT_OPEN_H

#include "base/private_export.h"
#include "ndk/ndkpi.h"

/* Like ondk_open_adapter and ondk_close_adapter, but nothing is put in front of the provider's adapter. */
NTSTATUS front_open_provider(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
    PRIVATE_EXPORT(front_open_provider);
void front_close_provider(NDK_ADAPTER *adapter) PRIVATE_EXPORT(front_close_provider);

#endif
