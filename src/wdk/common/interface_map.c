/* SPDX-License-Identifier: MIT */
/*
 * Maps interface indexes: see interface_map.h. The list needs no lock, because it is complete before a driver is
 * loaded.
 */
#include <stdbool.h>

#include "openndk/wdk.h"
#include "wdk/common/interface_map.h"

enum { MAX_MAPPED = 64 };

static struct {
    uint32_t driver, host;
} mapped[MAX_MAPPED];
static uint32_t count;

bool ondk_wdk_map_interface(uint32_t driver_index, uint32_t host_index)
{
    if (count == MAX_MAPPED || !driver_index || !host_index)
        return false;
    mapped[count].driver = driver_index;
    mapped[count++].host = host_index;
    return true;
}

uint32_t interface_map_host(uint32_t driver_index)
{
    for (uint32_t i = 0; i < count; i++)
        if (mapped[i].driver == driver_index)
            return mapped[i].host;
    return driver_index;
}

uint32_t interface_map_driver(uint32_t host_index)
{
    for (uint32_t i = 0; i < count; i++)
        if (mapped[i].host == host_index)
            return mapped[i].driver;
    return host_index;
}
