/* SPDX-License-Identifier: MIT */
/* Finds the local address for a connection, and explains why an address cannot be used. */
#ifndef TOOLS_LOCAL_ADDRESS_H
#define TOOLS_LOCAL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "endpoint.h"
#include "ndk/ndkpi.h"

/*
 * Writes to `text` why the address cannot be used. Returns false and writes nothing if no reason is found. Finds
 * reasons only for STATUS_INVALID_ADDRESS and STATUS_SHARING_VIOLATION. if_index is the adapter's interface, or 0 if
 * the tool has found no interface.
 */
bool local_address_explain(NTSTATUS status, const struct sockaddr_storage *a, uint32_t if_index, char *text,
                           size_t size);
/*
 * Finds a client's own address for a connection to `server`. If `given` contains addresses, uses the first one of the
 * server's family. Otherwise uses the address of the route to the server. If there is no such address, writes the
 * reason to `why` and returns false. `option` is the name of the option that sets `given`.
 */
bool local_address_for_server(const struct endpoint *given, const struct sockaddr_storage *server, const char *option,
                              struct sockaddr_storage *own, char *why, size_t size);
/*
 * Returns the index of the interface that has the address. If there is none, writes the reason to `why` and returns 0.
 */
uint32_t local_address_interface(const struct sockaddr_storage *own, char *why, size_t size);
/*
 * Returns the first address in `given` that an interface of this machine has. If there is none, returns the first
 * address.
 */
const struct sockaddr_storage *local_address_first(const struct endpoint *given);

#endif
