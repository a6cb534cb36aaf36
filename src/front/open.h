/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the provider's own adapters for libopenndk-wdk, the library with the kernel surface (src/wdk). That
 * library shares one adapter among several drivers, and wraps the adapter for each driver separately.
 */
#ifndef FRONT_OPEN_H
#define FRONT_OPEN_H

#include "base/activity.h"
#include "base/private_export.h"
#include "ndk/ndkpi.h"

/* These functions work like ondk_open_adapter and ondk_close_adapter, but never wrap the adapter for verification. */
NTSTATUS front_open_provider(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
    PRIVATE_EXPORT(front_open_provider);
void front_close_provider(NDK_ADAPTER *adapter) PRIVATE_EXPORT(front_close_provider);

/* Adds to *sum the counts of all adapters that this process has closed. */
void front_add_closed_activity(struct activity *sum) PRIVATE_EXPORT(front_add_closed_activity);
/* Adds to *sum the counts of an open adapter, as provider_add_activity does. */
void front_add_activity(NDK_ADAPTER *adapter, struct activity *sum, bool crashed) PRIVATE_EXPORT(front_add_activity);

#endif
