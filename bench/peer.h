/* SPDX-License-Identifier: MIT */
/* The interface between a peer (libfabric, UCX) and the main program in peer.c. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "link.h"
#include "load.h"

enum { PEER_PRIVATE = 64 /* bytes of private data in each direction, if the peer supports private data */ };

struct peer {
    const struct link_ops *link;
    /* For many connections. `serve` runs the server until the control socket is closed; the client uses the others. */
    void (*serve)(int control);
    const struct load_backend *backend;
    void *(*open)(unsigned conns, uint16_t port);
    void (*run)(void *side, struct load *l);
};

extern const struct peer peer;

/* Returns whether the other process has closed the control socket. Checks at most once in a millisecond. */
bool peer_is_over(int control);

/* A queue of slots, for callbacks that must not call the load's functions. */
struct peer_queue {
    unsigned *slots;
    unsigned pushed, popped, size;
};
void peer_queue_init(struct peer_queue *q, unsigned size);
void peer_queue_push(struct peer_queue *q, unsigned slot);
bool peer_queue_pop(struct peer_queue *q, unsigned *slot);

#endif
