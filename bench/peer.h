/* SPDX-License-Identifier: MIT */
/* The interface between the main program in peer.c and a peer: another library (libfabric, UCX) that is measured. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "link.h"
#include "load.h"

enum { PEER_PRIVATE = 64 /* bytes of private data in each direction, if the peer supports private data */ };

struct peer {
    const struct link_ops *link;
    /* The server of many connections. Returns when the other process has closed the control socket. */
    void (*serve)(int control);
    /* The client of many connections. */
    const struct load_backend *backend;
    void *(*open)(unsigned conns, uint16_t port);
    void (*run)(void *side, struct load *l);
};

extern const struct peer peer;

/*
 * Returns true if the other process has closed the control socket. Checks at most once in a millisecond: a call within
 * a millisecond after a check returns false.
 */
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
