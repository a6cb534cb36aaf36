/* SPDX-License-Identifier: MIT */
/* Finds the network interfaces of this machine. The tools open the adapters of these interfaces. */
#ifndef TOOLS_INTERFACE_H
#define TOOLS_INTERFACE_H

#include <stdint.h>
#include <sys/socket.h>

#include "openndk/adapter.h"

/*
 * Returns an array of all interfaces that have an address, and sets *count. Returns NULL if out of memory. The caller
 * must free the array.
 */
ondk_adapter_entry_t *interface_list(uint32_t *count);
/*
 * Returns the index of the interface that has the address, or 0. The loopback interface has all addresses in
 * 127.0.0.0/8.
 */
uint32_t interface_of_address(const struct sockaddr_storage *a);
/* Parses an interface's index or name. Returns NULL, or a text that describes the mistake. */
const char *interface_parse(const char *text, uint32_t *if_index);

#endif
