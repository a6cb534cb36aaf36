/* SPDX-License-Identifier: MIT */
/*
 * The proxies of completion queues, shared receive queues and queue pairs. The proxy of a closed queue pair stays in
 * the lists of its completion queues until none of its results can be polled any more.
 */
#ifndef VERIFY_QUEUE_H
#define VERIFY_QUEUE_H

#include "verify/posted.h"
#include "verify/proxy.h"

/*
 * The indexes of a queue pair's queues, and of its completion queues. A shared receive queue has only QUEUE_RECEIVE.
 */
enum { QUEUE_RECEIVE, QUEUE_INITIATE, QUEUE_USES };
enum {
    QUEUE_UNLINKED,   /* neither connected nor accepted */
    QUEUE_CONNECTING, /* NdkConnect was called */
    QUEUE_LINKED,     /* NdkCompleteConnect or NdkAccept was called: the queue pair may be connected */
};
enum { QUEUE_POLL, QUEUE_MODERATE }; /* the calls on a completion queue that are made one at a time */

/* The limits that a consumer gave when it created a queue. */
struct queue_size {
    ULONG depth, sges;
};

struct messages;

struct queue {
    struct proxy p;
    struct posted posted[QUEUE_USES]; /* of a queue pair or a shared receive queue */
    struct queue_size size[QUEUE_USES];
    /*
     * Checks that the consumer makes calls of one kind one at a time. In a queue pair or shared receive queue: posts
     * to each queue. In a completion queue: polls (QUEUE_POLL), and calls that set the moderation (QUEUE_MODERATE).
     */
    struct exclusive exclusive[QUEUE_USES];
    atomic_uint depth; /* used only for a completion queue or a shared receive queue: their depth can change */
    /* Only a queue pair uses these. */
    ULONG inline_size;
    struct queue *srq;
    struct messages *messages;                /* see messages.h; NULL if out of memory */
    _Atomic(struct messages *) peer_messages; /* NULL if the peer is not known; set at most once */
    struct queue *cq[QUEUE_USES];             /* its completion queues; an element may be NULL */
    struct queue *next[QUEUE_USES];           /* for each use, the next queue pair in cq[use]'s list pairs[use] */
    atomic_int link;                          /* QUEUE_UNLINKED, QUEUE_CONNECTING or QUEUE_LINKED; never decreases */
    const void *connected_by; /* the first connector that established a connection, or NULL; under the proxies' lock */
    atomic_bool disconnected;
    atomic_bool failed;     /* the consumer has polled the result of a failed request */
    uint64_t stalled_place; /* stalls of requests up to this place are reported; under posted[QUEUE_INITIATE].lock */
    uint64_t stalled_chain; /* the place of the latest request in the last reported chain; under the same lock */
    uint64_t closed_as;     /* number in the order of closes, from 1; 0: not closed; under the proxies' lock */
    /* Only a completion queue uses these. */
    struct queue *pairs[QUEUE_USES]; /* under the proxies' lock */
    atomic_uint polls;               /* polls of this queue in progress */
    _Atomic uint64_t swept;          /* queue pairs whose closed_as <= swept have left `pairs` */
    atomic_int arms;                 /* calls of NdkArmCq minus notifications; may be more than 1: see cq_end_arm */
    _Atomic uint64_t polled_ms;      /* time of the latest poll: see posted_now_ms */
    atomic_int users;                /* requests of its queue pairs, also silent ones, that no result has retired */
    atomic_int open_chains;          /* of its queue pairs: see posted_chain.h */
};

/*
 * Returns a proxy for a queue that is about to be created from `parent`, or NULL if out of memory. `sizes` has
 * QUEUE_USES elements. It is NULL for a completion queue.
 */
struct queue *queue_create(NDK_OBJECT_TYPE type, const void *dispatch, const struct queue_size *sizes,
                           struct proxy *parent);

/* Sets the queue pair's completion queue for `use`, and inserts the queue pair into cq's list. cq may be NULL. */
void queue_add_pair(struct queue *cq, struct queue *qp, int use);

/*
 * queue_poll_begin and queue_poll_end enclose a poll of the provider's completion queue and the translation of its
 * results. `closed` is the value that queue_poll_begin returned. `emptied` is true if the poll returned fewer results
 * than the consumer asked for.
 */
uint64_t queue_poll_begin(struct queue *cq);
/*
 * Replaces the provider's contexts in a polled result by the consumer's contexts. `status` is the status of the
 * result. `routine` is the name of the routine that the consumer has called.
 */
void queue_translate_result(PVOID *qp_context, PVOID *request_context, NTSTATUS status, const char *routine);
void queue_poll_end(struct queue *cq, uint64_t closed, bool emptied);

/* Called when the queue pair's connection has ended for good: none of its requests is outstanding any more. */
void queue_set_disconnected(struct proxy *qp);
/* Called when a connector uses the queue pair. `link` is QUEUE_CONNECTING or QUEUE_LINKED. */
void queue_set_link(struct queue *qp, int link);
/* Called after NdkFlush: every request that was posted before has completed. */
void queue_set_flushed(struct queue *qp);

/* Finds a posted request of p that uses the memory. Returns false if p is no open queue. Requires the proxies' lock. */
bool queue_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use);
/* Like queue_find_use, for logical addresses: see posted_find_logical_use. */
const char *queue_find_logical_use(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at);

#endif
