/* SPDX-License-Identifier: MIT */
/*
 * The entries of a queue pair's table: NDK requests become the fabric's requests. The invariant: a post that rings the
 * doorbell has a reference, because its completion can run, and close the queue pair, before the call returns. Posts
 * that only queue, receives and deferred requests, need none: the fabric's close waits for them (fabric.h). A post that
 * fails rings the doorbell for the deferred requests before it.
 */
#include <string.h>

#include "provider/adapter.h"
#include "provider/limits.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/requests.h"
#include "provider/status.h"

enum {
    FLAGS_SEND = REQUEST_FLAGS | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE,
    FLAGS_WRITE = REQUEST_FLAGS | NDK_OP_FLAG_INLINE, /* the inline size of a queue pair is for sends and writes */
    FLAGS_READ = REQUEST_FLAGS | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE,
};

unsigned request_flags(ULONG flags)
{
    unsigned out = 0;

    if (flags & NDK_OP_FLAG_SILENT_SUCCESS)
        out |= RDMA_FLAG_SILENT;
    if (flags & NDK_OP_FLAG_READ_FENCE)
        out |= RDMA_FLAG_READ_FENCE;
    if (flags & NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT)
        out |= RDMA_FLAG_SOLICIT;
    if (flags & NDK_OP_FLAG_INLINE)
        out |= RDMA_FLAG_INLINE;
    if (flags & NDK_OP_FLAG_DEFER)
        out |= RDMA_FLAG_DEFER;
    return out;
}

NTSTATUS request_sges(const struct adapter *a, const NDK_SGE *sgl, ULONG count, ULONG max, struct rdma_sge *out)
{
    uint64_t total = 0;

    if (count > max || (count && !sgl))
        return STATUS_INVALID_PARAMETER;
    for (ULONG i = 0; i < count; i++) {
        bool logical = sgl[i].MemoryRegionToken == FABRIC_PRIVILEGED_TOKEN;
        total += sgl[i].Length;
        out[i] = (struct rdma_sge){
            .address = logical ? (uint64_t)sgl[i].LogicalAddress.QuadPart : (uintptr_t)sgl[i].VirtualAddress,
            .length = sgl[i].Length,
            .token = sgl[i].MemoryRegionToken,
        };
    }
    return total > a->limits.max_transfer ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

/* Copies inline data from any number of SGEs into one buffer. */
static NTSTATUS post_gather_inline(const struct qp *qp, const NDK_SGE *sgl, ULONG count, unsigned char *buffer,
                                   struct rdma_sge *out)
{
    uint32_t total = 0;

    if (count && !sgl)
        return STATUS_INVALID_PARAMETER;
    for (ULONG i = 0; i < count; i++) {
        if (sgl[i].Length > qp->inline_size - total)
            return STATUS_INVALID_PARAMETER;
        if (sgl[i].Length)
            memcpy(buffer + total, sgl[i].VirtualAddress, sgl[i].Length);
        total += sgl[i].Length;
    }
    *out = (struct rdma_sge){.address = (uintptr_t)buffer, .length = total};
    return STATUS_SUCCESS;
}

/* The request may complete, and the consumer may close the queue pair, before this returns. */
static NTSTATUS post_request(struct qp *qp, struct rdma_request *r)
{
    return status_of_errno(qp_ops(qp)->qp_post(qp->fabric, r));
}

static NTSTATUS post_inline(struct qp *qp, struct rdma_request *r, const NDK_SGE *sgl, ULONG count)
{
    unsigned char buffer[MAX_REQUEST_INLINE];
    struct rdma_sge sge;
    NTSTATUS status = post_gather_inline(qp, sgl, count, buffer, &sge);

    if (status)
        return status;
    r->sges = &sge;
    r->sge_count = 1;
    return post_request(qp, r);
}

/* Posts a request that is not inline, with at most max SGEs. */
static NTSTATUS post_sges(struct qp *qp, struct rdma_request *r, const NDK_SGE *sgl, ULONG count, ULONG max)
{
    struct rdma_sge sges[MAX_REQUEST_SGES];
    NTSTATUS status = request_sges(qp->obj.adapter, sgl, count, max, sges);

    if (status)
        return status;
    r->sges = sges;
    r->sge_count = count;
    return post_request(qp, r);
}

/* Posts an initiator request if its flags are allowed. */
static NTSTATUS post_checked(struct qp *qp, struct rdma_request *r, const NDK_SGE *sgl, ULONG count, ULONG flags,
                             ULONG allowed)
{
    uint32_t max = qp->initiator_sges;

    if (flags & ~allowed)
        return STATUS_INVALID_PARAMETER;
    r->flags |= request_flags(flags);
    if (flags & NDK_OP_FLAG_INLINE)
        return post_inline(qp, r, sgl, count);
    if (r->op == RDMA_OP_READ && max > qp->obj.adapter->limits.max_read_sge)
        max = qp->obj.adapter->limits.max_read_sge;
    return post_sges(qp, r, sgl, count, max);
}

void post_begin(struct qp *qp)
{
    object_ref(&qp->obj, REF_INTERNAL);
}

NTSTATUS post_end(struct qp *qp, NTSTATUS status)
{
    if (status)
        qp_ops(qp)->qp_release(qp->fabric);
    object_unref(&qp->obj, REF_INTERNAL);
    return status;
}

static NTSTATUS post_initiator(struct qp *qp, struct rdma_request *r, const NDK_SGE *sgl, ULONG count, ULONG flags,
                               ULONG allowed)
{
    bool has_ref = !(flags & NDK_OP_FLAG_DEFER);
    NTSTATUS status;

    if (has_ref)
        post_begin(qp);
    status = post_checked(qp, r, sgl, count, flags, allowed);
    if (!has_ref && !status)
        return status; /* qp may have been freed */
    if (!has_ref)
        post_begin(qp);
    return post_end(qp, status);
}

static NTSTATUS qp_ndk_send(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, ULONG flags)
{
    struct rdma_request r = {.op = RDMA_OP_SEND, .context = context};

    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_SEND);
}

