/* SPDX-License-Identifier: MIT */
/*
 * Implements memory regions. A cell of this table has the region's new state, the status that the call returns, or
 * both.
 *
 *   state        register                deregister                       close
 *   EMPTY        REGISTERED: SUCCESS     INVALID_DEVICE_STATE             BUSY
 *   REGISTERED   INVALID_DEVICE_STATE    EMPTY: SUCCESS; BUSY: PENDING    BUSY
 *   BUSY         INVALID_DEVICE_STATE    INVALID_DEVICE_STATE             BUSY
 *
 * A region that was created for fast registration stays EMPTY until its close, because requests register it
 * (region_requests.c). Register and deregister return INVALID_DEVICE_STATE for it.
 *
 * If nothing accesses the memory, deregister ends the registration at once. Otherwise deregister returns PENDING. When
 * the access has ended, the fabric ends the registration, the region becomes EMPTY, and the deregister request
 * completes. A close stays pending until the access has ended and no window is bound to the region.
 *
 * The invariant: the call that changes the state to BUSY owns the registration. If a close finds the region BUSY, the
 * close does not change the registration, because another call owns it. mr_retire runs after that call has ended. If
 * the registration still exists then, mr_retire ends it.
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

#define MR_FAST_REMOTE (UINT64_C(1) << 32)

enum mr_state { MR_EMPTY, MR_REGISTERED, MR_BUSY };

struct mr {
    NDK_MR pub;
    struct object obj;
    struct region region;
    bool fast;                    /* created for fast registration, so NdkRegisterMr is refused */
    _Atomic uint64_t fast_limits; /* the maximum number of pages | MR_FAST_REMOTE; 0: not initialized */
    struct spin lock;             /* guards state */
    enum mr_state state;
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

static const struct fabric_ops *mr_ops(const struct mr *mr)
{
    return mr->obj.adapter->fabric->ops;
}

/*
 * Changes the state from `from` to `to` and returns true. If the present state is not `from`, changes nothing and
 * returns false.
 */
static bool mr_step(struct mr *mr, enum mr_state from, enum mr_state to)
{
    spin_lock(&mr->lock);
    bool right = mr->state == from;
    if (right)
        mr->state = to;
    spin_unlock(&mr->lock);
    return right;
}

static bool mr_flags_are_valid(ULONG flags)
{
    const ULONG remote_write_only = NDK_MR_FLAG_ALLOW_REMOTE_WRITE & ~(ULONG)NDK_MR_FLAG_ALLOW_LOCAL_WRITE;
    const ULONG known = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
                        NDK_MR_FLAG_RDMA_READ_SINK;

    if (flags & ~known)
        return false;
    return !(flags & remote_write_only) || (flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
}

/*
 * Converts NDK_MR_FLAG_ flags to enum rdma_access. NDK_MR_FLAG_RDMA_READ_SINK has no effect, because the buffer of a
 * read needs only local write.
 */
static unsigned mr_access(ULONG flags)
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

static NTSTATUS mr_register(struct mr *mr, MDL *mdl, SIZE_T length, ULONG flags)
{
    uint32_t token;

    if (!mdl_is_range(mdl, length) || length > mr->obj.adapter->limits.max_registration || !mr_flags_are_valid(flags))
        return STATUS_INVALID_PARAMETER;
    /* The state is BUSY until the registration exists, so that other calls fail until then. */
    if (mr->fast || !mr_step(mr, MR_EMPTY, MR_BUSY))
        return STATUS_INVALID_DEVICE_STATE;
    int error = mr_ops(mr)->mr_register(mr->region.fabric, mdl_memory(mdl), length, mdl_virtual_address(mdl),
                                        mr_access(flags), &token);
    if (error) {
        mr_step(mr, MR_BUSY, MR_EMPTY);
        return status_of_errno(error);
    }
    mr_step(mr, MR_BUSY, MR_REGISTERED);
    return STATUS_SUCCESS;
}

static NTSTATUS mr_ndk_register(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                                PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    (void)done, (void)context; /* not used, because the call is never pending */
    if (!object_try_ref(&mr->obj, REF_INTERNAL))
        return STATUS_INVALID_DEVICE_STATE;
    status = mr_register(mr, mdl, length, flags);
    object_unref(&mr->obj, REF_INTERNAL);
    return status;
}

static void mr_on_fabric_deregistered(void *context)
{
    struct mr *mr = context;

    mr_step(mr, MR_BUSY, MR_EMPTY);
    request_complete(&mr->deregister, STATUS_SUCCESS);
}

static NTSTATUS mr_deregister(struct mr *mr, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    /*
     * `deregister` can be pending even if the region is registered: mr_on_fabric_deregistered sets MR_EMPTY before the
     * completion, and the consumer may then call NdkRegisterMr.
     */
    if (!done || request_is_pending(&mr->deregister) || !mr_step(mr, MR_REGISTERED, MR_BUSY))
        return done ? STATUS_INVALID_DEVICE_STATE : STATUS_INVALID_PARAMETER;
    request_begin(&mr->deregister, &mr->obj, done, context);
    if (!mr_ops(mr)->mr_deregister(mr->region.fabric, mr_on_fabric_deregistered, mr))
        return STATUS_PENDING;
    mr_step(mr, MR_BUSY, MR_EMPTY);
    request_cancel(&mr->deregister);
    return STATUS_SUCCESS;
}

static NTSTATUS mr_ndk_deregister(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    if (!object_try_ref(&mr->obj, REF_INTERNAL))
        return STATUS_INVALID_DEVICE_STATE;
    status = mr_deregister(mr, done, context);
    object_unref(&mr->obj, REF_INTERNAL);
    return status;
}

/* Ends the registration when close begins. mr_retire waits for accesses to the memory and for bound windows. */
static void mr_cancel(struct object *o)
{
    struct mr *mr = mr_of_object(o);

    if (mr_step(mr, MR_REGISTERED, MR_BUSY) || mr_step(mr, MR_EMPTY, MR_BUSY))
        region_revoke(&mr->region);
}

static bool mr_retire(struct object *o)
{
    return region_retire(&mr_of_object(o)->region);
}

/* ---- Fast registration ---- */

/*
 * Sets the maximum number of pages of future fast registrations, and whether they may have remote rights. Does not
 * change registrations that exist or are queued. May be called again, even by several threads at the same time. The
 * last call determines the values.
 */
static NTSTATUS mr_initialize_fast(struct mr *mr, ULONG pages, BOOLEAN remote)
{
    uint32_t max = mr->obj.adapter->limits.fast_register_pages;

    if (!max)
        return STATUS_NOT_SUPPORTED;
    if (!mr->fast)
        return STATUS_INVALID_DEVICE_STATE;
    if (!pages)
        return STATUS_INVALID_PARAMETER;
    if (pages > max)
        return STATUS_IMPLEMENTATION_LIMIT;
    /* Reserves the token now, because consumers may pass it to the peer before the first registration. */
    int error = mr_ops(mr)->mr_reserve(mr->region.fabric);
    if (error)
        return status_of_errno(error);
    atomic_store(&mr->fast_limits, pages | (remote ? MR_FAST_REMOTE : 0));
    return STATUS_SUCCESS;
}

static NTSTATUS mr_ndk_initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote,
                                                NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct mr *mr = mr_of(pub);
    NTSTATUS status;

    (void)done, (void)context; /* not used, because the call is never pending */
    if (!object_try_ref(&mr->obj, REF_INTERNAL))
        return STATUS_INVALID_DEVICE_STATE;
    status = mr_initialize_fast(mr, pages, remote);
    object_unref(&mr->obj, REF_INTERNAL);
    return status;
}

