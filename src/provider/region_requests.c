/* SPDX-License-Identifier: MIT */
/*
 * Posts the requests that make and end the tokens of memory regions and windows.
 *
 * The invariant: during a post, the provider has a reference on each object that the request names. If another thread
 * closes such an object meanwhile, the close stays pending until the post has dropped its reference.
 *
 * The post checks state, protection domain, flags, rights, range and pages. If a mistake depends on earlier requests,
 * the completion reports the mistake. For example, a token may have ended when the request is processed.
 *
 * BaseVirtualAddress must be FBO plus a multiple of the page size, so zero is legal if FBO is zero. Microsoft's
 * reference allows zero in one place and excludes it in another.
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
    REMOTE_WRITE_ONLY = NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE,
    FLAGS_BIND = REQUEST_FLAGS | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE,
    /* NDK_OP_FLAG_RDMA_READ_SINK has no effect: reads need only local write. */
    FLAGS_FAST_REGISTER = FLAGS_BIND | NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK,
};

static const struct fabric_info *region_limits(const struct qp *qp)
{
    return &qp->obj.adapter->limits;
}

static unsigned region_access(ULONG flags)
{
    unsigned access = RDMA_ACCESS_LOCAL_READ;

    if (flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE)
        access |= RDMA_ACCESS_LOCAL_WRITE;
    if (flags & NDK_OP_FLAG_ALLOW_REMOTE_READ)
        access |= RDMA_ACCESS_REMOTE_READ;
    if (flags & REMOTE_WRITE_ONLY)
        access |= RDMA_ACCESS_REMOTE_WRITE;
    return access;
}

/* Takes a reference on the region or window. Returns false if the object is being closed. */
static bool region_try_ref(struct region *r)
{
    return object_try_ref(r->obj, REF_INTERNAL);
}

static void region_unref(struct region *r)
{
    object_unref(r->obj, REF_INTERNAL);
}

/* ---- Making a token ---- */

/*
 * The memory that a new token names. The token of a region names `pages`. The token of a window names the range
 * [address, address + len) of a region. `of` is the token of that region.
 */
struct token_source {
    struct region *region;
    const struct rdma_pages *pages;
    uint32_t of;
    uint64_t address, len;
    unsigned access;
};

static int region_prepare_token(const struct fabric_ops *ops, const struct token_source *m, uint32_t *token)
{
    if (m->pages)
        return ops->mr_prepare_pages(m->region->fabric, m->pages, token);
    return ops->mr_prepare_window(m->region->fabric, m->of, m->address, m->len, m->access, token);
}

/*
 * Posts a request that makes a token. Requires a reference on the region. Otherwise the request could complete and the
 * region could end before qp_post returns.
 */
static NTSTATUS region_post_token(struct qp *qp, struct rdma_request *r, const struct token_source *m)
{
    int error = region_prepare_token(qp_ops(qp), m, &r->token);

    if (error)
        return status_of_errno(error);
    error = qp_ops(qp)->qp_post(qp->fabric, r);
    if (error)
        qp_ops(qp)->mr_unprepare(m->region->fabric, r->token);
    return status_of_errno(error);
}

static bool region_base_is_valid(const struct rdma_pages *p)
{
    if (p->base_address < p->offset || (p->base_address - p->offset) % PAGE_SIZE != 0)
        return false;
    return p->len > 0 && p->len - 1 <= UINT64_MAX - p->base_address;
}

