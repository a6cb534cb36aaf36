/* SPDX-License-Identifier: MIT */
/*
 * Which posted requests are outstanding. The provider is given contexts of ours: the queue pair's is its proxy, a
 * request's is its record. NdkGetCqResults(Ex) puts the driver's back and ends the record. A request with
 * NDK_OP_FLAG_SILENT_SUCCESS is not recorded, as nothing tells when it has succeeded; nor is one that finds no record
 * free. Both go with the driver's own context, which is no record and so comes back as it is.
 */
#ifndef WDK_NDK_FILTER_POSTS_H
#define WDK_NDK_FILTER_POSTS_H

#include "verify/proxy.h"

enum { POST_SGES = 4 }; /* of a request, that are looked after */

struct post;
struct post_chunk;

struct posts {
    struct spin lock;
    struct post_chunk *chunks; /* the newest first */
    struct post *free;
    unsigned count, used, outstanding; /* records; ever taken of the newest chunk's; posted */
    bool retired;
    UINT32 privileged;         /* the token whose addresses are logical ones */
};

/* A completion queue, a shared receive queue or a queue pair. */
struct queue {
    struct proxy p;
    struct posts posts;    /* but for a completion queue */
    struct queue *srq;     /* a pair's */
    struct queue *next[2]; /* a pair's place in the lists of its receive and of its initiator queue */
    atomic_bool over;      /* a pair's: disconnected */
    uint64_t ended;        /* a pair's: closed as the so-manieth of all; 0: it is not; under the lock of proxies */
    /* A completion queue's: */
    struct queue *pairs[2]; /* that receive into it, that initiate into it; under the lock of proxies */
    atomic_uint polls;      /* under way */
    _Atomic uint64_t swept; /* pairs up to this one are in its lists no more */
};

struct queue *queue_make(NDK_OBJECT_TYPE type, const void *dispatch, size_t depth, struct proxy *parent);

/*
 * A pair's proxy stays in its queues' lists as long as a result of it may be polled. Around a poll, whose results have
 * been translated; emptied: there were fewer than asked for.
 */
void queue_join(struct queue *cq, struct queue *qp, int which);
uint64_t queue_poll_begin(struct queue *cq);
void queue_poll_end(struct queue *cq, uint64_t ended, bool emptied);

/* The queue is to be as deep as this; it has records for it then, if there is memory. */
void posts_grow(struct posts *posts, size_t depth);

/* What to post with: the record, or, where there is none, the driver's context. */
void *posts_take(struct posts *posts, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges, ULONG flags);
/* How many of the pages, from the first on, follow one another. */
ULONG posts_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count);
/* The pages of a fast registration as SGEs of the privileged token, as far as they are looked after; how many. */
ULONG posts_page_sges(const struct posts *posts, const NDK_LOGICAL_ADDRESS *pages, ULONG count, NDK_SGE *sges);
/* What the provider's post with it returned: handed on. A request that was not posted is not outstanding. */
NTSTATUS posts_answer(struct posts *posts, void *context, NTSTATUS status);
/* With a record: true, and *context is the driver's. Anything else: false. */
bool posts_give_back(struct posts *posts, void **context);
/* The queue is closed: the records go with the last that is still to come back. */
void posts_retire(struct posts *posts);

/* The routine that posted a request of an open queue that uses logical addresses inside; NULL. Lock of proxies. */
const char *posts_find_logical(struct proxy *queue, uint64_t first, uint64_t size, uint64_t *at);

#endif
