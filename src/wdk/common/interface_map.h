/* SPDX-License-Identifier: MIT */
/* Maps the interface indexes that are constants in drivers' code to the host's indexes (openndk/wdk.h). */
#ifndef ONDK_WDK_INTERFACE_MAP_H
#define ONDK_WDK_INTERFACE_MAP_H

#include <stdint.h>

/* Returns the host's index for a driver's index. An index that is not mapped is returned unchanged. */
uint32_t interface_map_host(uint32_t driver_index);
/* Returns the driver's index for a host's index. An index that is not mapped is returned unchanged. */
uint32_t interface_map_driver(uint32_t host_index);

#endif