static NTSTATUS region_post_fast_register(struct qp *qp, struct rdma_request *r, NDK_MR *mr, struct rdma_pages *pages,
                                          ULONG flags)
{
    const ULONG remote_rights = NDK_OP_FLAG_ALLOW_REMOTE_READ | REMOTE_WRITE_ONLY;
    bool remote, half = (flags & REMOTE_WRITE_ONLY) && !(flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE);

    if (flags & ~(ULONG)FLAGS_FAST_REGISTER || half || mr_region(mr)->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    uint32_t max = mr_fast_pages(mr, &remote);
    if (!max)
        return STATUS_INVALID_DEVICE_STATE;
    if (!pages->logical || pages->count > max || !region_base_is_valid(pages))
        return STATUS_INVALID_PARAMETER;
    if (flags & remote_rights && !remote)
        return STATUS_ACCESS_VIOLATION;
    pages->access = region_access(flags);
    r->flags = request_flags(flags);
    return region_post_token(qp, r, &(struct token_source){ .region = mr_region(mr), .pages = pages });
}

static NTSTATUS region_check_and_fast_register(struct qp *qp, struct rdma_request *r, NDK_MR *mr,
                                               struct rdma_pages *pages, ULONG flags)
{
    if (!region_limits(qp)->fast_register_pages)
        return STATUS_NOT_SUPPORTED;
    if (!mr)
        return STATUS_INVALID_PARAMETER;
    if (!region_try_ref(mr_region(mr)))
        return STATUS_INVALID_DEVICE_STATE;
    NTSTATUS status = region_post_fast_register(qp, r, mr, pages, flags);
    region_unref(mr_region(mr));
    return status;
}

NTSTATUS region_fast_register(NDK_QP *pub, PVOID context, NDK_MR *mr, ULONG page_count,
                              CONST NDK_LOGICAL_ADDRESS *logical, ULONG fbo, SIZE_T length, PVOID base, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = { .op = RDMA_OP_FAST_REGISTER, .context = context };
    struct rdma_pages pages = {
        .logical = (const uint64_t *)(const void *)logical,
        .count = page_count,
        .offset = fbo,
        .len = length,
        .base_address = (uintptr_t)base,
    };

    post_begin(qp);
    return post_end(qp, region_check_and_fast_register(qp, &r, mr, &pages, flags));
}

/* Binds the window to the newest token of the region `of`. */
static NTSTATUS region_post_bind(struct qp *qp, struct rdma_request *r, const struct region *of, struct token_source *m,
                                 ULONG flags)
{
    bool half = (flags & REMOTE_WRITE_ONLY) ? !(flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE)
                                            : (flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE) != 0;

    if (flags & ~(ULONG)FLAGS_BIND || half || m->len > region_limits(qp)->max_window)
        return STATUS_INVALID_PARAMETER;
    if (of->pd != qp->pd || m->region->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    m->of = region_newest_token(of);
    if (!m->of)
        return STATUS_INVALID_DEVICE_STATE;
    m->access = region_access(flags) & ~(unsigned)RDMA_ACCESS_LOCAL_WRITE;
    r->flags = request_flags(flags);
    return region_post_token(qp, r, m);
}

static NTSTATUS region_check_and_bind(struct qp *qp, struct rdma_request *r, NDK_MR *mr, NDK_MW *mw,
                                      struct token_source *m, ULONG flags)
{
    NTSTATUS status = STATUS_INVALID_DEVICE_STATE;

    if (!region_limits(qp)->max_window)
        return STATUS_NOT_SUPPORTED;
    if (!mr || !mw)
        return STATUS_INVALID_PARAMETER;
    m->region = mw_region(mw);
    if (!region_try_ref(mr_region(mr)))
        return status;
    if (region_try_ref(m->region)) {
        status = region_post_bind(qp, r, mr_region(mr), m, flags);
        region_unref(m->region);
    }
    region_unref(mr_region(mr));
    return status;
}

NTSTATUS region_bind(NDK_QP *pub, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = { .op = RDMA_OP_BIND, .context = context };
    struct token_source m = { .address = (uintptr_t)address, .len = length };

    post_begin(qp);
    return post_end(qp, region_check_and_bind(qp, &r, mr, mw, &m, flags));
}

/* ---- Ending a token ---- */

/* Returns the struct region of a memory region or window. Returns NULL if requests cannot invalidate this object. */
static struct region *region_of_header(NDK_OBJECT_HEADER *header)
{
    if (header->ObjectType == NdkObjectTypeMw)
        return mw_region((NDK_MW *)header);
    if (header->ObjectType == NdkObjectTypeMr && mr_is_fast((NDK_MR *)header))
        return mr_region((NDK_MR *)header);
    return NULL;
}

static NTSTATUS region_post_invalidate(struct qp *qp, struct rdma_request *r, const struct region *region, ULONG flags)
{
    if (flags & ~(ULONG)REQUEST_FLAGS || region->pd != qp->pd)
        return STATUS_INVALID_PARAMETER;
    r->flags = request_flags(flags);
    r->token = region_live_token(region);
    return r->token ? status_of_errno(qp_ops(qp)->qp_post(qp->fabric, r)) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS region_check_and_invalidate(struct qp *qp, struct rdma_request *r, NDK_OBJECT_HEADER *header,
                                            ULONG flags)
{
    if (!region_limits(qp)->max_window && !region_limits(qp)->fast_register_pages)
        return STATUS_NOT_SUPPORTED;
    struct region *region = header ? region_of_header(header) : NULL;
    if (!region)
        return STATUS_INVALID_PARAMETER;
    if (!region_try_ref(region))
        return STATUS_INVALID_DEVICE_STATE;
    NTSTATUS status = region_post_invalidate(qp, r, region, flags);
    region_unref(region);
    return status;
}

NTSTATUS region_invalidate(NDK_QP *pub, PVOID context, NDK_OBJECT_HEADER *object, ULONG flags)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = { .op = RDMA_OP_INVALIDATE, .context = context };

    post_begin(qp);
    return post_end(qp, region_check_and_invalidate(qp, &r, object, flags));
}
