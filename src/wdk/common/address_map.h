/* SPDX-License-Identifier: MIT */
/*
 * Addresses that a driver has in its source, and the host's that replace them (openndk/wdk.h). The types are plain C,
 * so that files with the host's socket headers and files with Windows' can include this.
 */
#ifndef WDK_ADDRESS_MAP_H
#define WDK_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_MAP_SOCKADDR = 28 }; /* bytes of sockaddr_in6, the longest that is read */

/* Returns true if any address is mapped. */
bool address_map_has_entries(void);
/*
 * Replace a driver's address in the sockaddr of `length` bytes by the host's, or the host's by the driver's. The family
 * and the port stay. They do nothing if the address is not mapped.
 */
void address_map_to_host(void *sockaddr, size_t length);
void address_map_to_driver(void *sockaddr, size_t length);

#endif
