/* SPDX-License-Identifier: MIT */
/* Abstract: what memory regions and windows have in common. */
#include "provider/region.h"

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
    return ops_of(r)->mr_close(r->fabric, closed, r);
}

uint32_t region_token(const struct region *r)
{
    return ops_of(r)->mr_token(r->fabric);
}

uint32_t region_left(const struct region *r)
{
    return ops_of(r)->mr_left(r->fabric);
}

UINT32 region_ndk_token(const struct region *r)
{
    uint32_t token = region_token(r);

    return token ? token : UINT32_MAX;
}
