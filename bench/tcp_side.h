/* SPDX-License-Identifier: MIT */
/*
 * Bare TCP making the exchanges of an NDK establishment: explicit bind in 49152-65535, connect, accept, request,
 * reply, one ready byte, both half-closes, close. With epoll, one thread on each side, for many at a time; with
 * blocking calls for one at a time.
 */
#ifndef BENCH_TCP_SIDE_H
#define BENCH_TCP_SIDE_H

#include <netinet/in.h>

#include "load.h"

enum {
    TCP_PRIVATE = 64,
    TCP_MESSAGE = 24 + TCP_PRIVATE, /* an MPA request or reply of revision 2 with private data */
};

struct tcp_side;

struct tcp_side *tcp_side_open(unsigned conns);
void tcp_side_listen(struct tcp_side *s, uint16_t *port);
void tcp_side_serve(struct tcp_side *s, int control); /* as ndk_side_serve */
void tcp_side_connect_to(struct tcp_side *s, uint16_t port);
/* From now on as the provider: each address that it connects from has a name meanwhile, and the request goes at once. */
void tcp_side_own(struct tcp_side *s);
extern const struct load_backend tcp_backend; /* its context the side */
void tcp_side_run(struct tcp_side *s, struct load *l);

/* One at a time, blocking; the same load's figures. */
void tcp_blocking_churn(struct load *l, uint16_t port, double seconds);
void tcp_blocking_serve(struct tcp_side *s, int control);

/* One connection for data, blocking, bound as the others are. */
int tcp_connect_blocking(uint16_t port);
int tcp_accept_blocking(struct tcp_side *s);

#endif
