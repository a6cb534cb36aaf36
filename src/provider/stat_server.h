/* SPDX-License-Identifier: MIT */
/*
 * Publishes the process's adapters to ndkstat: one thread, from the first adapter's opening to the last one's close,
 * answers on an abstract socket. docs/observe.md has the protocol.
 */
#ifndef PROVIDER_STAT_SERVER_H
#define PROVIDER_STAT_SERVER_H

struct adapter;

/*
 * PASSIVE_LEVEL. Where the thread or its socket cannot be had, nobody sees the process; the adapter works all the
 * same.
 */
void stat_server_add(struct adapter *a);
/* PASSIVE_LEVEL. When it returns nothing looks at the adapter; after the last one thread and socket are gone. */
void stat_server_remove(struct adapter *a);

#endif
