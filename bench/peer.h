/* SPDX-License-Identifier: MIT */
/*
 * The interface between the main program in peer.c and a peer. A peer is a library (libfabric or UCX) that the
 * benchmark compares with OpenNDK.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "link.h"
#include "load.h"

enum { PEER_PRIVATE = 64 /* bytes of private data in each direction, if the peer supports private data */ };

struct peer {
    const struct link_ops *link; /* for the tests over one connection */
    /* Server: accepts and closes connections until the other process has closed the control socket. */
    void (*serve)(int control);
    const struct load_backend *backend; /* client: opens and closes the connections of a load */
    /* Client: prepares at most `conns` connections to the server's `port`. Returns the context of the load. */
    void *(*open)(unsigned conns, uint16_t port);
    /* Client: handles events until the load `l` is over. `side` is the result of `open`. */
    void (*run)(void *side, struct load *l);
};

extern const struct peer peer;

/*
 * Returns true if it finds that the other process has closed the control socket. Checks the socket at most once in a
 * millisecond, and returns false in between.
 */
bool peer_is_over(int control);

/*
 * A queue of slot numbers. load_established and load_closed must not be called inside the backend's `open` and `close`.
 * So these functions, and the callbacks of the measured library, push the slot number. Later, peer.run pops the number
 * and calls load_established or load_closed.
 */
struct peer_queue {
    unsigned *slots;               /* a ring of `size` entries */
    unsigned pushed, popped, size; /* pushed: number of all pushes; popped: number of all pops */
};
void peer_queue_init(struct peer_queue *q, unsigned size);
void peer_queue_push(struct peer_queue *q, unsigned slot);
bool peer_queue_pop(struct peer_queue *q, unsigned *slot);

#endif
