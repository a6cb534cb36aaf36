/* SPDX-License-Identifier: MIT */
/*
 * The NDK provider that drivers use: OpenNDK's, or a foreign one that ondk_wdk_set_provider has set. The invariant: no
 * adapter or object of a foreign provider is passed to a function of include/openndk.
 */
#ifndef WDK_NDK_PROVIDER_H
#define WDK_NDK_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"
#include "ndkpi.h"

/*
 * Returns true if the provider is foreign. A foreign provider uses the host's value of AF_INET6 instead of Windows'
 * value. Therefore drivers must use the proxies of the verify layer, which converts addresses (verify_host.c).
 */
bool ndk_provider_is_foreign(void);

/* Opens an adapter of the host's interface `if_index`. Returns the provider's status. */
NTSTATUS ndk_provider_open(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
/* Closes an adapter that ndk_provider_open has opened. May block until all its objects are closed. */
void ndk_provider_close(NDK_ADAPTER *adapter);

#endif
