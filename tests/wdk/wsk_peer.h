/* SPDX-License-Identifier: MIT */
/*
 * A peer with a host socket, for data that no driver can send. In a file of its own, because host and driver use the
 * same names for sockets.
 */
#ifndef TESTS_WDK_WSK_PEER_H
#define TESTS_WDK_WSK_PEER_H

#include <stdbool.h>
#include <stddef.h>

/* Connects to a port (network order) of the loopback interface. Returns -1 after a failure. */
int peer_connect(unsigned short port);
/* Sends all bytes; the last one is urgent if requested. */
bool peer_send(int peer, const void *data, size_t size, bool urgent);
void peer_close(int peer);

#endif
