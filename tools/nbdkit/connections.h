/* SPDX-License-Identifier: MIT */
/*
 * Ends the connections of nbdkit, because nbdkit itself ends only after its clients have closed their connections, and
 * has no function that closes them.
 */
#ifndef NBDKIT_CONNECTIONS_H
#define NBDKIT_CONNECTIONS_H

/* Stores the addresses at which this process listens. Must be called before a driver can open sockets. */
void connections_find_listeners(void);

/*
 * Ends the connections to the stored addresses. nbdkit still answers the requests that have arrived, receives no more,
 * and then closes the connections. Returns the number of connections that are still open.
 */
int connections_end(void);

#endif
