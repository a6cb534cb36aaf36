/* SPDX-License-Identifier: MIT */
/*
 * Implements the dispatch tables of queue pairs and shared receive queues. A post has one event, which is recorded
 * after the post.
 */
#include "calltrace/entries.h"
#include "calltrace/traced_call.h"

/*
 * Returns the number of bytes in all SGEs. `max` is the queue's limit, or 0 if the limit is not known. If `sges` is
 * above `max`, returns 0 without reading the list. The provider refuses such a request without reading the list, so the
 * list may have fewer than `sges` elements. Must run before the provider's post, because the consumer may free the list
 * when the request has completed.
 */
static uint32_t traced_sge_bytes(const NDK_SGE *sgl, ULONG sges, ULONG max)
{
    uint64_t bytes = 0;

    for (ULONG i = 0; sgl && sges <= max && i < sges; i++)
        bytes += sgl[i].Length;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/*
 * Returns the number of bytes of a send or write. Inline data may have more SGEs than the queue pair's limit, so its
 * whole list is read.
 */
static uint32_t traced_sent_bytes(const NDK_QP *qp, const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    return traced_sge_bytes(sgl, sges, flags & NDK_OP_FLAG_INLINE ? sges : traced_table_sges(qp->Dispatch).initiator);
}

static uint16_t traced_sge_count(ULONG sges)
{
    return (uint16_t)(sges < UINT16_MAX ? sges : UINT16_MAX);
}

/* ---- queue pairs ---- */

static NTSTATUS traced_qp_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, (NDK_QP *)object);
    TRACED_CALL(call, NdkCloseQp, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseQp, object, done, context);
}

static VOID traced_qp_flush(NDK_QP *qp)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    TRACED_CALL(call, NdkFlush, .object = (uintptr_t)qp);

    real->NdkFlush(qp);
    (void)traced_call_end(&call, STATUS_SUCCESS);
}

static NTSTATUS traced_qp_send(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint32_t bytes = traced_sent_bytes(qp, sgl, sges, flags);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkSend(qp, context, sgl, sges, flags);

    TRACED_RETURN(NdkSend, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes, .flags = flags);
    return status;
}

static NTSTATUS traced_qp_send_and_invalidate(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags,
                                              UINT32 token)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint32_t bytes = traced_sent_bytes(qp, sgl, sges, flags);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkSendAndInvalidate(qp, context, sgl, sges, flags, token);

    TRACED_RETURN(NdkSendAndInvalidate, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes, .flags = flags, .token = token);
    return status;
}

static NTSTATUS traced_qp_receive(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint32_t bytes = traced_sge_bytes(sgl, sges, traced_table_sges(qp->Dispatch).receive);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkReceive(qp, context, sgl, sges);

    TRACED_RETURN(NdkReceive, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes);
    return status;
}

static NTSTATUS traced_qp_read(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                               ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint32_t bytes = traced_sge_bytes(sgl, sges, traced_table_sges(qp->Dispatch).initiator);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkRead(qp, context, sgl, sges, address, token, flags);

    TRACED_RETURN(NdkRead, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes, .flags = flags, .address = address, .token = token);
    return status;
}

static NTSTATUS traced_qp_write(NDK_QP *qp, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                                ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint32_t bytes = traced_sent_bytes(qp, sgl, sges, flags);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkWrite(qp, context, sgl, sges, address, token, flags);

    TRACED_RETURN(NdkWrite, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes, .flags = flags, .address = address, .token = token);
    return status;
}

static NTSTATUS traced_qp_bind(NDK_QP *qp, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length,
                               ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkBind(qp, context, mr, mw, address, length, flags);

    TRACED_RETURN(NdkBind, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .mr = (uintptr_t)mr, .mw = (uintptr_t)mw, .address = (uintptr_t)address, .length = length,
                  .flags = flags);
    return status;
}

static NTSTATUS traced_qp_fast_register(NDK_QP *qp, PVOID context, NDK_MR *mr, ULONG pages,
                                        CONST NDK_LOGICAL_ADDRESS *array, ULONG fbo, SIZE_T length, PVOID address,
                                        ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkFastRegister(qp, context, mr, pages, array, fbo, length, address, flags);

    TRACED_RETURN(NdkFastRegister, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .mr = (uintptr_t)mr, .pages = pages, .offset = fbo, .length = length, .address = (uintptr_t)address,
                  .flags = flags);
    return status;
}

static NTSTATUS traced_qp_invalidate(NDK_QP *qp, PVOID context, NDK_OBJECT_HEADER *target, ULONG flags)
{
    const NDK_QP_DISPATCH *real = TRACED_REAL(Qp, qp);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkInvalidate(qp, context, target, flags);

    TRACED_RETURN(NdkInvalidate, begin_ns, status, .object = (uintptr_t)qp, .context = (uintptr_t)context,
                  .target = (uintptr_t)target, .flags = flags);
    return status;
}

const NDK_QP_DISPATCH traced_qp_entries = {
    .NdkCloseQp = traced_qp_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkFlush = traced_qp_flush,
    .NdkSend = traced_qp_send,
    .NdkReceive = traced_qp_receive,
    .NdkBind = traced_qp_bind,
    .NdkFastRegister = traced_qp_fast_register,
    .NdkInvalidate = traced_qp_invalidate,
    .NdkRead = traced_qp_read,
    .NdkWrite = traced_qp_write,
    .NdkSendAndInvalidate = traced_qp_send_and_invalidate,
};

/* ---- shared receive queues ---- */

static NTSTATUS traced_srq_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    const NDK_SRQ_DISPATCH *real = TRACED_REAL(Srq, (NDK_SRQ *)object);
    TRACED_CALL(call, NdkCloseSrq, .object = (uintptr_t)object);

    return traced_close(&call, real->NdkCloseSrq, object, done, context);
}

static NTSTATUS traced_srq_modify(NDK_SRQ *srq, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION done,
                                  PVOID context)
{
    const NDK_SRQ_DISPATCH *real = TRACED_REAL(Srq, srq);
    TRACED_CALL(call, NdkModifySrq, .object = (uintptr_t)srq, .depth = depth, .threshold = threshold);

    traced_call_set_request(&call, done, context);
    return traced_call_end(&call, real->NdkModifySrq(srq, depth, threshold, traced_call_routine(&call, done),
                                                     traced_call_context(&call, context)));
}

static NTSTATUS traced_srq_receive(NDK_SRQ *srq, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    const NDK_SRQ_DISPATCH *real = TRACED_REAL(Srq, srq);
    uint32_t bytes = traced_sge_bytes(sgl, sges, traced_table_sges(srq->Dispatch).receive);
    uint64_t begin_ns = traced_now();
    NTSTATUS status = real->NdkSrqReceive(srq, context, sgl, sges);

    TRACED_RETURN(NdkSrqReceive, begin_ns, status, .object = (uintptr_t)srq, .context = (uintptr_t)context,
                  .sges = traced_sge_count(sges), .bytes = bytes);
    return status;
}

const NDK_SRQ_DISPATCH traced_srq_entries = {
    .NdkCloseSrq = traced_srq_close,
    .NdkQueryExtension = traced_query_extension,
    .NdkModifySrq = traced_srq_modify,
    .NdkSrqReceive = traced_srq_receive,
};
