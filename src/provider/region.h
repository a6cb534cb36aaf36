/* SPDX-License-Identifier: MIT */
/*
 * The fabric's handle of a memory region or window, and its tokens.
 *
 * The invariant: tokens replace each other in the order of the posts that make them, even if the requests wait in
 * several queues. A post that fails leaves no trace. The consumer reads the newest token, and a bind uses it, even if a
 * flush has ended it already; never an older one. An invalidation uses the newest token that is left, so that it can
 * end the token that a flushed request was to replace.
 */
#ifndef PROVIDER_REGION_H
#define PROVIDER_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/object.h"
#include "provider/provider.h"

struct region {
    struct object *obj; /* the region or window */
    struct pd *pd;
    struct fabric_mr *fabric;
};

/* Returns 0 or ENOMEM. The caller initializes the object, before or after this. */
int region_create(struct region *r, struct object *obj, struct pd *pd);
/* Invalidates every token of the region and refuses new ones. Any thread. Idempotent. */
void region_revoke(struct region *r);
/* An object's retire. Returns false if memory is being accessed or a window is bound. */
bool region_retire(struct region *r);
/* Returns the newest token, even if it is no longer valid, or 0 if none was made. */
uint32_t region_newest_token(const struct region *r);
/* Returns the newest token that is prepared or valid; if there is none, the last that was valid, or 0. */
uint32_t region_live_token(const struct region *r);
/*
 * Returns the newest token for the consumer. If there is none, returns an invalid one that is not the privileged token.
 */
UINT32 region_ndk_token(const struct region *r);

struct region *mr_region(NDK_MR *mr);
bool mr_is_fast(const NDK_MR *mr); /* created for fast registration */
/*
 * Returns how many pages a fast registration may have, 0 if it is not initialized. *remote: may it have remote rights?
 */
uint32_t mr_fast_pages(NDK_MR *mr, bool *remote);
struct region *mw_region(NDK_MW *mw);

#endif
