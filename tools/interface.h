/* SPDX-License-Identifier: MIT */
/* The network interfaces of this machine, whose adapters the tools open. */
#ifndef TOOLS_INTERFACE_H
#define TOOLS_INTERFACE_H

#include <stdint.h>
#include <sys/socket.h>

#include "openndk/adapter.h"

/* Returns an array of all interfaces that have an address, or NULL if out of memory. The caller frees the array. */
ondk_adapter_entry_t *interface_list(uint32_t *count);
/* Returns the interface that owns an address, or 0. The loopback interface owns all of 127.0.0.0/8. */
uint32_t interface_of_address(const struct sockaddr_storage *a);
/* Parses an interface's index or name. Returns NULL, or what is wrong. */
const char *interface_parse(const char *text, uint32_t *if_index);

#endif