bool mr_is_fast(const NDK_MR *mr)
{
    return ((const struct mr *)mr)->fast;
}

uint32_t mr_fast_pages(NDK_MR *mr, bool *remote)
{
    uint64_t limits = atomic_load(&mr_of(mr)->fast_limits);

    *remote = (limits & MR_FAST_REMOTE) != 0;
    return (uint32_t)limits;
}

struct region *mr_region(NDK_MR *mr)
{
    return &mr_of(mr)->region;
}

/*
 * Returns the region's token, which is both the local and the remote token. The region's access rights decide what each
 * side may do with the token.
 */
static UINT32 mr_ndk_get_token(NDK_MR *pub)
{
    return region_ndk_token(mr_region(pub));
}

static const char *mr_state_name(struct mr *mr, const struct fabric_mr_info *info)
{
    spin_lock(&mr->lock);
    bool is_busy = mr->state == MR_BUSY;
    spin_unlock(&mr->lock);
    if (info->is_prepared)
        return "prepared";
    if (info->is_registered)
        return "registered";
    return is_busy ? "deregistering" : "empty";
}

static bool mr_describe(struct object *o, union live_entry *entry)
{
    struct mr *mr = mr_of_object(o);
    struct fabric_mr_info info = { .token = 0 };

    if (!o->live_retiring)
        mr_ops(mr)->mr_info(mr->region.fabric, &info);
    entry->mr = (ondk_memory_region_t){
        .state = object_state(o, mr_state_name(mr, &info)),
        .address = info.address,
        .length = info.len,
        .id = o->live_id,
        .pd = mr->region.pd->obj.live_id,
        .token = info.token,
        .fast = mr->fast,
        .local_write = (info.access & RDMA_ACCESS_LOCAL_WRITE) != 0,
        .remote_read = (info.access & RDMA_ACCESS_REMOTE_READ) != 0,
        .remote_write = (info.access & RDMA_ACCESS_REMOTE_WRITE) != 0,
    };
    return true;
}

static const struct object_type mr_type = {
    .ndk_type = NdkObjectTypeMr,
    .cancel = mr_cancel,
    .retire = mr_retire,
    .describe = mr_describe,
};

static const NDK_MR_DISPATCH mr_dispatch = {
    .NdkCloseMr = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkRegisterMr = mr_ndk_register,
    .NdkDeregisterMr = mr_ndk_deregister,
    .NdkInitializeFastRegisterMr = mr_ndk_initialize_fast_register,
    .NdkGetRemoteTokenFromMr = mr_ndk_get_token,
    .NdkGetLocalTokenFromMr = mr_ndk_get_token,
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
    object_init(&mr->obj, &mr_type, &mr->pub.Header, mr, a, adapter_home(a));
    mr->pub.Dispatch = &mr_dispatch;
    spin_init(&mr->lock);
    mr->fast = fast_register;
    atomic_init(&mr->fast_limits, 0);
    object_depend(&mr->obj, &pd->obj);
    return object_created(a, &mr->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
