/* SPDX-License-Identifier: MIT */
/*
 * What stands between a driver and the NDK provider. With checks off, and without a map of addresses, it is nothing:
 * the driver gets the provider's own objects. Otherwise it gets objects of ours, one in front of each of the
 * provider's, which look after the rules of ndkpi.h: IRQL, contexts that go away while a request has them, objects
 * that are closed twice or used after their close, IRQL and locks after each callback, who made what is left.
 */
#ifndef WDK_NDK_FILTER_H
#define WDK_NDK_FILTER_H

#include <stdbool.h>

#include "wdm.h"
#include "ndkpi.h"

/* index is the driver's (ondk_wdk_map_interface). Statuses of ondk_open_adapter. */
NTSTATUS ndk_filter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out);
/* Blocks as ondk_close_adapter does. False: it was closed before, which has been reported. */
bool ndk_filter_close(NDK_ADAPTER *adapter);
/* The provider's adapter behind one that ndk_filter_open gave. */
NDK_ADAPTER *ndk_filter_real(NDK_ADAPTER *adapter);

#endif
