/* SPDX-License-Identifier: MIT */
/* Implements the completion queues' dispatch table, and NdkCreateCq. */
#include "verify/argument.h"
#include "verify/async_call.h"
#include "verify/chain_check.h"
#include "verify/limits.h"
#include "verify/queue.h"
#include "verify/tokens.h"

static ULONG verify_cq_get_results(NDK_CQ *pub, NDK_RESULT results[], ULONG count)
{
    PROXY_CALL(called, pub, "NdkGetCqResults");
    struct queue *cq = (struct queue *)called;

    if (!cq)
        return 0;
    exclusive_begin(&cq->exclusive[QUEUE_POLL], false);
    uint64_t closed = queue_poll_begin(cq);
    ULONG got = ((NDK_CQ *)cq->p.real)->Dispatch->NdkGetCqResults(cq->p.real, results, count);
    for (ULONG i = 0; i < got; i++)
        queue_translate_result(&results[i].QPContext, &results[i].RequestContext, results[i].Status, "NdkGetCqResults");
    queue_poll_end(cq, closed, got < count);
    return got;
}

static ULONG verify_cq_get_results_ex(NDK_CQ *pub, NDK_RESULT_EX results[], ULONG count)
{
    PROXY_CALL(called, pub, "NdkGetCqResultsEx");
    struct queue *cq = (struct queue *)called;

    if (!cq)
        return 0;
    argument_check_version(called, "NdkGetCqResultsEx", ARGUMENT_NDKPI_1_2, "the entry");
    exclusive_begin(&cq->exclusive[QUEUE_POLL], false);
    uint64_t closed = queue_poll_begin(cq);
    ULONG got = ((NDK_CQ *)cq->p.real)->Dispatch->NdkGetCqResultsEx(cq->p.real, results, count);
    tokens_process_results(results, got);
    for (ULONG i = 0; i < got; i++)
        queue_translate_result(&results[i].QPContext, &results[i].RequestContext, results[i].Status,
                               "NdkGetCqResultsEx");
    queue_poll_end(cq, closed, got < count);
    return got;
}

static VOID verify_cq_arm(NDK_CQ *pub, ULONG type)
{
    PROXY_CALL(p, pub, "NdkArmCq");
    NDK_CQ *real = p ? p->real : NULL;

    if (!real)
        return;
    argument_check_arm(p, type);
    chain_check_arm((struct queue *)p, type);
    exclusive_begin(&((struct queue *)p)->exclusive[QUEUE_POLL], true);
    atomic_fetch_add(&((struct queue *)p)->arms, 1);
    real->Dispatch->NdkArmCq(real, type);
}

static void cq_on_resized(struct proxy *p, NTSTATUS status, void *depth)
{
    if (NT_SUCCESS(status))
        atomic_store(&((struct queue *)p)->depth, (unsigned)(uintptr_t)depth);
}

static NTSTATUS verify_cq_resize(NDK_CQ *pub, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkResizeCq");
    NDK_CQ *real = p ? p->real : NULL;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    argument_check_resize(p);
    limits_check_cq(p, "NdkResizeCq", depth);
    c = async_call_begin(p, "NdkResizeCq", done, context, cq_on_resized);
    async_call_set_subject(c, (void *)(uintptr_t)depth);
    return async_call_end(
        c, real->Dispatch->NdkResizeCq(real, depth, async_call_routine(c, done), async_call_context(c, context)));
}

static NTSTATUS verify_cq_control_moderation(NDK_CQ *pub, ULONG interval, ULONG count)
{
    PROXY_CALL(p, pub, "NdkControlCqInterruptModeration");
    NDK_CQ *real = p ? p->real : NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    argument_check_moderation((struct queue *)p, interval, count);
    exclusive_begin(&((struct queue *)p)->exclusive[QUEUE_MODERATE], false);
    return real->Dispatch->NdkControlCqInterruptModeration(real, interval, count);
}

static const NDK_CQ_DISPATCH cq_dispatch = {
    .NdkCloseCq = proxy_close_cq,
    .NdkQueryExtension = proxy_query_extension,
    .NdkResizeCq = verify_cq_resize,
    .NdkArmCq = verify_cq_arm,
    .NdkGetCqResults = verify_cq_get_results,
    .NdkControlCqInterruptModeration = verify_cq_control_moderation,
    .NdkGetCqResultsEx = verify_cq_get_results_ex,
};

/*
 * Handles a notification: subtracts 1 from cq->arms if cq->arms is above 0. The notification may have ended several
 * arms, but their number is not known. So cq->arms is the maximum number of arms that still wait.
 */
static void cq_end_arm(struct queue *cq)
{
    if (atomic_fetch_sub(&cq->arms, 1) <= 0)
        atomic_fetch_add(&cq->arms, 1);
}

static void cq_on_notification(PVOID proxy, NTSTATUS status)
{
    struct proxy *p = proxy;

    call_set_completed(p);
    cq_end_arm((struct queue *)p);
    exclusive_release(&((struct queue *)p)->exclusive[QUEUE_POLL]);
    PROXY_CALLBACK(p->adapter, "NdkCqNotificationCallback", p->notify.cq, p->context, status);
}

NTSTATUS verify_create_cq(NDK_ADAPTER *pub, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, PVOID notify_context,
                          GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CQ **out)
{
    PROXY_CALL(parent, pub, "NdkCreateCq");
    NDK_ADAPTER *real = parent ? parent->real : NULL;
    struct queue *q;
    NDK_CQ *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_cq(parent, "NdkCreateCq", depth);
    q = queue_create(NdkObjectTypeCq, &cq_dispatch, NULL, parent);
    if (!q)
        return STATUS_INSUFFICIENT_RESOURCES;
    argument_check_notification(parent, "NdkCreateCq", NdkObjectTypeCq, notify);
    atomic_init(&q->depth, depth);
    q->p.notify.cq = notify;
    q->p.context = notify_context;
    proxy_begin_create(&q->p, "NdkCreateCq", done, context);
    return proxy_end_create(&q->p,
                            real->Dispatch->NdkCreateCq(real, depth, notify ? cq_on_notification : NULL, q, affinity,
                                                        proxy_create_routine(&q->p), q, &made),
                            &made, out);
}
