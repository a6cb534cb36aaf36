/* SPDX-License-Identifier: MIT */
/*
 * The fabric's handle of a memory region or window, and its tokens.
 *
 * The invariant: the token of a later post is newer, also if the posts are on different queue pairs. A post that fails
 * leaves no token. A query of the consumer and a bind use the newest token, even if that token has ended. An
 * invalidation uses the newest token that is prepared or valid.
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
    struct object *obj; /* the object of the memory region or window */
    struct pd *pd;
    struct fabric_mr *fabric;
};

/*
 * Initializes *r as the region of *obj, and creates its handle in the fabric. Returns 0 or ENOMEM. The caller
 * initializes *obj, before or after this call.
 */
int region_create(struct region *r, struct object *obj, struct pd *pd);
/* Invalidates every token of the region and refuses new ones. Any thread. Idempotent. */
void region_revoke(struct region *r);
/*
 * The retire function of memory regions and of windows. If the memory is being accessed or a window is bound to the
 * region, returns false and calls object_retired later. Otherwise returns true.
 */
bool region_retire(struct region *r);
/* Returns the newest token, even if it is no longer valid, or 0 if none was made. */
uint32_t region_newest_token(const struct region *r);
/* Returns the newest token that is prepared or valid. If there is none, returns the last token that was valid, or 0. */
uint32_t region_live_token(const struct region *r);
/*
 * Returns the token that the consumer receives: the newest one that is prepared or valid, or UINT32_MAX if there is
 * none. 0 would be the privileged token.
 */
UINT32 region_ndk_token(const struct region *r);

struct region *mr_region(NDK_MR *mr);
bool mr_is_fast(const NDK_MR *mr); /* was the region created for fast registration? */
/*
 * Returns how many pages a fast registration may have, or 0 before NdkInitializeFastRegisterMr. Sets *remote to whether
 * the registration may have remote rights.
 */
uint32_t mr_fast_pages(NDK_MR *mr, bool *remote);
struct region *mw_region(NDK_MW *mw);

#endif
