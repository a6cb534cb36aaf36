/* SPDX-License-Identifier: MIT */
/*
 * Publishes the process's adapters to ndkstat on an abstract socket, from the first adapter's opening to the last one's
 * close. docs/observe.md has the protocol.
 */
#ifndef PROVIDER_STAT_SERVER_H
#define PROVIDER_STAT_SERVER_H

struct adapter;

/* PASSIVE_LEVEL. If the thread or its socket cannot be created, the process is not visible, but the adapter works. */
void stat_server_add(struct adapter *a);
/* PASSIVE_LEVEL. After this nothing accesses the adapter. After the last adapter, thread and socket have ended. */
void stat_server_remove(struct adapter *a);

#endif
