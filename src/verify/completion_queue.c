/* SPDX-License-Identifier: MIT */
/*
 * Completion queues and shared receive queues: see proxy.h.
 *
 * Results can still be in a completion queue when their queue pair is gone: see queue_join. The proxy of a pair's
 * shared receive queue stays as long as the pair's.
 */
#include "verify/posted.h"

/* ---- completion queues ---- */

/* What was posted to a pair comes back as the driver's. */
static void translate(PVOID *qp_context, PVOID *request_context)
{
    struct queue *qp = *qp_context;

    *qp_context = qp->p.context;
    if (!posts_give_back(&qp->posts, request_context) && qp->srq)
        (void)posts_give_back(&qp->srq->posts, request_context);
}

static ULONG get_results(NDK_CQ *pub, NDK_RESULT results[], ULONG count)
{
    struct queue *cq = (struct queue *)ENTER(pub, "NdkGetCqResults");

    if (!cq)
        return 0;
    uint64_t ended = queue_poll_begin(cq);
    ULONG got = ((NDK_CQ *)cq->p.real)->Dispatch->NdkGetCqResults(cq->p.real, results, count);
    for (ULONG i = 0; i < got; i++)
        translate(&results[i].QPContext, &results[i].RequestContext);
    queue_poll_end(cq, ended, got < count);
    return got;
}

static ULONG get_results_ex(NDK_CQ *pub, NDK_RESULT_EX results[], ULONG count)
{
    struct queue *cq = (struct queue *)ENTER(pub, "NdkGetCqResultsEx");

    if (!cq)
        return 0;
    uint64_t ended = queue_poll_begin(cq);
    ULONG got = ((NDK_CQ *)cq->p.real)->Dispatch->NdkGetCqResultsEx(cq->p.real, results, count);
    for (ULONG i = 0; i < got; i++)
        translate(&results[i].QPContext, &results[i].RequestContext);
    queue_poll_end(cq, ended, got < count);
    return got;
}

static VOID arm_cq(NDK_CQ *pub, ULONG type)
{
    struct proxy *p = ENTER(pub, "NdkArmCq");
    NDK_CQ *real = p ? p->real : NULL;

    if (real)
        real->Dispatch->NdkArmCq(real, type);
}

static NTSTATUS resize_cq(NDK_CQ *pub, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkResizeCq");
    NDK_CQ *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkResizeCq", done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkResizeCq(real, depth, pend_routine(r, done),
                                                         pend_context(r, context)));
}

static NTSTATUS control_moderation(NDK_CQ *pub, ULONG interval, ULONG count)
{
    struct proxy *p = ENTER(pub, "NdkControlCqInterruptModeration");
    NDK_CQ *real = p ? p->real : NULL;

    return real ? real->Dispatch->NdkControlCqInterruptModeration(real, interval, count) : STATUS_INVALID_DEVICE_STATE;
}

static const NDK_CQ_DISPATCH cq_dispatch = {
    .NdkCloseCq = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkResizeCq = resize_cq,
    .NdkArmCq = arm_cq,
    .NdkGetCqResults = get_results,
    .NdkControlCqInterruptModeration = control_moderation,
    .NdkGetCqResultsEx = get_results_ex,
};

static void cq_notified(PVOID proxy, NTSTATUS status)
{
    struct proxy *p = proxy;

    CALL_DRIVER("NdkCqNotificationCallback", p->notify.cq, p->context, status);
}

NTSTATUS filter_create_cq(NDK_ADAPTER *pub, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, PVOID notify_context,
                          GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CQ **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateCq");
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    struct queue *q;
    NDK_CQ *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    q = queue_make(NdkObjectTypeCq, &cq_dispatch, 0, parent);
    if (!q)
        return STATUS_INSUFFICIENT_RESOURCES;
    q->p.notify.cq = notify;
    q->p.context = notify_context;
    proxy_creating(&q->p, "NdkCreateCq", done, context);
    return proxy_created(&q->p, real->Dispatch->NdkCreateCq(real, depth, notify ? cq_notified : NULL, q, affinity,
                                                            proxy_creation_routine(&q->p), q, &made), &made, out);
}

/* ---- shared receive queues ---- */

static NTSTATUS modify_srq(NDK_SRQ *pub, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct proxy *p = ENTER(pub, "NdkModifySrq");
    NDK_SRQ *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    posts_grow(&((struct queue *)p)->posts, depth); /* first: posts may come before the call has returned */
    r = pend_begin(p, "NdkModifySrq", done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkModifySrq(real, depth, threshold, pend_routine(r, done),
                                                          pend_context(r, context)));
}

static NTSTATUS srq_receive(NDK_SRQ *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    struct queue *q = (struct queue *)ENTER(pub, "NdkSrqReceive");
    NDK_SRQ *real = q ? q->p.real : NULL;
    void *record;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    record = posts_take(&q->posts, "NdkSrqReceive", context, sgl, sges, 0);
    return posts_answer(&q->posts, record, real->Dispatch->NdkSrqReceive(real, record, sgl, sges));
}

static const NDK_SRQ_DISPATCH srq_dispatch = {
    .NdkCloseSrq = proxy_close,
    .NdkQueryExtension = proxy_query_extension,
    .NdkModifySrq = modify_srq,
    .NdkSrqReceive = srq_receive,
};

static void srq_notified(PVOID proxy, NTSTATUS status)
{
    struct proxy *p = proxy;

    CALL_DRIVER("NdkSrqNotificationCallback", p->notify.srq, p->context, status);
}

NTSTATUS filter_create_srq(NDK_PD *pub, ULONG depth, ULONG sges, ULONG threshold,
                           NDK_FN_SRQ_NOTIFICATION_CALLBACK notify,
                           PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context,
                           NDK_SRQ **out)
{
    struct proxy *parent = ENTER(pub, "NdkCreateSrq");
    NDK_PD *real = parent ? parent->real : NULL;
    struct queue *q;
    NDK_SRQ *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    q = queue_make(NdkObjectTypeSrq, &srq_dispatch, depth, parent);
    if (!q)
        return STATUS_INSUFFICIENT_RESOURCES;
    q->p.notify.srq = notify;
    q->p.context = notify_context;
    proxy_creating(&q->p, "NdkCreateSrq", done, context);
    return proxy_created(&q->p, real->Dispatch->NdkCreateSrq(real, depth, sges, threshold, notify ? srq_notified : NULL,
                                                             q, affinity, proxy_creation_routine(&q->p), q, &made),
                         &made, out);
}
