/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adapters for drivers. With checks off, no address mapped and OpenNDK as the provider, the driver
 * receives the provider's own objects. Otherwise the driver receives proxies of the verify layer (src/verify).
 */
#ifndef WDK_NDK_OPEN_H
#define WDK_NDK_OPEN_H

#include <stdbool.h>

#include "wdm.h"
#include "ndkpi.h"

/*
 * Passes an adapter of the provider, which the caller has opened, to the driver: *out is the adapter or its proxy.
 * `routine` is the driver's call. Returns STATUS_INSUFFICIENT_RESOURCES if out of memory; the caller keeps the provider's
 * adapter.
 */
NTSTATUS ndk_adapter_give(NDK_ADAPTER *provider, const char *routine, NDK_ADAPTER **out);

/* `index` is the driver's interface index (ondk_wdk_map_interface). Returns the statuses of ondk_open_adapter. */
NTSTATUS ndk_adapter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out);
/*
 * Checks the IRQL of `routine`, which closes the adapter. In a callback of the adapter, the close itself is reported
 * instead: see verify_close.
 */
void ndk_adapter_check_close_irql(const char *routine, const NDK_ADAPTER *adapter);
/*
 * Blocks as ondk_close_adapter does. If the adapter is not open, or if the thread is in a callback of the adapter, reports
 * this, closes nothing and returns false.
 */
bool ndk_adapter_close(NDK_ADAPTER *adapter);

#endif
