/* SPDX-License-Identifier: MIT */
/*
 * Publishes the process's adapters to ndkstat on an abstract socket, while at least one adapter is open.
 * docs/observe.md describes the protocol.
 */
#ifndef PROVIDER_STAT_SERVER_H
#define PROVIDER_STAT_SERVER_H

struct adapter;

/* PASSIVE_LEVEL. If the thread or its socket cannot be created, the process is not visible, but the adapter works. */
void stat_server_add(struct adapter *a);
/* PASSIVE_LEVEL. The server does not access the adapter afterwards. The last adapter's removal ends the server. */
void stat_server_remove(struct adapter *a);

#endif
