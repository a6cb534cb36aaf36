/* SPDX-License-Identifier: MIT */
/* Queue pairs and what is posted to them: see posted.h. */
#include "verify/posted.h"

static VOID flush(NDK_QP *pub)
{
    struct proxy *p = ENTER(pub, "NdkFlush");
    NDK_QP *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkFlush(real);
}

/* Around the provider's post: qp, real and record are there in between. */
#define POST_BEGIN(routine, sgl, sges, flags)                                              \
    struct queue *qp = (struct queue *)ENTER(pub, routine);                                \
    NDK_QP *real = qp ? qp->p.real : NULL;                                                 \
    void *record = real ? posts_take(&qp->posts, routine, context, sgl, sges, flags) : NULL

static NTSTATUS send(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    POST_BEGIN("NdkSend", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record, real->Dispatch->NdkSend(real, record, sgl, sges, flags));
}

static NTSTATUS send_and_invalidate(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags,
                                    UINT32 token)
{
    POST_BEGIN("NdkSendAndInvalidate", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record,
                        real->Dispatch->NdkSendAndInvalidate(real, record, sgl, sges, flags, token));
}

static NTSTATUS receive(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    POST_BEGIN("NdkReceive", sgl, sges, 0);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record, real->Dispatch->NdkReceive(real, record, sgl, sges));
}

static NTSTATUS read_remote(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                            ULONG flags)
{
    POST_BEGIN("NdkRead", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record, real->Dispatch->NdkRead(real, record, sgl, sges, address, token, flags));
}

static NTSTATUS write_remote(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                             ULONG flags)
{
    POST_BEGIN("NdkWrite", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record, real->Dispatch->NdkWrite(real, record, sgl, sges, address, token, flags));
}

static NTSTATUS bind_window(NDK_QP *pub, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length,
                            ULONG flags)
{
    POST_BEGIN("NdkBind", NULL, 0, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record,
                        real->Dispatch->NdkBind(real, record, REAL(mr, "NdkBind"), REAL(mw, "NdkBind"), address,
                                                length, flags));
}

/*
 * Fills runs with the memory that NdkFastRegister names; returns how many. real: the provider's region, or NULL. The
 * provider refuses more pages than the region is initialized for without reading them, so the array may be shorter.
 */
static ULONG fast_register_runs(const struct posts *posts, NDK_MR *mr, const NDK_MR *real, ULONG page_count,
                                const NDK_LOGICAL_ADDRESS *pages, NDK_SGE *runs)
{
    if (!check_on() || !real || page_count > atomic_load(&((struct proxy *)mr)->fast_pages))
        return 0;
    return posts_page_sges(posts, pages, page_count, runs);
}

static NTSTATUS fast_register(NDK_QP *pub, PVOID context, NDK_MR *mr, ULONG page_count,
                              CONST NDK_LOGICAL_ADDRESS *pages, ULONG fbo, SIZE_T length, PVOID base, ULONG flags)
{
    struct queue *pair = (struct queue *)pub; /* a closed one's records are not looked at */
    NDK_MR *region = REAL(mr, "NdkFastRegister");
    NDK_SGE runs[POST_SGES];
    ULONG sges = fast_register_runs(&pair->posts, mr, region, page_count, pages, runs);

    POST_BEGIN("NdkFastRegister", runs, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record,
                        real->Dispatch->NdkFastRegister(real, record, region, page_count, pages, fbo, length, base,
                                                        flags));
}

static NTSTATUS invalidate(NDK_QP *pub, PVOID context, NDK_OBJECT_HEADER *mr_or_mw, ULONG flags)
{
    POST_BEGIN("NdkInvalidate", NULL, 0, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    return posts_answer(&qp->posts, record,
                        real->Dispatch->NdkInvalidate(real, record, REAL(mr_or_mw, "NdkInvalidate"), flags));
}

static const NDK_QP_DISPATCH qp_dispatch = {
    .NdkCloseQp = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkFlush = flush,
    .NdkSend = send,
    .NdkReceive = receive,
    .NdkBind = bind_window,
    .NdkFastRegister = fast_register,
    .NdkInvalidate = invalidate,
    .NdkRead = read_remote,
    .NdkWrite = write_remote,
    .NdkSendAndInvalidate = send_and_invalidate,
};

static struct queue *make_pair(struct proxy *parent, const char *routine, size_t depth, void *qp_context,
                               NDK_FN_CREATE_COMPLETION done, void *context)
{
    struct queue *qp = queue_make(NdkObjectTypeQp, &qp_dispatch, depth, parent);

    if (!qp)
        return NULL;
    qp->p.context = qp_context;
    proxy_creating(&qp->p, routine, done, context);
    return qp;
}

NTSTATUS filter_create_qp(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                          ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                          NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateQp");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = REAL(receive_cq, "NdkCreateQp"), *real_initiator = REAL(initiator_cq, "NdkCreateQp");
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    qp = make_pair(parent, "NdkCreateQp", (size_t)receive_depth + initiator_depth, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (real_receive)
        queue_join((struct queue *)receive_cq, qp, 0);
    if (real_initiator)
        queue_join((struct queue *)initiator_cq, qp, 1);
    return proxy_created(&qp->p, real->Dispatch->NdkCreateQp(real, real_receive, real_initiator, qp, receive_depth,
                                                             initiator_depth, receive_sges, initiator_sges, inline_size,
                                                             proxy_creation_routine(&qp->p), qp, &made), &made, out);
}

NTSTATUS filter_create_qp_with_srq(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq,
                                   PVOID qp_context, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateQpWithSrq");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = REAL(receive_cq, "NdkCreateQpWithSrq");
    NDK_CQ *real_initiator = REAL(initiator_cq, "NdkCreateQpWithSrq");
    NDK_SRQ *real_srq = REAL(srq, "NdkCreateQpWithSrq");
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    qp = make_pair(parent, "NdkCreateQpWithSrq", initiator_depth, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (real_srq) {
        qp->srq = (struct queue *)srq;
        proxy_ref(&qp->srq->p);
    }
    if (real_receive)
        queue_join((struct queue *)receive_cq, qp, 0);
    if (real_initiator)
        queue_join((struct queue *)initiator_cq, qp, 1);
    return proxy_created(&qp->p, real->Dispatch->NdkCreateQpWithSrq(real, real_receive, real_initiator, real_srq, qp,
                                                                    initiator_depth, initiator_sges, inline_size,
                                                                    proxy_creation_routine(&qp->p), qp, &made),
                         &made, out);
}
