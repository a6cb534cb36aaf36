/* SPDX-License-Identifier: MIT */
/* Abstract: what memory regions and windows have in common. */
#include "provider/region.h"

#include <sched.h>

#include "base/mutant.h"
#include "provider/adapter.h"

static const struct fabric_ops *ops_of(const struct region *r)
{
    return r->pd->obj.adapter->fabric->ops;
}

int region_create(struct region *r, struct object *obj, struct pd *pd)
{
    struct fabric *fabric = pd->obj.adapter->fabric;

    r->obj = obj;
    r->pd = pd;
    atomic_init(&r->token, 0);
    atomic_init(&r->posting, false);
    return fabric->ops->mr_create(fabric, pd_domain(pd), &r->fabric);
}

void region_kill(struct region *r)
{
    ops_of(r)->mr_kill(r->fabric);
}

static void closed(void *context)
{
    struct region *r = context;

    object_retired(r->obj);
}

bool region_retire(struct region *r)
{
    region_kill(r);
    return ops_of(r)->mr_close(r->fabric, closed, r) || MUTANT(obj_12_region_does_not_wait);
}

UINT32 region_token(const struct region *r)
{
    UINT32 token = atomic_load(&r->token);

    return token ? token : UINT32_MAX;
}

void region_enter(struct region *r)
{
    object_ref(r->obj, REF_LOOKUP);
    while (!MUTANT(inv_09_posts_overtake) && atomic_exchange_explicit(&r->posting, true, memory_order_acquire))
        sched_yield();
}

void region_leave(struct region *r)
{
    atomic_store_explicit(&r->posting, false, memory_order_release);
    object_unref(r->obj, REF_LOOKUP);
}
