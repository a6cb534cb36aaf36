/* SPDX-License-Identifier: MIT */
/*
 * Implements the functions of a queue pair's dispatch table, which convert NDK requests to the fabric's requests. The
 * invariant: a post that starts requests has a reference on the queue pair. The request may complete before the post
 * returns, and the consumer may then close the queue pair. Posts of receives and of deferred requests need no
 * reference, because the fabric's qp_close waits for these posts. If a post fails, the deferred requests that were
 * posted earlier are started.
 */
#include <stddef.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/requests.h"
#include "provider/status.h"

enum {
    FLAGS_SEND = REQUEST_FLAGS | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE,
    FLAGS_WRITE = REQUEST_FLAGS | NDK_OP_FLAG_INLINE, /* only sends and writes can have NDK_OP_FLAG_INLINE */
    FLAGS_READ = REQUEST_FLAGS | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE,
};

/* The consumer's array is read as an array of struct rdma_sge. So it is copied only once, into the queue pair. */
_Static_assert(sizeof(NDK_SGE) == sizeof(struct rdma_sge) &&
                   offsetof(NDK_SGE, VirtualAddress) == offsetof(struct rdma_sge, address) &&
                   offsetof(NDK_SGE, LogicalAddress) == offsetof(struct rdma_sge, address) &&
                   sizeof(PVOID) == sizeof(uint64_t) &&
                   offsetof(NDK_SGE, Length) == offsetof(struct rdma_sge, length) &&
                   offsetof(NDK_SGE, MemoryRegionToken) == offsetof(struct rdma_sge, token),
               "an NDK_SGE can be read as a struct rdma_sge");

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

NTSTATUS request_set_sges(struct rdma_request *r, const struct adapter *a, const NDK_SGE *sgl, ULONG count, ULONG max)
{
    uint64_t total = 0;

    if (count > max || (count && !sgl))
        return STATUS_INVALID_PARAMETER;
    for (ULONG i = 0; i < count; i++)
        total += sgl[i].Length;
    r->sges = (const struct rdma_sge *)sgl;
    r->sge_count = count;
    return total > a->limits.max_transfer ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

/*
 * Returns the maximum number of SGEs of the request. Inline data may have any number of SGEs, because the data is
 * copied to one buffer of the queue pair.
 */
static ULONG post_max_sges(const struct qp *qp, enum rdma_op op, ULONG flags)
{
    uint32_t read = qp->obj.adapter->limits.max_read_sge;

    if (flags & NDK_OP_FLAG_INLINE)
        return MAXULONG;
    return op == RDMA_OP_READ && read < qp->initiator_sges ? read : qp->initiator_sges;
}

void post_begin(struct qp *qp)
{
    object_ref(&qp->obj, REF_INTERNAL);
}

NTSTATUS post_end(struct qp *qp, NTSTATUS status)
{
    if (status)
        qp_ops(qp)->qp_ring(qp->fabric);
    object_unref(&qp->obj, REF_INTERNAL);
    return status;
}

/* Checks and posts an initiator request. The consumer may close `qp` before this function returns. */
static NTSTATUS post_initiator(struct qp *qp, struct rdma_request *r, const NDK_SGE *sgl, ULONG count, ULONG flags,
                               ULONG allowed)
{
    NTSTATUS status = STATUS_INVALID_PARAMETER;
    bool has_ref = !(flags & NDK_OP_FLAG_DEFER);

    if (has_ref)
        post_begin(qp);
    if (!(flags & ~allowed))
        status = request_set_sges(r, qp->obj.adapter, sgl, count, post_max_sges(qp, r->op, flags));
    if (!status) {
        r->flags |= request_flags(flags);
        status = status_of_errno(qp_ops(qp)->qp_post(qp->fabric, r));
    }
    if (!has_ref && !status)
        return status; /* qp may have been freed */
    if (!has_ref)
        post_begin(qp);
    return post_end(qp, status);
}

static NTSTATUS qp_ndk_send(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, ULONG flags)
{
    struct rdma_request r = { .op = RDMA_OP_SEND, .context = context };

    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_SEND);
}

static NTSTATUS qp_ndk_send_and_invalidate(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, ULONG flags,
                                           UINT32 token)
{
    struct rdma_request r = {
        .op = RDMA_OP_SEND, .flags = RDMA_FLAG_SEND_INVALIDATE, .context = context, .remote_token = token
    };

    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_SEND);
}

static NTSTATUS qp_ndk_receive(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count)
{
    struct qp *qp = qp_of(pub);
    struct rdma_request r = { .op = RDMA_OP_RECEIVE, .context = context };
    NTSTATUS status = request_set_sges(&r, qp->obj.adapter, sgl, count, qp->receive_sges);

    return status ? status : status_of_errno(qp_ops(qp)->qp_post(qp->fabric, &r));
}

/* Posts a read. Ignores NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE if the adapter does not report support for this flag. */
static NTSTATUS qp_ndk_read(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, UINT64 address, UINT32 token,
                            ULONG flags)
{
    struct rdma_request r = {
        .op = RDMA_OP_READ, .context = context, .remote_address = address, .remote_token = token
    };

    if (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE && qp_of(pub)->obj.adapter->limits.read_local_invalidate)
        r.flags = RDMA_FLAG_READ_INVALIDATE;
    return post_initiator(qp_of(pub), &r, sgl, count, flags, FLAGS_READ);
}

static NTSTATUS qp_ndk_write(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count, UINT64 address, UINT32 token,
                             ULONG flags)
{
    struct rdma_request r = {
        .op = RDMA_OP_WRITE, .context = context, .remote_address = address, .remote_token = token
    };

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
