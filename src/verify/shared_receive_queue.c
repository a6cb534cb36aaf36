/* SPDX-License-Identifier: MIT */
/*
 * Implements the shared receive queues' dispatch table, and NdkCreateSrq. A queue pair's proxy has a reference on the
 * proxy of its shared receive queue.
 */
#include "verify/async_call.h"
#include "verify/queue.h"
#include "verify/limits.h"
#include "verify/post.h"
#include "verify/tokens.h"

static NTSTATUS verify_srq_modify(NDK_SRQ *pub, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION done,
                                  PVOID context)
{
    PROXY_CALL(p, pub, "NdkModifySrq");
    NDK_SRQ *real = p ? p->real : NULL;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_srq(p, "NdkModifySrq", depth, 0);
    posted_reserve(&((struct queue *)p)->posted[QUEUE_RECEIVE],
                   depth); /* before the call, because receives may be posted before the call returns */
    c = async_call_begin(p, "NdkModifySrq", done, context, NULL);
    return async_call_end(c, real->Dispatch->NdkModifySrq(real, depth, threshold, async_call_routine(c, done),
                                                          async_call_context(c, context)));
}

static NTSTATUS verify_srq_receive(NDK_SRQ *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    PROXY_CALL(called, pub, "NdkSrqReceive");
    struct queue *q = (struct queue *)called;
    NDK_SRQ *real = q ? q->p.real : NULL;
    struct post post = { .routine = call_.routine, .context = context, .by = call_.by, .sgl = sgl, .sges = sges };

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    tokens_check_post(called, "NdkSrqReceive", sgl, sges, 0, SGE_RECEIVE);
    queue_begin_post(q, QUEUE_RECEIVE, &post);
    return queue_end_post(q, QUEUE_RECEIVE, &post, real->Dispatch->NdkSrqReceive(real, post.passed, sgl, sges));
}

static const NDK_SRQ_DISPATCH srq_dispatch = {
    .NdkCloseSrq = proxy_close_srq,
    .NdkQueryExtension = proxy_query_extension,
    .NdkModifySrq = verify_srq_modify,
    .NdkSrqReceive = verify_srq_receive,
};

static void srq_on_notification(PVOID proxy, NTSTATUS status)
{
    struct proxy *p = proxy;

    call_set_completed(p);
    PROXY_CALLBACK(p->adapter, "NdkSrqNotificationCallback", p->notify.srq, p->context, status);
}

NTSTATUS verify_create_srq(NDK_PD *pub, ULONG depth, ULONG sges, ULONG threshold,
                           NDK_FN_SRQ_NOTIFICATION_CALLBACK notify, PVOID notify_context, GROUP_AFFINITY *affinity,
                           NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SRQ **out)
{
    PROXY_CALL(parent, pub, "NdkCreateSrq");
    NDK_PD *real = parent ? parent->real : NULL;
    const struct queue_size sizes[QUEUE_USES] = { [QUEUE_RECEIVE] = { depth, sges } };
    struct queue *q;
    NDK_SRQ *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_srq(parent, "NdkCreateSrq", depth, sges);
    q = queue_create(NdkObjectTypeSrq, &srq_dispatch, sizes, parent);
    if (!q)
        return STATUS_INSUFFICIENT_RESOURCES;
    q->p.notify.srq = notify;
    q->p.context = notify_context;
    proxy_begin_create(&q->p, "NdkCreateSrq", done, context);
    return proxy_end_create(&q->p,
                            real->Dispatch->NdkCreateSrq(real, depth, sges, threshold,
                                                         notify ? srq_on_notification : NULL, q, affinity,
                                                         proxy_create_routine(&q->p), q, &made),
                            &made, out);
}
