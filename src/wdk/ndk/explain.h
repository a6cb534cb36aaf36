/* SPDX-License-Identifier: MIT */
/* Explains why an interface has no adapter. Uses only plain C types, because net/if.h and netioapi.h share names. */
#ifndef WDK_NDK_EXPLAIN_H
#define WDK_NDK_EXPLAIN_H

#include <stdint.h>
#include <stdio.h>

/*
 * Prints why WskOpenNdkAdapter has returned STATUS_INVALID_PARAMETER for driver_index, which is mapped to host_index
 * (ondk_wdk_map_interface). Either the interface has no address, or the interface does not exist. If the interface does
 * not exist, also lists the interfaces that exist.
 */
void explain_interface(uint32_t driver_index, uint32_t host_index, FILE *out);

#endif
