/* SPDX-License-Identifier: MIT */
/* Interface indexes that drivers have wired into their source, and the host's interfaces that stand in for them. */
#ifndef ONDK_WDK_INTERFACE_MAP_H
#define ONDK_WDK_INTERFACE_MAP_H

#include <stdint.h>

/* The host's index for one that a driver names: the mapped one, or the same. */
uint32_t interface_map_host(uint32_t driver_index);
/* The other way round, for what the host tells a driver. */
uint32_t interface_map_driver(uint32_t host_index);

#endif
