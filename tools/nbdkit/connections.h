/* SPDX-License-Identifier: MIT */
/*
 * The connections of nbdkit. nbdkit ends after its clients have closed their connections, and has no call that closes
 * them. These functions do it.
 */
#ifndef NBDKIT_CONNECTIONS_H
#define NBDKIT_CONNECTIONS_H

/* Stores the addresses at which this process listens. Must be called before a driver can have sockets. */
void connections_find_listeners(void);

/*
 * Ends the connections to these addresses: nbdkit answers the requests that have arrived, receives no more, and closes
 * the connections. Returns how many are still open.
 */
int connections_end(void);

#endif
