/* SPDX-License-Identifier: MIT */
/*
 * Records of outstanding requests: posted requests whose result the consumer has not polled. The provider receives
 * contexts of this layer: the proxy as QPContext, and the record as RequestContext. NdkGetCqResults(Ex) restores the
 * consumer's contexts and retires the record.
 *
 * A silent request (NDK_OP_FLAG_SILENT_SUCCESS) has a record, but a result only if it fails. Initiator requests
 * complete in the order of their posts. So a polled result also retires the silent requests that were posted to the
 * queue before.
 *
 * The record of an inline request has no buffers, because the provider copies them during the post. A record has at
 * most posted->room SGEs. If all records are in use, a request is not recorded, and the provider receives the
 * consumer's own RequestContext. If the consumer respects the queue's depth, all records are in use only if memory was
 * short when they were allocated.
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
    TAILQ_ENTRY(posted_record) list; /* in the outstanding records, or in the free records */
    const char *routine;             /* NULL while the record is free */
    void *context;                   /* the consumer's RequestContext */
    const void *by;                  /* return address of the consumer's call */
    uint64_t place;                  /* number of the post in its queue, from 1 */
    uint64_t posted_ms;              /* time of the post: see posted_now_ms */
    uint64_t length;                 /* bytes of all SGEs, also of those that are not recorded */
    ULONG flags;                     /* NDK_OP_FLAG_ */
    bool counted;                    /* the request is counted in *posted->users */
    bool done;                       /* the request was silent and has ended; it has a result only if it failed */
    bool reported;                   /* a buffer was reported as freed */
    struct source source;            /* of a send or write */
    ULONG sges;                      /* the number of recorded SGEs */
    NDK_SGE sge[];                   /* with the privileged token, the SGE has a logical address */
};
TAILQ_HEAD(posted_list, posted_record);

/* The records of one queue. The lock guards the members that follow it. */
struct posted {
    UINT32 privileged;          /* the privileged token */
    ULONG room;                 /* how many SGEs of a request are recorded */
    atomic_int *users;          /* counts the requests of all queues that share a completion queue; may be NULL */
    atomic_uint counted_silent; /* how many of *users are silent requests of this queue; changes under the lock */
    struct spin lock;
    struct posted_chunk *chunks;    /* the newest first */
    struct posted_list outstanding; /* in the order of their posts */
    struct posted_list free;
    unsigned record_count;
    unsigned used;          /* how many records of the newest chunk were ever used */
    unsigned count, silent; /* the numbers of outstanding records: all of them, and those of silent requests */
    uint64_t posts;         /* the number of posts so far */
    struct posted_chain chain;
    bool ended;   /* every request has ended; results of failed requests may not have been polled yet */
    bool retired; /* the queue is closed */
};

/* A post: the consumer's call and its arguments, then what posted_begin and posted_end set. */
struct post {
    const char *routine;
    void *context;
    const void *by;
    const NDK_SGE *sgl;
    ULONG sges;
    ULONG flags;
    const NDK_LOGICAL_ADDRESS *pages; /* of NdkFastRegister, which has no SGEs */
    ULONG page_count;
    uint64_t length;      /* of all SGEs, in bytes */
    bool is_send;         /* the request needs a receive at the peer */
    bool is_source;       /* the request sends the SGEs' data */
    struct source source; /* if is_source, and the request is not inline */
    bool needs_receive;   /* the send is counted against the peer's receives: see messages.h */
    /* Set by posted_begin. */
    void *passed;   /* the RequestContext for the provider */
    uint64_t place; /* 0: not recorded */
    /*
     * How many requests, and how many silent requests, were outstanding before this post. Both are 0 after a flush or
     * disconnect.
     */
    unsigned before, silent_before;
    int users; /* *posted->users after this request was counted; 0 if it is not counted, or if the post has failed */
};

/* Allocates records for a queue with room for `depth` requests of up to `sges` SGEs. */
void posted_init(struct posted *posted, UINT32 privileged_token, size_t depth, ULONG sges);
void posted_fini(struct posted *posted);
/* Allocates more records for a greater depth. */
void posted_reserve(struct posted *posted, size_t depth);

