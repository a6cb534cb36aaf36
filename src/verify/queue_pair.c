/* SPDX-License-Identifier: MIT */
/* Queue pairs, and the requests that are posted to them. */
#include "verify/queue.h"

static VOID verify_qp_flush(NDK_QP *pub)
{
    PROXY_CALL(p, pub, "NdkFlush");
    NDK_QP *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkFlush(real);
}

/* The queue that a routine posts to; the compiler evaluates it. */
#define QP_QUEUE_OF(routine) (__builtin_strcmp(routine, "NdkReceive") ? QUEUE_INITIATE : QUEUE_RECEIVE)

/* Begins a post. Defines qp, real (the provider's queue pair; NULL if qp is closed) and record (the post's context). */
#define QP_BEGIN_POST(routine, sgl, sges, flags)                                                                       \
    PROXY_CALL(called, pub, routine);                                                                                  \
    struct queue *qp = (struct queue *)called;                                                                         \
    NDK_QP *real = qp ? qp->p.real : NULL;                                                                             \
    if (qp)                                                                                                            \
        exclusive_enter(&qp->exclusive[QP_QUEUE_OF(routine)], false);                                                  \
    void *record = real ? posted_add(&qp->posted, routine, context, sgl, sges, flags) : NULL

static NTSTATUS verify_qp_send(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    QP_BEGIN_POST("NdkSend", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record, real->Dispatch->NdkSend(real, record, sgl, sges, flags));
}

static NTSTATUS verify_qp_send_and_invalidate(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags,
                                              UINT32 token)
{
    QP_BEGIN_POST("NdkSendAndInvalidate", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record,
                           real->Dispatch->NdkSendAndInvalidate(real, record, sgl, sges, flags, token));
}

static NTSTATUS verify_qp_receive(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    QP_BEGIN_POST("NdkReceive", sgl, sges, 0);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record, real->Dispatch->NdkReceive(real, record, sgl, sges));
}

static NTSTATUS verify_qp_read(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                               ULONG flags)
{
    QP_BEGIN_POST("NdkRead", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record,
                           real->Dispatch->NdkRead(real, record, sgl, sges, address, token, flags));
}

static NTSTATUS verify_qp_write(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address,
                                UINT32 token, ULONG flags)
{
    QP_BEGIN_POST("NdkWrite", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record,
                           real->Dispatch->NdkWrite(real, record, sgl, sges, address, token, flags));
}

static NTSTATUS verify_qp_bind(NDK_QP *pub, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length,
                               ULONG flags)
{
    QP_BEGIN_POST("NdkBind", NULL, 0, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record,
                           real->Dispatch->NdkBind(real, record, PROXY_REAL(mr, "NdkBind"), PROXY_REAL(mw, "NdkBind"),
                                                   address, length, flags));
}

/*
 * Stores the pages of an NdkFastRegister in `runs`, as SGEs of adjacent pages. Returns the number of SGEs. real is the
 * provider's region, or NULL. If there are more pages than the region was initialized for, returns 0 without reading
 * the array, because the array may be shorter; the provider then refuses the request.
 */
static ULONG qp_fast_register_sges(const struct posted *posted, NDK_MR *mr, const NDK_MR *real, ULONG page_count,
                                   const NDK_LOGICAL_ADDRESS *pages, NDK_SGE *runs)
{
    if (!verify_on() || !real || page_count > atomic_load(&((struct proxy *)mr)->fast_pages))
        return 0;
    return posted_page_sges(posted, pages, page_count, runs);
}

static NTSTATUS verify_qp_fast_register(NDK_QP *pub, PVOID context, NDK_MR *mr, ULONG page_count,
                                        CONST NDK_LOGICAL_ADDRESS *pages, ULONG fbo, SIZE_T length, PVOID base,
                                        ULONG flags)
{
    PROXY_CALL(called, pub, "NdkFastRegister");
    struct queue *qp = (struct queue *)called;
    NDK_MR *region = PROXY_REAL(mr, "NdkFastRegister");
    NDK_QP *real = qp ? qp->p.real : NULL;
    NDK_SGE runs[POSTED_MAX_SGES];
    void *record;
    ULONG sges;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    exclusive_enter(&qp->exclusive[QUEUE_INITIATE], false);
    sges = qp_fast_register_sges(&qp->posted, mr, region, page_count, pages, runs);
    record = posted_add(&qp->posted, "NdkFastRegister", context, runs, sges, flags);
    return posted_end_post(
        &qp->posted, record,
        real->Dispatch->NdkFastRegister(real, record, region, page_count, pages, fbo, length, base, flags));
}

