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

/* sock_diag.c: what the kernel knows of all sockets in the namespace. False too where it does not tell. */
/* Is this four-tuple connected, or connecting, in any process? */
bool sock_diag_connected(const struct addr *local, const struct addr *peer);
/* Is there a TCP socket at this local address that belongs to a process, besides the socket `own`? */
bool sock_diag_in_use(const struct addr *local, int own);

#endif
