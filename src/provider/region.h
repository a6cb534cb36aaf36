/* SPDX-License-Identifier: MIT */
/*
 * Declares struct region, which connects a memory region or window to its handle in the fabric, and the functions that
 * return the handle's tokens. Each registration of a region makes a new token of the region, and each bind of a window
 * makes a new token of the window. A token is prepared until the fabric processes the request that makes it. Then it is
 * alive until it ends, for example by an invalidation.
 *
 * The invariant: if two posts make tokens for one region or window, the later post makes the newer token, even if the
 * posts use different queue pairs. The invariant determines which token is used:
 *   - A post that fails makes no token.
 *   - If the consumer asks for the token of a region or window, the provider returns the newest, even if it has ended.
 *   - A bind uses the newest token of the region, even if it has ended.
 *   - An invalidation uses the newest token that is prepared or alive.
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
 * Initializes *r for the object *obj and creates the handle in the fabric. Returns 0 or ENOMEM. The caller may
 * initialize *obj before or after this call.
 */
int region_create(struct region *r, struct object *obj, struct pd *pd);
/* Invalidates every token of the region and refuses new tokens. Any thread may call this function, even repeatedly. */
void region_revoke(struct region *r);
/*
 * Ends a memory region or window; the `retire` of both types calls this function. Returns true if the region has ended.
 * Returns false if the memory is being accessed or a window is bound to the region; object_retired is called later.
 */
bool region_retire(struct region *r);
/* Returns the newest token, even if that token has ended. Returns 0 if no token was made. */
uint32_t region_newest_token(const struct region *r);
/* Returns the newest token that is prepared or alive. If there is none, returns the last token that was alive, or 0. */
uint32_t region_live_token(const struct region *r);
/*
 * Returns the token that the consumer receives: the newest token, even if that token has ended. Returns UINT32_MAX if
 * no token was made, because 0 is the privileged token.
 */
UINT32 region_ndk_token(const struct region *r);

struct region *mr_region(NDK_MR *mr);
bool mr_is_fast(const NDK_MR *mr); /* returns true if the region was created for fast registration */
/*
 * Returns the maximum number of pages in a fast registration, or 0 before NdkInitializeFastRegisterMr. Sets *remote to
 * true if the registration may have remote rights.
 */
uint32_t mr_fast_pages(NDK_MR *mr, bool *remote);
struct region *mw_region(NDK_MW *mw);

#endif
