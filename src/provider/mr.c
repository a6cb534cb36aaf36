/* SPDX-License-Identifier: MIT */
/*
 * Memory regions.
 *
 *   state        register                deregister                       close
 *   EMPTY        REGISTERED: SUCCESS     INVALID_DEVICE_STATE             LEAVING
 *   REGISTERED   INVALID_DEVICE_STATE    EMPTY: SUCCESS; LEAVING: PENDING LEAVING
 *   LEAVING      INVALID_DEVICE_STATE    INVALID_DEVICE_STATE             - (it is leaving)
 *
 * One that was created for fast registration is EMPTY for ever, and the calls of the other kind answer
 * INVALID_DEVICE_STATE either way: its registrations are those of requests (region_requests.c).
 *
 * The fabric gives a registration back at once, or, while data for it is under way, when that has ended: then it is
 * EMPTY and the request completes. A close waits for the same in retire, and for windows that are bound to the region.
 *
 * Of a register or deregister and a close that meet, the first to take the state has the registration to itself: a
 * close that finds LEAVING leaves it to the call that is inside, and what that leaves behind to retire, which the
 * call's reference holds off.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/spin.h"
#include "provider/adapter.h"
#include "provider/mdl.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/region.h"
#include "provider/status.h"

#define REMOTE (UINT64_C(1) << 32)

enum state { EMPTY, REGISTERED, LEAVING };

struct mr {
    NDK_MR pub;
    struct object obj;
    struct region region;
    bool fast;                     /* for fast registration alone; else for normal registration alone */
    _Atomic uint64_t fast_limits;  /* pages, and REMOTE; 0: not initialised */
    struct spin lock;              /* guards state */
    enum state state;
    struct request deregister;
};
OBJECT_ASSERT_LAYOUT(mr);

static struct mr *mr_of(NDK_MR *pub)
{
    return (struct mr *)pub;
}

static struct mr *mr_of_object(struct object *o)
{
    return (struct mr *)((char *)o - offsetof(struct mr, obj));
}

static const struct fabric_ops *ops_of(const struct mr *mr)
{
    return mr->obj.adapter->fabric->ops;
}

/* One step of the table above. False: the object was in another state. */
static bool step(struct mr *mr, enum state from, enum state to)
{
    spin_lock(&mr->lock);
    bool right = mr->state == from;
    if (right)
        mr->state = to;
    spin_unlock(&mr->lock);
    return right;
}

static bool flags_are_valid(ULONG flags)
{
    const ULONG write_alone = NDK_MR_FLAG_ALLOW_REMOTE_WRITE & ~(ULONG)NDK_MR_FLAG_ALLOW_LOCAL_WRITE;
    const ULONG known = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
                        NDK_MR_FLAG_RDMA_READ_SINK;

    if (flags & ~known)
        return false;
    return !(flags & write_alone) || (flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
}

/* The sink flag asks for nothing here: reads need local write alone. */
static unsigned access_of(ULONG flags)
{
    unsigned access = RDMA_ACCESS_LOCAL_READ;

    if (flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE)
        access |= RDMA_ACCESS_LOCAL_WRITE;
    if (flags & NDK_MR_FLAG_ALLOW_REMOTE_READ)
        access |= RDMA_ACCESS_REMOTE_READ;
    if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE) == NDK_MR_FLAG_ALLOW_REMOTE_WRITE)
        access |= RDMA_ACCESS_REMOTE_WRITE;
    return access;
}

static NTSTATUS try_register(struct mr *mr, MDL *mdl, SIZE_T length, ULONG flags)
{
    uint32_t token;

    if (!mdl_is_range(mdl, length) || length > mr->obj.adapter->limits.max_registration || !flags_are_valid(flags))
        return STATUS_INVALID_PARAMETER;
    /* LEAVING keeps others out until there is a region. */
    if (mr->fast || !step(mr, EMPTY, LEAVING))
        return STATUS_INVALID_DEVICE_STATE;
    int error = ops_of(mr)->mr_register(mr->region.fabric, mdl_memory(mdl), length, mdl_virtual_address(mdl),
                                        access_of(flags), &token);
    if (error) {
        step(mr, LEAVING, EMPTY);
        return status_of_errno(error);
    }
    step(mr, LEAVING, REGISTERED);
    return STATUS_SUCCESS;
}

static NTSTATUS register_mr(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                            PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    (void)done, (void)context; /* never pending */
    if (!object_try_ref(&mr->obj, REF_LOOKUP))
        return STATUS_INVALID_DEVICE_STATE;
    status = try_register(mr, mdl, length, flags);
    object_unref(&mr->obj, REF_LOOKUP);
    return status;
}

static void deregistered(void *context)
{
    struct mr *mr = context;

    step(mr, LEAVING, EMPTY);
    request_complete(&mr->deregister, STATUS_SUCCESS);
}

