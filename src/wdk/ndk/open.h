/* SPDX-License-Identifier: MIT */
/*
 * How a driver opens and closes an adapter. With checks off and no address mapped the driver gets the provider's own
 * objects. Otherwise it gets those of the verify layer (src/verify).
 */
#ifndef WDK_NDK_OPEN_H
#define WDK_NDK_OPEN_H

#include <stdbool.h>

#include "wdm.h"
#include "ndkpi.h"

/* index is the driver's (ondk_wdk_map_interface). Statuses of ondk_open_adapter. */
NTSTATUS ndk_adapter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out);
/* Blocks as ondk_close_adapter does. Returns false if the adapter is not open, which is reported. */
bool ndk_adapter_close(NDK_ADAPTER *adapter);

#endif
