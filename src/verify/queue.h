/* SPDX-License-Identifier: MIT */
/*
 * Implements the proxies of completion queues, shared receive queues and queue pairs. The proxy of a closed queue pair
 * stays in the lists of its completion queues until they have no more results of the queue pair.
 */
#ifndef VERIFY_QUEUE_H
#define VERIFY_QUEUE_H

#include "verify/posted.h"
#include "verify/proxy.h"

/*
 * The indexes of the two queues of a queue pair, and of its two completion queues. A shared receive queue uses only
 * QUEUE_RECEIVE.
 */
enum { QUEUE_RECEIVE, QUEUE_INITIATE, QUEUE_USES };
enum {
    QUEUE_UNLINKED,   /* the queue pair was neither connected nor accepted */
    QUEUE_CONNECTING, /* NdkConnect was called */
    QUEUE_LINKED,     /* NdkCompleteConnect or NdkAccept was called: the queue pair may be connected */
};
enum { QUEUE_POLL, QUEUE_MODERATE }; /* indexes into `exclusive` of a completion queue's struct queue */

/*
 * The limits that the consumer passed when it created a queue: number of requests, and number of SGEs of one request.
 */
struct queue_size {
    ULONG depth, sges;
};

struct messages;

struct queue {
    struct proxy p;
    struct posted posted[QUEUE_USES]; /* the requests of a queue pair or a shared receive queue */
    struct queue_size size[QUEUE_USES];
    /*
     * Reports calls that must be made one at a time. In a queue pair or shared receive queue, the index is the queue to
     * which a call posts. In a completion queue, the index is QUEUE_POLL for polls and NdkArmCq, and QUEUE_MODERATE for
     * calls that set the interrupt moderation.
     */
    struct exclusive exclusive[QUEUE_USES];
    atomic_uint depth; /* number of entries; used only for completion queues and shared receive queues */
    /* The members below are used only in a queue pair. */
    ULONG inline_size;
    struct queue *srq;
    struct messages *messages;                /* numbers of sends and receives: see messages.h; NULL if out of memory */
    _Atomic(struct messages *) peer_messages; /* the peer's `messages`; NULL: not known; set at most once */
    struct queue *cq[QUEUE_USES];             /* completion queue of each queue; an element may be NULL */
    struct queue *next[QUEUE_USES];           /* for each use, the next queue pair in the list cq[use]->pairs[use] */
    atomic_int link;                          /* QUEUE_UNLINKED, QUEUE_CONNECTING or QUEUE_LINKED; never decreases */
    /* The connector that first connected this queue pair, or NULL. Guarded by the proxies' lock. */
    const void *connected_by;
    atomic_bool disconnected;
    atomic_bool failed; /* the consumer has polled the result of a failed request */
    /* posted[QUEUE_INITIATE].lock guards stalled_place and stalled_chain. */
    uint64_t stalled_place; /* place of the newest request that was reported as stalled; 0: none */
    uint64_t stalled_chain; /* place of the newest request in the chain that was last reported as stalled; 0: none */
    /* Number of the queue pair in the order of closing, from 1; 0: not closed. Guarded by the proxies' lock. */
    uint64_t closed_as;
    /* The members below are used only in a completion queue. */
    struct queue *pairs[QUEUE_USES]; /* first queue pair of each list; guarded by the proxies' lock */
    atomic_uint polls;               /* number of polls in progress */
    _Atomic uint64_t swept;          /* queue pairs with closed_as <= this value have been removed from `pairs` */
    atomic_int arms; /* number of NdkArmCq calls minus number of notifications; may be above 1: see cq_end_arm */
    _Atomic uint64_t polled_ms; /* time of the latest poll, from posted_now_ms */
    /* Number of requests in the CQ's queue pairs, including silent ones, that may be outstanding: see posted_begin. */
    atomic_int users;
    atomic_int open_chains; /* number of open chains in the CQ's queue pairs: see posted_chain.h */
};

/*
 * Creates a proxy for a queue that is about to be created from `parent`. Returns NULL if out of memory. `sizes` has
 * QUEUE_USES elements, or is NULL for a completion queue.
 */
struct queue *queue_create(NDK_OBJECT_TYPE type, const void *dispatch, const struct queue_size *sizes,
                           struct proxy *parent);

/* Makes cq the completion queue of qp for `use`, and inserts qp into the list of cq. Does nothing if cq is NULL. */
void queue_add_pair(struct queue *cq, struct queue *qp, int use);

/*
 * queue_poll_begin must run before a poll of the provider's completion queue, and queue_poll_end after the translation
 * of its results. `closed` is the value that queue_poll_begin has returned. `emptied` is true if the poll returned
 * fewer results than the consumer asked for.
 */
uint64_t queue_poll_begin(struct queue *cq);
/*
 * Replaces the provider's contexts in a polled result by the consumer's contexts. `status` is the status of the result.
 * `routine` is the name of the routine that the consumer has called.
 */
void queue_translate_result(PVOID *qp_context, PVOID *request_context, NTSTATUS status, const char *routine);
void queue_poll_end(struct queue *cq, uint64_t closed, bool emptied);

/* Marks the queue pair as disconnected: its connection has ended for good, and none of its requests is outstanding. */
void queue_set_disconnected(struct proxy *qp);
/*
 * Stores that a connector uses qp. `link` is QUEUE_CONNECTING or QUEUE_LINKED. Does nothing if qp is already at that
 * stage or at a later one.
 */
void queue_set_link(struct queue *qp, int link);
/*
 * Marks every posted request of qp as ended. Must run after NdkFlush, which completes all requests that were posted
 * earlier.
 */
void queue_set_flushed(struct queue *qp);

/*
 * Finds a posted request of p that uses memory in [start, start + size), and describes the use in *use. Returns false
 * if there is none, or if p is no open queue. Requires the proxies' lock.
 */
bool queue_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use);
/*
 * Finds a posted request of p with a logical address in [first, first + size). The results are as for
 * posted_find_logical_use. Requires the proxies' lock.
 */
const char *queue_find_logical_use(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at);

#endif
