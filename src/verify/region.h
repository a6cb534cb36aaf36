/* SPDX-License-Identifier: MIT */
/*
 * Keeps the state of memory regions and windows for the checks, and checks the requests that register, bind and
 * invalidate them.
 */
#ifndef VERIFY_REGION_H
#define VERIFY_REGION_H

#include "verify/proxy.h"
#include "verify/tokens.h"

enum { REGION_TOKENS = 6 }; /* room for three registrations, each with a local and a remote token */

struct region {
    struct proxy p;
    bool fast;         /* the region was created for fast registration */
    atomic_int asking; /* number of region_ask calls in progress; the close waits for them */
    /* The members below are used by source.h. They record how a peer or a request can write to the memory. */
    atomic_bool has_remote_write; /* a token of the region, or a window, allows a peer to write */
    /*
     * The smallest range that contains all buffers of receives and reads. sinks_inverted_start is ~start, so both
     * members are 0 if there is no buffer, and both increase when the range grows.
     */
    _Atomic uintptr_t sinks_end, sinks_inverted_start;
    /* The lock of the protection domain's tokens guards the members below. */
    bool unsure;           /* the completion of a call was not observed, so the region's state is not known */
    bool was_registered;   /* NdkRegisterMr has registered the region at least once */
    bool registered;       /* NdkRegisterMr has registered the region, and NdkDeregisterMr has not been called since */
    unsigned changing;     /* number of NdkRegisterMr and NdkDeregisterMr calls that have not completed */
    bool was_posted;       /* NdkFastRegister was posted at least once */
    bool remote;           /* the region is initialized for remote access */
    ULONG max_pages;       /* largest page count of all initializations; 0: not initialized */
    unsigned posting;      /* number of NdkFastRegister calls in progress */
    uint64_t registration; /* number of the newest registration, from 1; 0: never registered */
    struct token tokens[REGION_TOKENS];
};

struct window {
    struct proxy p;
    atomic_bool was_bound;
};

struct protection_domain {
    struct proxy p;
    struct token_table tokens;
};

/*
 * Converts `pub`, a proxy that the consumer has passed, to a struct proxy. Returns NULL if `real`, the provider's
 * object behind the proxy, is NULL.
 */
static inline struct proxy *proxy_of(void *pub, const void *real)
{
    return real ? pub : NULL;
}

/*
 * Returns the token table of the protection domain that created p. Requires that p is a region, a window, a queue pair
 * or a shared receive queue.
 */
struct token_table *region_table(const struct proxy *p);

/*
 * Queries the region's tokens from the provider. Returns false if the region is being closed. This can happen even
 * during an NdkFastRegister: another thread may poll its result and close the region before NdkFastRegister returns.
 */
bool region_ask(struct region *r, UINT32 *local, UINT32 *remote);
/*
 * Waits until no region_ask is in progress. Must run after the region's state has become PROXY_CLOSING, and before the
 * provider's close.
 */
void region_on_closing(struct proxy *p);

/* ---- NdkFastRegister, NdkInvalidate and NdkBind ---- */

/*
 * The region_begin_ functions check a request, and must run before the post. The region_end_ functions must run after
 * the post. Their parameters:
 *   status            the status that the post has returned
 *   place             the request's place in the initiator queue of qp
 *   regions, windows  the proxies of the objects in the request; NULL: the consumer has passed NULL or a closed object
 */
struct fast_registration {
    struct region *region;
    ULONG page_count, fbo, flags;
    const NDK_LOGICAL_ADDRESS *pages;
    uint64_t length, base;
};

void region_begin_fast_register(const struct fast_registration *f, const struct proxy *qp);
void region_end_fast_register(const struct fast_registration *f, const struct proxy *qp, uint64_t place,
                              NTSTATUS status);
/*
 * Checks an NdkInvalidate before the post. Returns the number of the region's newest registration, for
 * region_end_invalidate.
 */
uint64_t region_begin_invalidate(struct proxy *mr_or_mw);
void region_end_invalidate(struct proxy *mr_or_mw, const struct proxy *qp, uint64_t place, uint64_t number,
                           NTSTATUS status);
void region_begin_bind(struct proxy *mr, struct proxy *mw, const void *address, SIZE_T length, ULONG flags);

#endif
