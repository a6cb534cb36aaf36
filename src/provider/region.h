/* SPDX-License-Identifier: MIT */
/*
 * What memory regions and windows have in common: the fabric's handle, and the token that the latest registration or
 * bind made. A fast registration, a bind and an invalidation take the token and post in one go, one thread at a time for
 * each region, so that each replaces or ends what the one before it made, and a post that fails leaves no trace.
 */
#ifndef PROVIDER_REGION_H
#define PROVIDER_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/object.h"
#include "provider/provider.h"

struct region {
    struct object *obj; /* whose this is */
    struct pd *pd;
    struct fabric_mr *fabric;
    atomic_uint token;  /* the latest, also when it names nothing any more; 0: none was made */
    atomic_bool posting; /* somebody is between region_enter and region_leave */
};

/* 0 or ENOMEM. The object is initialised by the caller, in any order. */
int region_create(struct region *r, struct object *obj, struct pd *pd);
/* No token of it works any more. Any thread, more than once. */
void region_kill(struct region *r);
/* As an object's retire: false while memory is touched, or a window is bound. */
bool region_retire(struct region *r);
/* For the consumer. Before there is one, a number that names nothing, and is not the privileged token. */
UINT32 region_token(const struct region *r);

/*
 * Around a post that makes or ends a token; holds the object too, as the request can complete, and the object be closed,
 * before the post is back. Waits for another thread's post, which waits for nothing.
 */
void region_enter(struct region *r);
void region_leave(struct region *r);

struct region *mr_region(NDK_MR *mr);
bool mr_is_fast(const NDK_MR *mr); /* created for fast registration */
/* How many pages a fast registration may have, and whether remote rights. 0: it is not initialised for any. */
uint32_t mr_fast_pages(NDK_MR *mr, bool *remote);
struct region *mw_region(NDK_MW *mw);

#endif
