/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes bare TCP connections in the same steps as NDK: bind to a port in 49152-65535, connect, accept,
 * request, reply, one byte instead of the ready-to-receive message, both half-closes, close. The tcp_side functions
 * handle many connections at a time, with epoll and one thread at each end. The tcp_blocking functions handle one
 * connection at a time, with blocking calls.
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
void tcp_side_serve(struct tcp_side *s, int control); /* serves until the other process closes `control` */
void tcp_side_connect_to(struct tcp_side *s, uint16_t port);
/*
 * Makes tcp_backend do two more things that the provider does. It reserves each local port, by binding a Unix socket to
 * a name that contains the port; only one process can bind a socket to this name. And it sends the request at once,
 * before it waits in epoll.
 */
void tcp_side_own(struct tcp_side *s);
extern const struct load_backend tcp_backend; /* the load's `context` must be the tcp_side */
void tcp_side_run(struct tcp_side *s, struct load *l);

/*
 * Opens and closes one connection at a time, with blocking calls. Stores `latencies`, `done` and `ended` in the load.
 */
void tcp_blocking_churn(struct load *l, uint16_t port, double seconds);
void tcp_blocking_serve(struct tcp_side *s, int control);

/*
 * tcp_connect_blocking connects from a port in 49152-65535. tcp_accept_blocking accepts a connection. Both return the
 * blocking socket of the connection.
 */
int tcp_connect_blocking(uint16_t port);
int tcp_accept_blocking(struct tcp_side *s);

#endif
