/* SPDX-License-Identifier: MIT */
/* Finds a connection in OpenNDK's list. The entry has what both ends agreed on, for example whether CRC is used. */
#ifndef TOOLS_CONNECTION_ENTRY_H
#define TOOLS_CONNECTION_ENTRY_H

#include <stdbool.h>

#include "consumer/consumer.h"
#include "openndk/netstat.h"

/*
 * Copies the entry of c->connector, which must have been established. Returns false if the connection is not listed,
 * or if the provider is not OpenNDK.
 */
bool connection_entry_find(const struct consumer *c, ondk_connection_t *entry);

#endif
