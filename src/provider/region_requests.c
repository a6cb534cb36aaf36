/* SPDX-License-Identifier: MIT */
/*
 * The requests that give a memory region or window its token, and end it.
 *
 * A post holds what it names, as another thread may close it meanwhile: the close then ends after the post.
 *
 * What can be told at once is refused at once: state, protection domain, flags, rights, range, pages that belong to no
 * mapping. What depends on the requests ahead (is the token still alive in its turn?) is told by the completion.
 *
 * A base address of zero is taken where the first byte offset is zero: zero is then a multiple of the page size plus
 * the offset like any other, and the reference allows it by name, though it says elsewhere that there are none based
 * at zero.
 */
#include <stdbool.h>
#include <stdint.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/region.h"
#include "provider/requests.h"
#include "provider/status.h"

enum {
    WRITE_ALONE = NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE,
    FLAGS_BIND = REQUEST_FLAGS | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE,
    /* The sink flag asks for nothing here: reads need local write alone. */
    FLAGS_FAST_REGISTER = FLAGS_BIND | NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK,
};

static const struct fabric_info *limits_of(const struct qp *qp)
{
    return &qp->obj.adapter->limits;
}

static const struct fabric_ops *ops_of(const struct qp *qp)
{
    return qp->obj.adapter->fabric->ops;
}

static unsigned access_of(ULONG flags)
{
    unsigned access = RDMA_ACCESS_LOCAL_READ;

    if (flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE)
        access |= RDMA_ACCESS_LOCAL_WRITE;
    if (flags & NDK_OP_FLAG_ALLOW_REMOTE_READ)
        access |= RDMA_ACCESS_REMOTE_READ;
    if (flags & WRITE_ALONE)
        access |= RDMA_ACCESS_REMOTE_WRITE;
    return access;
}

/* False: it is being closed. */
static bool hold(struct region *r)
{
    return object_try_ref(r->obj, REF_LOOKUP);
}

static void let_go(struct region *r)
{
    object_unref(r->obj, REF_LOOKUP);
}

/* ---- What makes a token ---- */

/* Either pages, or a window's range of another region. */
struct making {
    struct region *region;
    const struct rdma_pages *pages;
    uint32_t of;
    uint64_t address, len;
    unsigned access;
};

static int prepare(const struct fabric_ops *ops, const struct making *m, uint32_t *token)
{
    if (m->pages)
        return ops->mr_prepare_pages(m->region->fabric, m->pages, token);
    return ops->mr_prepare_window(m->region->fabric, m->of, m->address, m->len, m->access, token);
}

/* Once it is posted it may complete, and the region be closed, before the post is back: the caller holds the region. */
static NTSTATUS make(struct qp *qp, struct rdma_request *r, const struct making *m)
{
    int error = prepare(ops_of(qp), m, &r->token);

    if (error)
        return status_of_errno(error);
    error = ops_of(qp)->qp_post(qp->fabric, r);
    if (error)
        ops_of(qp)->mr_discard(m->region->fabric, r->token);
    return status_of_errno(error);
}

static bool base_is_valid(const struct rdma_pages *p)
{
    if (p->base_address < p->offset || (p->base_address - p->offset) % PAGE_SIZE != 0)
        return false;
    return p->len > 0 && p->len - 1 <= UINT64_MAX - p->base_address;
}

