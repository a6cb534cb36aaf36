/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the provider's own adapters for the kernel's library (src/wdk). That library shares one adapter
 * among several drivers, and wraps the adapter for each driver separately.
 */
#ifndef FRONT_OPEN_H
#define FRONT_OPEN_H

#include "base/activity.h"
#include "base/private_export.h"
#include "ndk/ndkpi.h"

/* Work like ondk_open_adapter and ondk_close_adapter, but never wrap the adapter for verification. */
NTSTATUS front_open_provider(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
    PRIVATE_EXPORT(front_open_provider);
void front_close_provider(NDK_ADAPTER *adapter) PRIVATE_EXPORT(front_close_provider);

/* Adds the sum of the adapters that this process has closed to *sum. */
void front_add_closed_activity(struct activity *sum) PRIVATE_EXPORT(front_add_closed_activity);
/* Adds what an open adapter has done to *sum, as provider_add_activity does. */
void front_add_activity(NDK_ADAPTER *adapter, struct activity *sum, bool crashed) PRIVATE_EXPORT(front_add_activity);

#endif
