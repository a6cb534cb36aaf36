/* SPDX-License-Identifier: MIT */
/* Protection domains and ordinary memory regions of the consumers: see sim_traffic.h. */
#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_traffic_internal.h"

bool traffic_reclaimed;

static const NTSTATUS good_or_short[] = { STATUS_SUCCESS, STATUS_INSUFFICIENT_RESOURCES, STATUS_PENDING };
static const NTSTATUS good[] = { STATUS_SUCCESS, STATUS_PENDING };

uint8_t traffic_byte(unsigned who, unsigned message, size_t i)
{
    uint64_t key = ((uint64_t)who << 20 ^ message) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint8_t)(key >> (i & 7) * 8) ^ (uint8_t)(i >> 3) ^ (uint8_t)(i >> 11);
}

struct obj *pd_new(unsigned host)
{
    struct obj *o = obj_new(PD, host, sizeof *o), *adapter = consumer_adapter(host);
    NDK_PD *out = (NDK_PD *)&obj_unwritten;

    if (!o)
        return NULL;
    obj_parent(o, adapter);
    obj_created(o, adapter->ndk.adapter->Dispatch->NdkCreatePd(adapter->ndk.adapter, obj_create_done, o, &out), &out);
    return o;
}

/* ---- regions ---- */

static const ULONG flags_of[USES] = {
    [LOCAL] = NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
    [SOURCE] = NDK_MR_FLAG_ALLOW_LOCAL_READ,
    [READABLE_REGION] = NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
    [WRITABLE_REGION] = NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
    [BEHIND] = NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
};

static void region_ended(struct obj *o)
{
    struct region *r = (struct region *)o;

    region_reclaim(r);
    regions_release(r);
}

static void registered(struct req *q, NTSTATUS status)
{
    struct region *r = (struct region *)q->o;

    if (status || r->o.life != OPEN)
        return;
    r->registered = true;
    r->grant = grant_new(&r->o, r, r->use);
    r->grant->base = (uintptr_t)(r->memory + GUARD);
    r->grant->state = GRANT_ALIVE;
    grant_token(r->grant, r->o.ndk.mr->Dispatch->NdkGetLocalTokenFromMr(r->o.ndk.mr),
                r->o.ndk.mr->Dispatch->NdkGetRemoteTokenFromMr(r->o.ndk.mr));
    for (uint32_t i = 0; i < r->len && r->use == READABLE_REGION; i++)
        *region_byte(r, i) = traffic_byte(r->o.id, r->grant->serial, i);
}

static void region_born(struct obj *o)
{
    struct region *r = (struct region *)o;
    MDL mdl;
    struct req *q;

    ondk_mdl_init(&mdl, r->memory + GUARD, r->len, NULL);
    q = req_new(o, "register", good_or_short, SIM_SECOND, registered);
    /* The list may be on the stack, because the provider completes this inline. */
    req_returned(q, o->ndk.mr->Dispatch->NdkRegisterMr(o->ndk.mr, &mdl, r->len, flags_of[r->use], req_done, q));
}

struct region *region_new(unsigned host, enum use use)
{
    struct obj *pd = obj_pick(PD, host, NULL);
    NDK_MR *out = (NDK_MR *)&obj_unwritten;
    struct region *r;

    if (!pd || !(r = obj_new(MR, host, sizeof *r)))
        return NULL;
    r->pd = pd;
    r->use = use;
    r->len = REGION - (uint32_t)sim_below(64);
    r->memory = malloc(2 * GUARD + r->len);
    r->busy = calloc(1, r->len);
    sim_check(r->memory && r->busy, "no memory");
    memset(r->memory, FILL, 2 * GUARD + r->len);
    r->o.born = region_born;
    r->o.gone = region_ended;
    obj_parent(&r->o, pd);
    obj_created(&r->o, pd->ndk.pd->Dispatch->NdkCreateMr(pd->ndk.pd, FALSE, obj_create_done, r, &out), &out);
    return r;
}

static void deregistered(struct req *q, NTSTATUS status)
{
    (void)status;
    region_reclaim((struct region *)q->o);
}

void region_deregister(struct region *r)
{
    NDK_MR *mr = r->o.ndk.mr;
    struct req *q;

    if (!obj_is_open(&r->o) || r->fast || !r->registered || r->grant->state != GRANT_ALIVE)
        return;
    r->grant->state = GRANT_ENDING; /* no new request uses it */
    traffic_reclaimed = true;
    q = req_new(&r->o, "deregister", good, SIM_SECOND, deregistered);
    req_returned(q, mr->Dispatch->NdkDeregisterMr(mr, req_done, q));
}

struct region *region_around(const void *memory)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct region *r = (struct region *)objects[i];
        const uint8_t *at = memory;

        if (r->o.kind == MR && at >= r->memory && at < r->memory + (r->fast ? FAST_PAGES * PAGE : GUARD + r->len))
            return r;
    }
    return NULL;
}

static bool has_memory(const struct obj *o)
{
    return o->kind == MR || o->kind == LAM;
}

void traffic_end(void)
{
    for (unsigned i = 0; i < object_count; i++)
        if (has_memory(objects[i]))
            region_check((struct region *)objects[i]);
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i]->kind == QP)
            qp_end((struct qp *)objects[i]);
    srq_end();
    for (unsigned i = 0; i < object_count; i++) {
        struct region *r = (struct region *)objects[i];

        if (!has_memory(&r->o))
            continue;
        free(r->memory);
        free(r->busy);
    }
    grants_free();
}
