/* SPDX-License-Identifier: MIT */
/*
 * Publishes the process's adapters to ndkstat on an abstract socket, while at least one adapter is open.
 * docs/observe.md describes the protocol.
 */
#ifndef PROVIDER_STAT_SERVER_H
#define PROVIDER_STAT_SERVER_H

struct adapter;

/*
 * Publishes the adapter. Must be called at PASSIVE_LEVEL. If the thread or its socket cannot be created, other
 * processes do not see the adapter, but it works.
 */
void stat_server_add(struct adapter *a);
/*
 * Stops publishing the adapter. Must be called at PASSIVE_LEVEL. The server does not access the adapter afterwards.
 * When the last adapter has been removed, the server ends.
 */
void stat_server_remove(struct adapter *a);

#endif