static NTSTATUS try_deregister(struct mr *mr, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    /* The request is one: until its completion has been delivered it cannot be made again. */
    if (!done || request_is_pending(&mr->deregister) || !step(mr, REGISTERED, LEAVING))
        return done ? STATUS_INVALID_DEVICE_STATE : STATUS_INVALID_PARAMETER;
    request_begin(&mr->deregister, &mr->obj, done, context);
    if (!ops_of(mr)->mr_deregister(mr->region.fabric, deregistered, mr))
        return STATUS_PENDING;
    step(mr, LEAVING, EMPTY);
    request_cancel(&mr->deregister);
    return STATUS_SUCCESS;
}

static NTSTATUS deregister_mr(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    if (!object_try_ref(&mr->obj, REF_LOOKUP))
        return STATUS_INVALID_DEVICE_STATE;
    status = try_deregister(mr, done, context);
    object_unref(&mr->obj, REF_LOOKUP);
    return status;
}

/* A close ends what is registered; while data for it is under way, or a window is bound, retire waits. */
static void cancel(struct object *o)
{
    struct mr *mr = mr_of_object(o);

    if (step(mr, REGISTERED, LEAVING) || step(mr, EMPTY, LEAVING))
        region_kill(&mr->region);
}

static bool retire(struct object *o)
{
    return region_retire(&mr_of_object(o)->region);
}

static void destroy(struct object *o)
{
    (void)o; /* the fabric's went in retire */
}

/* ---- Fast registration ---- */

/*
 * Says what later posts may have, and nothing of what is registered or queued. May be called again, also in parallel:
 * the last one counts.
 */
static NTSTATUS try_initialize(struct mr *mr, ULONG pages, BOOLEAN remote)
{
    uint32_t most = mr->obj.adapter->limits.fast_register_pages;

    if (!most)
        return STATUS_NOT_SUPPORTED;
    if (!mr->fast)
        return STATUS_INVALID_DEVICE_STATE;
    if (!pages)
        return STATUS_INVALID_PARAMETER;
    if (pages > most)
        return STATUS_IMPLEMENTATION_LIMIT;
    /*
     * Consumers read the token now, once, and hand it to the peer before the region is registered for the first time.
     */
    int error = ops_of(mr)->mr_reserve(mr->region.fabric);
    if (error)
        return status_of_errno(error);
    atomic_store(&mr->fast_limits, pages | (remote ? REMOTE : 0));
    return STATUS_SUCCESS;
}

static NTSTATUS initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION done,
                                         PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    (void)done, (void)context; /* never pending */
    if (!object_try_ref(&mr->obj, REF_LOOKUP))
        return STATUS_INVALID_DEVICE_STATE;
    status = try_initialize(mr, pages, remote);
    object_unref(&mr->obj, REF_LOOKUP);
    return status;
}

bool mr_is_fast(const NDK_MR *mr)
{
    return ((const struct mr *)mr)->fast;
}

uint32_t mr_fast_pages(NDK_MR *mr, bool *remote)
{
    uint64_t limits = atomic_load(&mr_of(mr)->fast_limits);

    *remote = (limits & REMOTE) != 0;
    return (uint32_t)limits;
}

struct region *mr_region(NDK_MR *mr)
{
    return &mr_of(mr)->region;
}

/* One token for both sides: the rights tell them apart. */
static UINT32 get_token(NDK_MR *pub)
{
    return region_ndk_token(mr_region(pub));
}

static const struct object_type type = {
    .ndk_type = NdkObjectTypeMr, .cancel = cancel, .retire = retire, .destroy = destroy};

static const NDK_MR_DISPATCH dispatch = {
    .NdkCloseMr = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkRegisterMr = register_mr,
    .NdkDeregisterMr = deregister_mr,
    .NdkInitializeFastRegisterMr = initialize_fast_register,
    .NdkGetRemoteTokenFromMr = get_token,
    .NdkGetLocalTokenFromMr = get_token,
};

NTSTATUS mr_create(NDK_PD *pub_pd, BOOLEAN fast_register, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out)
{
    struct pd *pd = pd_of(pub_pd);
    struct adapter *a = pd->obj.adapter;

    if (fast_register && !a->limits.fast_register_pages)
        return STATUS_NOT_SUPPORTED;
    struct mr *mr = calloc(1, sizeof(*mr));
    int error = mr ? region_create(&mr->region, &mr->obj, pd) : ENOMEM;
    if (error) {
        free(mr);
        return status_of_errno(error);
    }
    object_init(&mr->obj, &type, &mr->pub.Header, mr, a, adapter_home(a));
    mr->pub.Dispatch = &dispatch;
    spin_init(&mr->lock);
    mr->fast = fast_register;
    atomic_init(&mr->fast_limits, 0);
    object_depend(&mr->obj, &pd->obj);
    return object_created(a, &mr->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
