/* SPDX-License-Identifier: MIT */
/*
 * Keeps a record of each outstanding request. A request is outstanding from its post until the consumer has polled its
 * result. The provider receives contexts of this layer: the proxy as QPContext, and the record as RequestContext.
 * NdkGetCqResults(Ex) restores the consumer's contexts and frees the record.
 *
 * A silent request (NDK_OP_FLAG_SILENT_SUCCESS) has a record, but has a result only if it fails. Initiator requests
 * complete in the order of their posts. So a polled result also frees the records of the silent requests before it in
 * the queue.
 *
 * The record of an inline request has no buffers, because the provider copies the data during the post. A record has at
 * most posted->room SGEs. If all records are in use, a request is not recorded, and the provider receives the
 * consumer's own RequestContext. A consumer that respects the queue's depth always finds a free record, unless memory
 * was short when the records were allocated.
 */
#ifndef VERIFY_POSTED_H
#define VERIFY_POSTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <ndk/ndkpi.h>

#include "base/spin.h"
#include "verify/posted_chain.h"
#include "verify/source.h"
#include "verify/verify.h"

struct posted_chunk;

struct posted_record {
    TAILQ_ENTRY(posted_record) list; /* in the outstanding records or in the free records */
    const char *routine;             /* name of the routine that posted the request; NULL while the record is free */
    void *context;                   /* the consumer's RequestContext */
    const void *by;                  /* return address of the consumer's call */
    uint64_t place;                  /* number of the post in its queue, from 1 */
    uint64_t posted_ms;              /* time of the post: see posted_now_ms */
    uint64_t length;                 /* number of bytes in all SGEs, including SGEs that are not recorded */
    ULONG flags;                     /* the flags of the post, NDK_OP_FLAG_* */
    bool counted;                    /* the request is counted in *posted->users */
    bool done;                       /* the request was silent, and a flush, disconnect or close has ended it */
    bool reported;                   /* one of the request's buffers was reported as freed */
    struct source source;            /* checksum of the data of a send or write: see source.h */
    ULONG sges;                      /* number of recorded SGEs */
    NDK_SGE sge[]; /* logical address if the SGE has the privileged token, otherwise virtual address */
};
TAILQ_HEAD(posted_list, posted_record);

/* The records of one queue. The lock guards the members that follow it. */
struct posted {
    UINT32 privileged;          /* privileged token of the protection domain */
    ULONG room;                 /* maximum number of recorded SGEs of one request */
    atomic_int *users;          /* counter of the requests on one completion queue; may be NULL */
    atomic_uint counted_silent; /* number of this queue's silent requests that *users counts; changes under the lock */
    struct spin lock;
    struct posted_chunk *chunks;    /* list of all chunks, the newest first */
    struct posted_list outstanding; /* in the order of the posts */
    struct posted_list free;
    unsigned record_count;
    unsigned used;          /* number of records in the newest chunk that have been used so far */
    unsigned count, silent; /* number of outstanding records, and number of those that belong to silent requests */
    uint64_t posts;         /* number of posts so far */
    struct posted_chain chain;
    bool ended;   /* a flush, disconnect or close has ended every request; some failures may not be polled yet */
    bool retired; /* the queue is closed */
};

/* A post: the arguments of the consumer's call, and the values that posted_begin and posted_end set. */
struct post {
    const char *routine;
    void *context;
    const void *by;
    const NDK_SGE *sgl;
    ULONG sges;
    ULONG flags;
    const NDK_LOGICAL_ADDRESS *pages; /* the page array of an NdkFastRegister, which has no SGEs; otherwise NULL */
    ULONG page_count;
    uint64_t length;      /* number of bytes in all SGEs */
    bool is_send;         /* the request uses up a receive of the peer */
    bool is_source;       /* the request sends the data in the SGEs */
    struct source source; /* checksum of the data; set if is_source is true and the request is not inline */
    bool needs_receive;   /* the send is compared with the peer's receives: see messages.h */
    /* The members below are set by posted_begin. */
    void *passed;   /* the RequestContext to pass to the provider */
    uint64_t place; /* number of the post in its queue, from 1; 0: the request has no record */
    /*
     * The number of requests, and the number of silent requests, that were outstanding before this post. Both are 0
     * after a flush or disconnect.
     */
    unsigned before, silent_before;
    int users; /* value of *posted->users after this request was counted; 0: not counted, or the post has failed */
};

