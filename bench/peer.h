/* SPDX-License-Identifier: MIT */
/* What a program of a peer (libfabric, UCX) consists of, for peer.c to run. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "link.h"
#include "load.h"

enum { PEER_PRIVATE = 64 /* bytes of private data in each direction, where the peer has any */ };

struct peer {
    const struct link_ops *link;
    /* Many connections: the server until the control socket is closed, the client as a load's backend. */
    void (*serve)(int control);
    const struct load_backend *backend;
    void *(*open)(unsigned conns, uint16_t port);
    void (*run)(void *side, struct load *l);
};

extern const struct peer peer;

/* For peer.serve: whether the other process has gone. Looks at most once in a millisecond. */
bool peer_over(int control);

/* Slots that have come to a step inside a call that must not go on to the next one. */
struct peer_queue {
    unsigned *slots;
    unsigned put, taken, size;
};
void peer_queue_init(struct peer_queue *q, unsigned size);
void peer_queue_put(struct peer_queue *q, unsigned slot);
bool peer_queue_take(struct peer_queue *q, unsigned *slot);

#endif
