/* SPDX-License-Identifier: MIT */
/* A peer that is the host's own, for what no driver can send. Apart from the rest, as the names of sockets are both
 * the host's and the driver's. */
#ifndef TESTS_WDK_WSK_PEER_H
#define TESTS_WDK_WSK_PEER_H

#include <stdbool.h>
#include <stddef.h>

/* Connected to the loopback interface's port, which is in the network's order; -1: it is not. */
int peer_connect(unsigned short port);
/* All of it, and the last octet is urgent if so wanted. */
bool peer_send(int peer, const void *data, size_t size, bool urgent);
void peer_close(int peer);

#endif