/* Initializes *posted and allocates records for a queue with room for `depth` requests of up to `sges` SGEs. */
void posted_init(struct posted *posted, UINT32 privileged_token, size_t depth, ULONG sges);
void posted_fini(struct posted *posted);
/* Allocates more records if `depth` is greater than before. */
void posted_reserve(struct posted *posted, size_t depth);

/*
 * Records a request before it is posted, counts it in *posted->users, and sets post->passed. The request must be
 * counted before the post, because the peer's answer may arrive before the post returns. Allocates nothing.
 */
void posted_begin(struct posted *posted, struct post *post);
/*
 * Handles the return of the provider's function for the post, which returned `status`. If the post has failed, frees
 * the record, because no result will come. Returns `status`.
 */
NTSTATUS posted_end(struct posted *posted, struct post *post, NTSTATUS status);
/* A copy of a completed request: its first SGEs, and the members of its record that the checks of buffers need. */
struct posted_copy {
    const char *routine;
    const void *by;
    struct source source;
    ULONG sges;
    NDK_SGE sge[SOURCE_MAX_SGES]; /* without the SGEs that have the privileged token */
};

/*
 * Copies the silent request that was posted just before a completed request, and frees the silent request's record.
 * `context` is the RequestContext that the provider has returned for the completed request. Returns false if there is
 * no such silent request, or if its buffers need no check.
 */
bool posted_copy_silent_before(struct posted *posted, void *context, struct posted_copy *copy);
/*
 * Returns true after a flush or disconnect, and after the queue's close has begun. The consumer may then free all
 * buffers.
 */
bool posted_has_ended(struct posted *posted);
/*
 * Copies a completed request. `context` is the RequestContext that the provider has returned for it. Returns false if
 * the request has no record, or if its buffers need no check.
 */
bool posted_copy_completed(struct posted *posted, void *context, struct posted_copy *copy);
/*
 * Replaces *context, a record of this queue, by the consumer's context. Frees the record, and the records of the silent
 * requests just before it. Returns false if *context is not a record of this queue.
 */
bool posted_complete(struct posted *posted, void **context);
/*
 * Marks all requests as ended by a flush, disconnect or close. Marks the silent requests as done, because a silent
 * request that has succeeded has no result. Requests that are posted afterwards are not counted in *posted->users.
 */
void posted_set_ended(struct posted *posted);
/*
 * Returns a request's place: the queue's posts are numbered from 1, and a request has the number of its post. `context`
 * is the RequestContext that the provider has returned for the request. Returns 0 if the request has no record.
 */
uint64_t posted_place(struct posted *posted, void *context);
/*
 * Subtracts the silent requests of this queue from *posted->users. Runs when the consumer has polled a receive: the
 * received message may answer these requests, so they may have completed.
 */
void posted_uncount_silent(struct posted *posted);
/* Subtracts all requests of this queue from *posted->users. Runs before the provider closes the queue. */
void posted_uncount_all(struct posted *posted);
/*
 * Marks the queue as closed. Frees all records if none is outstanding. Otherwise they are freed when the last result is
 * polled.
 */
void posted_retire(struct posted *posted);
/*
 * Frees all records of a closed queue. Requires that the completion queue has no more results of that queue. Does
 * nothing if the queue is not closed.
 */
void posted_drop(struct posted *posted);

/*
 * The number of outstanding signalled requests (requests that are not silent), and the open chain: see posted_chain.h.
 */
struct posted_rest {
    unsigned signalled;
    unsigned deferred; /* number of requests in the open chain; 0: no chain is open */
    const char *routine;
    void *context;
    int thread;
};
/* Stores in *rest what is outstanding now. After a flush or disconnect, sets all members of *rest to 0 or NULL. */
void posted_get_rest(struct posted *posted, struct posted_rest *rest);

/* Returns the time in ms on CLOCK_MONOTONIC_COARSE, which is cheap to read. */
uint64_t posted_now_ms(void);

/*
 * Calls `match` for each outstanding request that is not done, in the order of the posts, until `match` returns true.
 * Holds the lock during the calls. Returns true if `match` has returned true.
 */
typedef bool posted_match(void *context, const struct posted *posted, struct posted_record *record);
bool posted_find(struct posted *posted, posted_match *match, void *context);

/*
 * Finds an outstanding request that uses memory in [start, start + size), and describes the use in *use. Returns false
 * if there is none.
 */
bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use);
/*
 * Finds an outstanding request with a logical address in [first, first + size). Returns the name of the routine that
 * posted it, and sets *at to the address. Returns NULL if there is none.
 */
const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at);

/* Returns the number of contiguous pages at the start of `pages`. Requires that `count` is not 0. */
ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count);

#endif
