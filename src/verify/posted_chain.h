/* SPDX-License-Identifier: MIT */
/*
 * Keeps the chain of an initiator queue: the requests with NDK_OP_FLAG_DEFER that were posted since the last request
 * without that flag.
 */
#ifndef VERIFY_POSTED_CHAIN_H
#define VERIFY_POSTED_CHAIN_H

#include <stdatomic.h>
#include <stdint.h>

struct post;

/*
 * The chain of one initiator queue. A post that fails ends the chain, because the consumer must not continue the chain
 * after a failure.
 */
struct posted_chain {
    atomic_uint count; /* number of requests; 0: no chain is open, and the members from `routine` on have no meaning */
    atomic_int *open;  /* counter of the open chains on one completion queue; may be NULL */
    /* The members below describe the chain's latest request. */
    const char *routine;
    const void *by;
    void *context;
    uint64_t posted_ms;
    int thread;
};

/* Adds a request to the chain. Requires the lock of the queue's struct posted, which guards the chain. */
void chain_add(struct posted_chain *chain, const struct post *post);
/* Ends the chain. Does nothing if no chain is open. May be called without the lock. */
void chain_end(struct posted_chain *chain);

#endif
