/* SPDX-License-Identifier: MIT */
/* Inside the kernel's backend: what net_epoll.c, reservation.c and sock_diag.c know of each other. */
#ifndef ENGINE_NET_INTERNAL_H
#define ENGINE_NET_INTERNAL_H

#include <stdbool.h>

#include "base/addr.h"
#include "engine/net.h"

/* reservation.c: errno values as net_ops.reserve documents them. */
int reservation_take(struct net *net, struct addr *local, const struct addr *peer, enum net_use use,
                     struct net_reservation **out);
void reservation_ref(struct net_reservation *r);
void reservation_unref(struct net_reservation *r);
const struct addr *reservation_address(const struct net_reservation *r);
/* A TCP socket, non-blocking, bound to the address; the caller's to close. 0 or errno. */
int reservation_socket(struct net_reservation *r, int *fd);

/* sock_diag.c: what the kernel knows of the connections of all processes in the namespace. */
enum sock_diag {
    SOCK_DIAG_NOTHING,
    SOCK_DIAG_REMAINS, /* of closed connections only (or the kernel does not tell) */
    SOCK_DIAG_LIVING,
};
/* The TCP connections at this local address. */
enum sock_diag sock_diag_at(const struct addr *local);
/* Is this four-tuple connected, or connecting? False where the kernel does not tell. */
bool sock_diag_connected(const struct addr *local, const struct addr *peer);

#endif