/*
 * Records a request before it is posted, counts it in *posted->users, and sets post->passed. Allocates nothing. The
 * request must be counted before the post: afterwards, the consumer may already have the peer's answer.
 */
void posted_begin(struct posted *posted, struct post *post);
/*
 * Must be called after the provider's function for the post, which returned `status`. If the post failed, frees the
 * record, because no result will come. Returns `status`.
 */
NTSTATUS posted_end(struct posted *posted, struct post *post, NTSTATUS status);
/* A copy of a completed request: its first SGEs, and the members of its record that the checks of buffers use. */
struct posted_copy {
    const char *routine;
    const void *by;
    struct source source;
    ULONG sges;
    NDK_SGE sge[SOURCE_MAX_SGES]; /* without those that have the privileged token */
};

/*
 * `context` is the RequestContext that the provider returned for a completed request. If the request just before the
 * completed one is silent, copies that silent request and frees its record. Returns false if there is no such silent
 * request, or if its buffers need no check.
 */
bool posted_copy_silent_before(struct posted *posted, void *context, struct posted_copy *copy);
/* Returns true after a flush or disconnect, and from the queue's close on: the consumer may then free all buffers. */
bool posted_has_ended(struct posted *posted);
/*
 * Copies the request whose RequestContext for the provider is `context`. Returns false if the request has no record,
 * or if its buffers need no check.
 */
bool posted_copy_completed(struct posted *posted, void *context, struct posted_copy *copy);
/*
 * Replaces *context, a record of this queue, by the consumer's context. Frees the record and the records of the silent
 * requests just before it. Returns false if *context is not a record of this queue.
 */
bool posted_complete(struct posted *posted, void **context);
/*
 * Called when a flush or disconnect has ended every request. Marks the silent requests as done, because a
 * silent request has a result only if it failed. Requests that are posted later are not counted in *posted->users.
 */
void posted_set_ended(struct posted *posted);
/*
 * Returns the place of the request for which the provider's result has `context` as RequestContext. Returns 0 if the
 * request has no record.
 */
uint64_t posted_place(struct posted *posted, void *context);
/*
 * Called when the peer has sent something. The peer may have received all silent requests that were posted earlier, so
 * these are not counted in *posted->users any more.
 */
void posted_uncount_silent(struct posted *posted);
/* Called before the queue is closed: none of its requests is counted any more in *posted->users. */
void posted_uncount_all(struct posted *posted);
/* Called when the queue is closed. Frees all records as soon as none of them is outstanding. */
void posted_retire(struct posted *posted);
/* Frees all records of a queue that is closed: no result can come any more. */
void posted_drop(struct posted *posted);

/* The signalled requests that are outstanding, and the open chain. */
struct posted_rest {
    unsigned signalled;
    unsigned deferred; /* 0: no chain is open */
    const char *routine;
    void *context;
    int thread;
};
/* Stores in *rest what is outstanding now. After a flush or disconnect, all members of *rest are 0 or NULL. */
void posted_get_rest(struct posted *posted, struct posted_rest *rest);

/* Returns a time that is cheap to read. */
uint64_t posted_now_ms(void);

/*
 * Calls `match` for each outstanding request that is not done, in the order of the posts, until `match` returns true.
 * Returns whether `match` did. The lock is held meanwhile.
 */
typedef bool posted_match(void *context, const struct posted *posted, struct posted_record *record);
bool posted_find(struct posted *posted, posted_match *match, void *context);

/* Finds an outstanding request that uses memory in [start, start + size). Returns false if there is none. */
bool posted_find_use(struct posted *posted, const void *start, size_t size, struct verify_use *use);
/*
 * Returns the routine that posted a request with a logical address in [first, first + size), and sets *at to that
 * address. Returns NULL if there is none.
 */
const char *posted_find_logical_use(struct posted *posted, uint64_t first, uint64_t size, uint64_t *at);

/* Returns how many pages are contiguous, from the first one on. */
ULONG posted_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count);

#endif
