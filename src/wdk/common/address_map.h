/* SPDX-License-Identifier: MIT */
/*
 * Replaces addresses that are constants in a driver's source by addresses of the host, and the reverse (see
 * openndk/wdk.h). The types are plain C, because this header is included both with the host's socket headers and with
 * Windows' headers.
 */
#ifndef WDK_ADDRESS_MAP_H
#define WDK_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_MAP_SOCKADDR = 28 }; /* the size of a sockaddr_in6, the longest address that is translated */

/* Returns true if any address is mapped. */
bool address_map_has_entries(void);
/*
 * address_map_to_host replaces a driver's address in the sockaddr of `length` bytes by the host's address.
 * address_map_to_driver does the reverse. Neither changes the family, the port, or an address that is not mapped.
 */
void address_map_to_host(void *sockaddr, size_t length);
void address_map_to_driver(void *sockaddr, size_t length);

/*
 * These two functions convert the family of a sockaddr. address_family_to_host replaces Windows' value of AF_INET6 by
 * the host's value. address_family_to_driver does the reverse. Neither changes a family other than AF_INET6.
 */
void address_family_to_host(void *sockaddr, size_t length);
void address_family_to_driver(void *sockaddr, size_t length);

#endif
