/* SPDX-License-Identifier: MIT */
/*
 * Memory regions.
 *
 *   state        register                deregister                       close
 *   EMPTY        REGISTERED: SUCCESS     INVALID_DEVICE_STATE             -
 *   REGISTERED   INVALID_DEVICE_STATE    EMPTY: SUCCESS; LEAVING: PENDING LEAVING
 *   LEAVING      INVALID_DEVICE_STATE    INVALID_DEVICE_STATE             - (it is leaving)
 *
 * The fabric gives a registration back at once, or, while data for it is under way, when that has ended: then it is
 * EMPTY and the request completes. A close waits for the same in retire, and for windows that are bound to the region.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mutant.h"
#include "base/spin.h"
#include "iwarp/memory.h"
#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/status.h"

enum state { EMPTY, REGISTERED, LEAVING };

struct mr {
    NDK_MR pub;
    struct object obj;
    struct fabric_mr *fabric;
    struct spin lock; /* guards state */
    enum state state;
    atomic_uint token; /* also after the registration, when it names nothing any more */
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

/* What a chain describes: the address of its first byte, the virtual address of the process. */
static unsigned char *mdl_address(const MDL *mdl)
{
    return (unsigned char *)mdl->StartVa + mdl->ByteOffset;
}

/* Is it one range of addresses for length bytes? */
static bool is_contiguous(const MDL *mdl, SIZE_T length)
{
    uintptr_t at = (uintptr_t)mdl_address(mdl);

    while (mdl) {
        if ((uintptr_t)mdl_address(mdl) != at && !MUTANT(mem_01_hole_accepted))
            return false;
        if (mdl->ByteCount > UINTPTR_MAX - at)
            return false;
        if (length <= mdl->ByteCount)
            return true;
        length -= mdl->ByteCount;
        at += mdl->ByteCount;
        mdl = mdl->Next;
    }
    return MUTANT(mem_01_beyond_chain);
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
    unsigned access = MEM_LOCAL_READ;

    if ((flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) || MUTANT(mem_02_local_write_always))
        access |= MEM_LOCAL_WRITE;
    if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_READ) || MUTANT(mem_02_remote_read_always))
        access |= MEM_REMOTE_READ;
    if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE) == NDK_MR_FLAG_ALLOW_REMOTE_WRITE ||
        MUTANT(mem_02_remote_write_always))
        access |= MEM_REMOTE_WRITE;
    return access;
}

static NTSTATUS register_mr(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                            PVOID context)
{
    struct mr *mr = mr_of(pub);
    uint32_t token;

    (void)done, (void)context; /* never pending */
    if (!mdl || length == 0 || length > mr->obj.adapter->limits.max_registration || !flags_are_valid(flags))
        return STATUS_INVALID_PARAMETER;
    if (!mdl_address(mdl) || !is_contiguous(mdl, length))
        return STATUS_INVALID_PARAMETER;
    /* LEAVING keeps others out until there is a region. */
    if (!step(mr, EMPTY, LEAVING))
        return STATUS_INVALID_DEVICE_STATE;
    unsigned char *memory = mdl_address(mdl);
    int error = ops_of(mr)->mr_register(mr->fabric, memory, length, (uintptr_t)memory, access_of(flags), &token);
    if (error) {
        step(mr, LEAVING, EMPTY);
        return status_of_errno(error);
    }
    atomic_store(&mr->token, token);
    step(mr, LEAVING, REGISTERED);
    return STATUS_SUCCESS;
}

static void deregistered(void *context)
{
    struct mr *mr = context;

    step(mr, LEAVING, EMPTY);
    request_complete(&mr->deregister, STATUS_SUCCESS);
}

static NTSTATUS deregister_mr(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct mr *mr = mr_of(pub);

    /* The request is one: until its completion has been delivered it cannot be made again. */
    if (!done || request_is_pending(&mr->deregister) || !step(mr, REGISTERED, LEAVING))
        return done ? STATUS_INVALID_DEVICE_STATE : STATUS_INVALID_PARAMETER;
    request_begin(&mr->deregister, &mr->obj, done, context);
    if (!MUTANT(mem_03_nothing_deregistered) && !ops_of(mr)->mr_deregister(mr->fabric, deregistered, mr))
        return STATUS_PENDING;
    step(mr, LEAVING, EMPTY);
    request_cancel(&mr->deregister);
    return STATUS_SUCCESS;
}

/* A close ends what is registered; while data for it is under way, retire waits. */
static void cancel(struct object *o)
{
    struct mr *mr = mr_of_object(o);

    if (step(mr, REGISTERED, LEAVING))
        ops_of(mr)->mr_kill(mr->fabric);
}

static void closed(void *context)
{
    struct mr *mr = context;

    object_retired(&mr->obj);
}

static bool retire(struct object *o)
{
    struct mr *mr = mr_of_object(o);

    ops_of(mr)->mr_kill(mr->fabric);
    return ops_of(mr)->mr_close(mr->fabric, closed, mr);
}

static void destroy(struct object *o)
{
    (void)o; /* the fabric's went in retire */
}

/* Fast registration is a capability that the adapter lacks (FRMRPageCount 0). */
static NTSTATUS initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION done,
                                         PVOID context)
{
    (void)pub, (void)pages, (void)remote, (void)done, (void)context;
    return STATUS_NOT_SUPPORTED;
}

/* One token for both sides: the rights tell them apart. */
static UINT32 get_token(NDK_MR *pub)
{
    return atomic_load(&mr_of(pub)->token);
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

    if (fast_register)
        return STATUS_NOT_SUPPORTED;
    struct mr *mr = calloc(1, sizeof(*mr));
    int error = mr ? a->fabric->ops->mr_create(a->fabric, pd_domain(pd), &mr->fabric) : ENOMEM;
    if (error) {
        free(mr);
        return status_of_errno(error);
    }
    object_init(&mr->obj, &type, &mr->pub.Header, mr, a, adapter_home(a));
    mr->pub.Dispatch = &dispatch;
    spin_init(&mr->lock);
    atomic_init(&mr->token, UINT32_MAX); /* valid once registered; not the privileged one before that */
    object_depend(&mr->obj, &pd->obj);
    return object_created(a, &mr->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
