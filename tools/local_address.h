/* SPDX-License-Identifier: MIT */
/* Why a local address cannot be used. */
#ifndef TOOLS_LOCAL_ADDRESS_H
#define TOOLS_LOCAL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ndk/ndkpi.h"

/*
 * Writes to `text` why the address cannot be used. Returns false and writes nothing if no cause is found. Causes are
 * known for STATUS_INVALID_ADDRESS and STATUS_SHARING_VIOLATION. if_index is the adapter's interface, or 0 if the tool
 * found no interface.
 */
bool local_address_explain(NTSTATUS status, const struct sockaddr_storage *a, uint32_t if_index, char *text,
                           size_t size);
/* Returns whether the address is an IPv6 link-local address without a zone. */
bool local_address_needs_zone(const struct sockaddr_storage *a);

#endif
