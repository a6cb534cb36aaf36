/* SPDX-License-Identifier: MIT */
/*
 * A chain: the requests with NDK_OP_FLAG_DEFER that were posted to an initiator queue since the last request without
 * that flag.
 */
#ifndef VERIFY_POSTED_CHAIN_H
#define VERIFY_POSTED_CHAIN_H

#include <stdatomic.h>
#include <stdint.h>

struct post;

/* A post that fails ends the chain, because the consumer must not continue the chain after a failure. */
struct posted_chain {
    atomic_uint count; /* of requests; 0: no chain is open, and the members from `routine` on have no meaning */
    atomic_int *open;  /* counts the open chains of all queues that share a completion queue; may be NULL */
    /* The latest request: */
    const char *routine;
    const void *by;
    void *context;
    uint64_t posted_ms;
    int thread;
};

/* Adds a request to the chain. Requires the lock of the posted requests, which guards the chain. */
void chain_add(struct posted_chain *chain, const struct post *post);
/* Ends the chain. May be called without the lock. */
void chain_end(struct posted_chain *chain);

#endif
