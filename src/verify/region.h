/* SPDX-License-Identifier: MIT */
/* Memory regions and windows as the checks see them, and the checks of the requests that register and invalidate. */
#ifndef VERIFY_REGION_H
#define VERIFY_REGION_H

#include "verify/proxy.h"
#include "verify/tokens.h"

enum { REGION_TOKENS = 6 }; /* of three registrations: each has a local and a remote token, which may be the same */

struct region {
    struct proxy p;
    bool fast;         /* created for fast registration */
    atomic_int asking; /* calls of region_ask in progress: the close waits for them */
    /* For source.h: how a peer or another request can write to the memory. */
    atomic_bool has_remote_write; /* a token of the region, or a window, allows a peer to write */
    /* The range that contains all buffers of receives and reads. sinks_inverted_start is ~start; 0 means no buffer. */
    _Atomic uintptr_t sinks_end, sinks_inverted_start;
    /* The lock of the protection domain's tokens guards the members below. */
    bool unsure;           /* the completion of a call was not seen, so nothing is known about the region */
    bool was_registered;   /* by NdkRegisterMr, at least once */
    bool registered;       /* by NdkRegisterMr, now */
    unsigned changing;     /* calls of NdkRegisterMr and NdkDeregisterMr that have not completed */
    bool was_posted;       /* NdkFastRegister was posted, at least once */
    bool remote;           /* initialized for remote access */
    ULONG max_pages;       /* the most pages of all initializations; 0: not initialized */
    unsigned posting;      /* calls of NdkFastRegister in progress */
    uint64_t registration; /* number of the newest registration */
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
 * Returns `pub`, a proxy that the consumer passed, as a struct proxy. Returns NULL if `real`, the provider's object
 * behind that proxy, is NULL.
 */
static inline struct proxy *proxy_of(void *pub, const void *real)
{
    return real ? pub : NULL;
}

/*
 * Returns the tokens of the protection domain that created p. p must be a region, a window, a queue pair or a shared
 * receive queue.
 */
struct token_table *region_table(const struct proxy *p);

/*
 * Asks the provider for the region's tokens. Returns false if the region is being closed. Another thread may close the
 * region at any time, even during the post of a request: that thread may poll the request's result, and then close the
 * region, before the post has returned.
 */
bool region_ask(struct region *r, UINT32 *local, UINT32 *remote);
/* Called after the region's state has become PROXY_CLOSING, before the provider's close. */
void region_on_closing(struct proxy *p);

/* ---- NdkFastRegister, NdkInvalidate and NdkBind ---- */

/*
 * Each region_begin_ function checks the request, and must be called before the post. Each region_end_ function must be
 * called after the post, with the post's status and the request's place in the initiator queue of qp. The parameters
 * for regions and windows are the proxies of the consumer's arguments. Such a parameter is NULL if the argument is NULL
 * or closed.
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
/* Returns the number of the region's newest registration, for region_end_invalidate. */
uint64_t region_begin_invalidate(struct proxy *mr_or_mw);
void region_end_invalidate(struct proxy *mr_or_mw, const struct proxy *qp, uint64_t place, uint64_t number,
                           NTSTATUS status);
void region_begin_bind(struct proxy *mr, struct proxy *mw, const void *address, SIZE_T length, ULONG flags);

#endif
