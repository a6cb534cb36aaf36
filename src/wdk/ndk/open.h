/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adapters for drivers. With checks off and no address mapped, the driver receives the provider's own
 * objects. Otherwise the driver receives proxies of the verify layer (src/verify).
 */
#ifndef WDK_NDK_OPEN_H
#define WDK_NDK_OPEN_H

#include <stdbool.h>

#include "wdm.h"
#include "ndkpi.h"

/* `index` is the driver's interface index (ondk_wdk_map_interface). Returns the statuses of ondk_open_adapter. */
NTSTATUS ndk_adapter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out);
/* Blocks as ondk_close_adapter does. If the adapter is not open, reports this and returns false. */
bool ndk_adapter_close(NDK_ADAPTER *adapter);

#endif
