/* SPDX-License-Identifier: MIT */
/*
 * What memory regions and windows have in common: the fabric's handle. Tokens replace each other in the order in which
 * posts make them, also where their requests wait in several queues, and one whose post fails leaves no trace. The
 * consumer is told the newest, which is also what a bind means, even where a flush has ended it already: never an older
 * one in its place. An invalidation means the newest that is left, so that what a flushed request was to replace can be
 * ended.
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
    struct object *obj; /* whose this is */
    struct pd *pd;
    struct fabric_mr *fabric;
};

/* 0 or ENOMEM. The object is initialised by the caller, in any order. */
int region_create(struct region *r, struct object *obj, struct pd *pd);
/* No token of it works any more. Any thread, more than once. */
void region_kill(struct region *r);
/* As an object's retire: false while memory is touched, or a window is bound. */
bool region_retire(struct region *r);
/* The newest, also when it names nothing any more; 0: none was made. */
uint32_t region_token(const struct region *r);
/* The newest that is prepared or alive; where there is none of either, the last that was alive, or 0. */
uint32_t region_left(const struct region *r);
/* The newest, for the consumer: where there is none, a number that names nothing, and is not the privileged token. */
UINT32 region_ndk_token(const struct region *r);

struct region *mr_region(NDK_MR *mr);
bool mr_is_fast(const NDK_MR *mr); /* created for fast registration */
/* How many pages a fast registration may have, and whether remote rights. 0: it is not initialised for any. */
uint32_t mr_fast_pages(NDK_MR *mr, bool *remote);
struct region *mw_region(NDK_MW *mw);

#endif
