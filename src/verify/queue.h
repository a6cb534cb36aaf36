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
enum { QUEUE_POLL, QUEUE_MODERATE };                /* the calls on a completion queue that are made one at a time */

struct queue {
    struct proxy p;
    struct posted posted; /* of a queue pair or a shared receive queue */
    /* Of a queue pair or a shared receive queue: posts to each queue. Of a completion queue: QUEUE_POLL, QUEUE_MODERATE. */
    struct exclusive exclusive[QUEUE_USES];
    /* Only a queue pair uses srq, next, disconnected and closed_as. */
    struct queue *srq;
    struct queue *next[QUEUE_USES]; /* links in `pairs` of its completion queues */
    atomic_bool disconnected;
    uint64_t closed_as; /* number in the order of closes, from 1; 0: not closed; under the proxies' lock */
    /* Only a completion queue uses pairs, polls and swept. */
    struct queue *pairs[QUEUE_USES]; /* under the proxies' lock */
    atomic_uint polls;               /* polls of this queue in progress */
    _Atomic uint64_t swept;          /* queue pairs whose closed_as <= swept have left `pairs` */
};

/* Returns a proxy for a queue that is about to be created from `parent`, or NULL if out of memory. */
struct queue *queue_create(NDK_OBJECT_TYPE type, const void *dispatch, size_t depth, struct proxy *parent);

/* Inserts the queue pair into the completion queue's list for `use`. cq may be NULL. */
void queue_add_pair(struct queue *cq, struct queue *qp, int use);

/*
 * queue_poll_begin and queue_poll_end enclose a poll of the provider's completion queue and the translation of its
 * results. `closed` is the value that queue_poll_begin returned. `emptied` is true if the poll returned fewer results
 * than the consumer asked for.
 */
uint64_t queue_poll_begin(struct queue *cq);
void queue_translate_result(PVOID *qp_context, PVOID *request_context);
void queue_poll_end(struct queue *cq, uint64_t closed, bool emptied);

/* Called when the queue pair's connection has ended for good: none of its requests is outstanding any more. */
void queue_set_disconnected(struct proxy *qp);

/* Finds a posted request of p that uses the memory. Returns false if p is no open queue. Requires the proxies' lock. */
bool queue_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use);
/* Like queue_find_use, for logical addresses: see posted_find_logical_use. */
const char *queue_find_logical_use(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at);

#endif
