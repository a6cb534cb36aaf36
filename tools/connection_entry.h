/* SPDX-License-Identifier: MIT */
/*
 * Finds a connection in OpenNDK's list of connections. The entry contains the properties on which both ends have
 * agreed, for example whether CRC is used.
 */
#ifndef TOOLS_CONNECTION_ENTRY_H
#define TOOLS_CONNECTION_ENTRY_H

#include <stdbool.h>

#include "consumer/consumer.h"
#include "openndk/netstat.h"

/*
 * Sets *entry to the entry of c->connector's connection. Requires that the connection was established. Returns false if
 * the list does not contain the connection, or if the provider is not OpenNDK.
 */
bool connection_entry_find(const struct consumer *c, ondk_connection_t *entry);

#endif
