/* SPDX-License-Identifier: MIT */
/*
 * Creates, invalidates and ends the fabric's handle of a memory region or window, and returns the tokens: see region.h.
 */
#include "provider/region.h"

#include "provider/adapter.h"

static const struct fabric_ops *region_ops(const struct region *r)
{
    return r->pd->obj.adapter->fabric->ops;
}

int region_create(struct region *r, struct object *obj, struct pd *pd)
{
    struct fabric *fabric = pd->obj.adapter->fabric;

    r->obj = obj;
    r->pd = pd;
    return fabric->ops->mr_create(fabric, pd_domain(pd), &r->fabric);
}

void region_revoke(struct region *r)
{
    region_ops(r)->mr_kill(r->fabric);
}

static void region_on_closed(void *context)
{
    struct region *r = context;

    object_retired(r->obj);
}

bool region_retire(struct region *r)
{
    region_revoke(r);
    return region_ops(r)->mr_close(r->fabric, region_on_closed, r);
}

uint32_t region_newest_token(const struct region *r)
{
    return region_ops(r)->mr_newest_token(r->fabric);
}

uint32_t region_live_token(const struct region *r)
{
    return region_ops(r)->mr_current_token(r->fabric);
}

UINT32 region_ndk_token(const struct region *r)
{
    uint32_t token = region_newest_token(r);

    return token ? token : UINT32_MAX;
}