static NTSTATUS qp_ndk_send_and_invalidate(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, ULONG flags,
                                           UINT32 token)
{
    struct rdma_request r = {.op = RDMA_OP_SEND, .flags = RDMA_FLAG_SEND_INVALIDATE, .context = context,
                               .remote_token = token};

    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_SEND);
}

static NTSTATUS qp_ndk_receive(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = {.op = RDMA_OP_RECEIVE, .context = context};

    return post_sges(qp, &r, sgl, count, qp->receive_sges);
}

/* The flag for local invalidation is ignored if the adapter does not report it. */
static NTSTATUS qp_ndk_read(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, UINT64 address, UINT32 token,
                            ULONG flags)
{
    struct rdma_request r = {
        .op = RDMA_OP_READ, .context = context, .remote_address = address, .remote_token = token};

    if (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE && qp_of(pub)->obj.adapter->limits.read_local_invalidate)
        r.flags = RDMA_FLAG_READ_INVALIDATE;
    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_READ);
}

static NTSTATUS qp_ndk_write(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, UINT64 address, UINT32 token,
                             ULONG flags)
{
    struct rdma_request r = {
        .op = RDMA_OP_WRITE, .context = context, .remote_address = address, .remote_token = token};

    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_WRITE);
}

static void qp_ndk_flush(NDK_QP *pub)
{
    struct qp *qp = qp_of(pub);

    object_ref(&qp->obj, REF_INTERNAL);
    qp_ops(qp)->qp_flush(qp->fabric);
    object_unref(&qp->obj, REF_INTERNAL);
}

const NDK_QP_DISPATCH qp_dispatch = {
    .NdkCloseQp = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkFlush = qp_ndk_flush,
    .NdkSend = qp_ndk_send,
    .NdkReceive = qp_ndk_receive,
    .NdkBind = region_bind,
    .NdkFastRegister = region_fast_register,
    .NdkInvalidate = region_invalidate,
    .NdkRead = qp_ndk_read,
    .NdkWrite = qp_ndk_write,
    .NdkSendAndInvalidate = qp_ndk_send_and_invalidate,
};