static NTSTATUS try_fast_register(struct qp *qp, struct rdma_request *r, NDK_MR *mr, struct rdma_pages *pages,
                                  ULONG flags)
{
    const ULONG remote_rights = NDK_OP_FLAG_ALLOW_REMOTE_READ | WRITE_ALONE;
    bool remote, half = (flags & WRITE_ALONE) && !(flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE);

    if (flags & ~(ULONG)FLAGS_FAST_REGISTER || half || mr_region(mr)->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    uint32_t most = mr_fast_pages(mr, &remote);
    if (!most)
        return STATUS_INVALID_DEVICE_STATE;
    if (!pages->logical || pages->count > most || !base_is_valid(pages))
        return STATUS_INVALID_PARAMETER;
    if (flags & remote_rights && !remote)
        return STATUS_ACCESS_VIOLATION;
    pages->access = access_of(flags);
    r->flags = request_flags(flags);
    return make(qp, r, &(struct making){.region = mr_region(mr), .pages = pages});
}

static NTSTATUS hold_and_fast_register(struct qp *qp, struct rdma_request *r, NDK_MR *mr, struct rdma_pages *pages,
                                       ULONG flags)
{
    if (!limits_of(qp)->fast_register_pages)
        return STATUS_NOT_SUPPORTED;
    if (!mr)
        return STATUS_INVALID_PARAMETER;
    if (!hold(mr_region(mr)))
        return STATUS_INVALID_DEVICE_STATE;
    NTSTATUS status = try_fast_register(qp, r, mr, pages, flags);
    let_go(mr_region(mr));
    return status;
}

NTSTATUS region_fast_register(NDK_QP *pub, PVOID context, NDK_MR *mr, ULONG page_count,
                              CONST NDK_LOGICAL_ADDRESS *logical, ULONG fbo, SIZE_T length, PVOID base, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = {.op = RDMA_OP_FAST_REGISTER, .context = context};
    struct rdma_pages pages = {
        .logical = (const uint64_t *)(const void *)logical,
        .count = page_count,
        .offset = fbo,
        .len = length,
        .base_address = (uintptr_t)base,
    };

    request_enter(qp);
    return request_leave(qp, hold_and_fast_register(qp, &r, mr, &pages, flags));
}

/* The window is bound to what the region's newest token names. */
static NTSTATUS try_bind(struct qp *qp, struct rdma_request *r, const struct region *of, struct making *m,
                         ULONG flags)
{
    bool half = (flags & WRITE_ALONE) ? !(flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE)
                                      : (flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE) != 0;

    if (flags & ~(ULONG)FLAGS_BIND || half || m->len > limits_of(qp)->max_window)
        return STATUS_INVALID_PARAMETER;
    if (of->pd != qp->pd || m->region->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    m->of = region_token(of);
    if (!m->of)
        return STATUS_INVALID_DEVICE_STATE;
    m->access = access_of(flags) & ~(unsigned)RDMA_ACCESS_LOCAL_WRITE;
    r->flags = request_flags(flags);
    return make(qp, r, m);
}

static NTSTATUS hold_and_bind(struct qp *qp, struct rdma_request *r, NDK_MR *mr, NDK_MW *mw, struct making *m,
                              ULONG flags)
{
    NTSTATUS status = STATUS_INVALID_DEVICE_STATE;

    if (!limits_of(qp)->max_window)
        return STATUS_NOT_SUPPORTED;
    if (!mr || !mw)
        return STATUS_INVALID_PARAMETER;
    m->region = mw_region(mw);
    if (!hold(mr_region(mr)))
        return status;
    if (hold(m->region)) {
        status = try_bind(qp, r, mr_region(mr), m, flags);
        let_go(m->region);
    }
    let_go(mr_region(mr));
    return status;
}

NTSTATUS region_bind(NDK_QP *pub, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = {.op = RDMA_OP_BIND, .context = context};
    struct making m = {.address = (uintptr_t)address, .len = length};

    request_enter(qp);
    return request_leave(qp, hold_and_bind(qp, &r, mr, mw, &m, flags));
}

/* ---- What ends it ---- */

/* NULL: what requests cannot end. */
static struct region *revocable(NDK_OBJECT_HEADER *header)
{
    if (header->ObjectType == NdkObjectTypeMw)
        return mw_region((NDK_MW *)header);
    if (header->ObjectType == NdkObjectTypeMr && mr_is_fast((NDK_MR *)header))
        return mr_region((NDK_MR *)header);
    return NULL;
}

static NTSTATUS try_invalidate(struct qp *qp, struct rdma_request *r, const struct region *region, ULONG flags)
{
    if (flags & ~(ULONG)REQUEST_FLAGS || region->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    r->flags = request_flags(flags);
    r->token = region_left(region);
    return r->token ? status_of_errno(ops_of(qp)->qp_post(qp->fabric, r)) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS hold_and_invalidate(struct qp *qp, struct rdma_request *r, NDK_OBJECT_HEADER *header, ULONG flags)
{
    if (!limits_of(qp)->max_window && !limits_of(qp)->fast_register_pages)
        return STATUS_NOT_SUPPORTED;
    struct region *region = header ? revocable(header) : NULL;
    if (!region)
        return STATUS_INVALID_PARAMETER;
    if (!hold(region))
        return STATUS_INVALID_DEVICE_STATE;
    NTSTATUS status = try_invalidate(qp, r, region, flags);
    let_go(region);
    return status;
}

NTSTATUS region_invalidate(NDK_QP *pub, PVOID context, NDK_OBJECT_HEADER *object, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = {.op = RDMA_OP_INVALIDATE, .context = context};

    request_enter(qp);
    return request_leave(qp, hold_and_invalidate(qp, &r, object, flags));
}
