/* SPDX-License-Identifier: MIT */
/* The library's list entry of a consumer's connection, which has what both ends agreed on. */
#ifndef TOOLS_CONNECTION_ENTRY_H
#define TOOLS_CONNECTION_ENTRY_H

#include <stdbool.h>

#include "consumer/consumer.h"
#include "openndk/netstat.h"

/* Copies the entry of c->connector, which must have been established. Returns false if it is not in the list. */
bool connection_entry_find(const struct consumer *c, ondk_connection_t *entry);

#endif
