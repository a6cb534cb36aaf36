/* SPDX-License-Identifier: MIT */
/*
 * Addresses that a driver has wired in, and the host's that they stand for (openndk/wdk.h). Plain C types, so that
 * this needs neither the host's nor Windows' headers of sockets.
 */
#ifndef WDK_ADDRESS_MAP_H
#define WDK_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_MAP_SOCKADDR = 28 }; /* sockaddr_in6, the longest that is looked at */

/* Is any address mapped? */
bool address_map_has_entries(void);
/*
 * Exchanges the address in the sockaddr of length octets, in place: what a driver gave for the host's, or back.
 * Family, port and all else stay. Nothing happens where the address is not mapped.
 */
void address_map_to_host(void *sockaddr, size_t length);
void address_map_to_driver(void *sockaddr, size_t length);

#endif