static NTSTATUS verify_qp_invalidate(NDK_QP *pub, PVOID context, NDK_OBJECT_HEADER *mr_or_mw, ULONG flags)
{
    QP_BEGIN_POST("NdkInvalidate", NULL, 0, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posted_end_post(&qp->posted, record,
                           real->Dispatch->NdkInvalidate(real, record, PROXY_REAL(mr_or_mw, "NdkInvalidate"), flags));
}

static const NDK_QP_DISPATCH qp_dispatch = {
    .NdkCloseQp = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkFlush = verify_qp_flush,
    .NdkSend = verify_qp_send,
    .NdkReceive = verify_qp_receive,
    .NdkBind = verify_qp_bind,
    .NdkFastRegister = verify_qp_fast_register,
    .NdkInvalidate = verify_qp_invalidate,
    .NdkRead = verify_qp_read,
    .NdkWrite = verify_qp_write,
    .NdkSendAndInvalidate = verify_qp_send_and_invalidate,
};

static struct queue *qp_create(struct proxy *parent, const char *routine, size_t depth, void *qp_context,
                               NDK_FN_CREATE_COMPLETION done, void *context)
{
    struct queue *qp = queue_create(NdkObjectTypeQp, &qp_dispatch, depth, parent);

    if (!qp)
        return NULL;
    qp->p.context = qp_context;
    proxy_begin_create(&qp->p, routine, done, context);
    return qp;
}

NTSTATUS verify_create_qp(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                          ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                          NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    PROXY_CALL(parent, pub, "NdkCreateQp");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = PROXY_REAL(receive_cq, "NdkCreateQp");
    NDK_CQ *real_initiator = PROXY_REAL(initiator_cq, "NdkCreateQp");
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    qp = qp_create(parent, "NdkCreateQp", (size_t)receive_depth + initiator_depth, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (real_receive)
        queue_add_pair((struct queue *)receive_cq, qp, QUEUE_RECEIVE);
    if (real_initiator)
        queue_add_pair((struct queue *)initiator_cq, qp, QUEUE_INITIATE);
    return proxy_end_create(&qp->p,
                            real->Dispatch->NdkCreateQp(real, real_receive, real_initiator, qp, receive_depth,
                                                        initiator_depth, receive_sges, initiator_sges, inline_size,
                                                        proxy_create_routine(&qp->p), qp, &made),
                            &made, out);
}

NTSTATUS verify_create_qp_with_srq(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq,
                                   PVOID qp_context, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    PROXY_CALL(parent, pub, "NdkCreateQpWithSrq");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = PROXY_REAL(receive_cq, "NdkCreateQpWithSrq");
    NDK_CQ *real_initiator = PROXY_REAL(initiator_cq, "NdkCreateQpWithSrq");
    NDK_SRQ *real_srq = PROXY_REAL(srq, "NdkCreateQpWithSrq");
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    qp = qp_create(parent, "NdkCreateQpWithSrq", initiator_depth, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (real_srq) {
        qp->srq = (struct queue *)srq;
        proxy_ref(&qp->srq->p);
    }
    if (real_receive)
        queue_add_pair((struct queue *)receive_cq, qp, QUEUE_RECEIVE);
    if (real_initiator)
        queue_add_pair((struct queue *)initiator_cq, qp, QUEUE_INITIATE);
    return proxy_end_create(&qp->p,
                            real->Dispatch->NdkCreateQpWithSrq(real, real_receive, real_initiator, real_srq, qp,
                                                               initiator_depth, initiator_sges, inline_size,
                                                               proxy_create_routine(&qp->p), qp, &made),
                            &made, out);
}
