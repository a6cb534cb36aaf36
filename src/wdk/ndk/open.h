/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adapters for drivers. The driver receives the provider's own objects only if checks are off, no
 * address is mapped, the provider is OpenNDK, and the driver may send to other machines (outside.h). Otherwise the
 * driver receives proxies of the verify layer (src/verify).
 */
#ifndef WDK_NDK_OPEN_H
#define WDK_NDK_OPEN_H

#include <stdbool.h>

#include "wdm.h"
#include "ndkpi.h"

/*
 * Passes the provider's adapter, which the caller has opened, to the driver. Sets *out to the adapter or to its proxy.
 * `routine` is the name of the function that the driver has called, for reports. If out of memory, returns
 * STATUS_INSUFFICIENT_RESOURCES, and the caller keeps the provider's adapter.
 */
NTSTATUS ndk_adapter_give(NDK_ADAPTER *provider, const char *routine, NDK_ADAPTER **out);

/*
 * Opens an adapter for the driver. `index` is the driver's interface index (ondk_wdk_map_interface). Returns the same
 * statuses as ondk_open_adapter, or those of the provider that ondk_wdk_set_provider has set.
 */
NTSTATUS ndk_adapter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out);
/*
 * Checks the IRQL before the adapter is closed, and reports an IRQL that is too high. `routine` is the name of the
 * function that the driver has called. Does nothing in a callback of the adapter, because then verify_close reports the
 * call.
 */
void ndk_adapter_check_close_irql(const char *routine, const NDK_ADAPTER *adapter);
/*
 * Closes the adapter, and blocks as ondk_close_adapter does. If the adapter is not open, or the thread is in a callback
 * of the adapter, closes nothing, reports the call while checks are on, and returns false. Returns true if the call has
 * ended the driver's use of the adapter, even if verify_close has given up and left it open.
 */
bool ndk_adapter_close(NDK_ADAPTER *adapter);

#endif
