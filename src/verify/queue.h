/* SPDX-License-Identifier: MIT */
/*
 * The proxies of completion queues, shared receive queues and queue pairs. The proxy of a closed queue pair stays in
 * the lists of its completion queues until none of its results can be polled any more.
 */
#ifndef VERIFY_QUEUE_H
#define VERIFY_QUEUE_H

#include "verify/posted.h"
#include "verify/proxy.h"

enum { QUEUE_RECEIVE, QUEUE_INITIATE, QUEUE_USES }; /* what a queue pair uses a completion queue for */

struct queue {
    struct proxy p;
    struct posted posted;           /* of a queue pair or a shared receive queue */
    /* A queue pair's: */
    struct queue *srq;
    struct queue *next[QUEUE_USES]; /* in the lists of its completion queues */
    atomic_bool disconnected;
    uint64_t closed_as;             /* its place among all closed ones, from 1; 0: open; under the proxies' lock */
    /* A completion queue's: */
    struct queue *pairs[QUEUE_USES]; /* under the proxies' lock */
    atomic_uint polls;               /* in progress */
    _Atomic uint64_t swept;          /* queue pairs closed up to this one have left its lists */
};

/* Returns a proxy for a queue of this type that is about to be created from parent; NULL if out of memory. */
struct queue *queue_create(NDK_OBJECT_TYPE type, const void *dispatch, size_t depth, struct proxy *parent);

/* The queue pair uses the completion queue, which may be NULL, for `use`. */
void queue_add_pair(struct queue *cq, struct queue *qp, int use);

/*
 * Around a poll of the provider's completion queue. After the poll the results are translated, then queue_poll_end is
 * called with what queue_poll_begin returned. emptied: there were fewer results than asked for.
 */
uint64_t queue_poll_begin(struct queue *cq);
void queue_translate_result(PVOID *qp_context, PVOID *request_context);
void queue_poll_end(struct queue *cq, uint64_t closed, bool emptied);

/* The connection of a queue pair has ended for good: none of its requests is outstanding any more. */
void queue_set_disconnected(struct proxy *qp);

/* A posted request of p that uses memory; false if p is no queue, or not open. Requires the proxies' lock. */
bool queue_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use);
/* Likewise for logical addresses: see posted_find_logical_use. */
const char *queue_find_logical_use(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at);

#endif
