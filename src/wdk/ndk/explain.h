/* SPDX-License-Identifier: MIT */
/* Explains why an interface has no adapter, in plain C, because the names of net/if.h are also those of netioapi.h. */
#ifndef WDK_NDK_EXPLAIN_H
#define WDK_NDK_EXPLAIN_H

#include <stdint.h>
#include <stdio.h>

/*
 * Prints why WskOpenNdkAdapter has returned STATUS_INVALID_PARAMETER for an interface index of a driver, to which
 * host_index belongs (ondk_wdk_map_interface): it does not exist, with those that do, or it has no address.
 */
void explain_interface(uint32_t driver_index, uint32_t host_index, FILE *out);

#endif
