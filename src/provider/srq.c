/* SPDX-License-Identifier: MIT */
/*
 * Implements shared receive queues. The invariant: a running notification, and each call that may cause one, has a
 * reference on the SRQ. A receive of the SRQ completes to the receive CQ of the queue pair that took the receive.
 * Receives that are still queued when the SRQ is closed end without a completion.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/requests.h"
#include "provider/status.h"

static const struct fabric_ops *srq_ops(const struct srq *srq)
{
    return srq->obj.adapter->fabric->ops;
}

static struct srq *srq_of_object(struct object *o)
{
    return (struct srq *)((char *)o - offsetof(struct srq, obj));
}

/* Calls the consumer's notification routine, if there is one. Does nothing if the queue is being closed. */
static void srq_on_notify(void *owner)
{
    struct srq *srq = owner;

    if (!srq->notify || !object_try_ref(&srq->obj, REF_CALLBACK))
        return;
    srq->notify(srq->notify_context, STATUS_SUCCESS);
    object_unref(&srq->obj, REF_CALLBACK);
}

static void srq_on_closed(void *owner)
{
    struct srq *srq = owner;

    object_retired(&srq->obj);
}

static bool srq_retire(struct object *o)
{
    struct srq *srq = srq_of_object(o);

    srq_ops(srq)->srq_close(srq->fabric, srq_on_closed);
    return false;
}

static bool srq_describe(struct object *o, union live_entry *entry)
{
    struct srq *srq = srq_of_object(o);
    struct fabric_srq_info info = { .depth = 0 };

    if (!o->live_retiring)
        srq_ops(srq)->srq_info(srq->fabric, &info);
    entry->srq = (ondk_shared_receive_queue_t){
        .state = object_state(o, "open"),
        .id = o->live_id,
        .pd = srq->pd->obj.live_id,
        .users = object_users(o),
        .depth = info.depth,
        .queued = info.queued,
        .sges = srq->sges,
        .threshold = info.threshold,
        .affinity = srq->affinity,
    };
    return true;
}

static const struct object_type srq_type = {
    .ndk_type = NdkObjectTypeSrq,
    .retire = srq_retire,
    .describe = srq_describe,
};

/*
 * Changes depth and threshold. Takes a reference during the call: before srq_modify returns, the notification may run,
 * and the consumer may close the queue.
 */
static NTSTATUS srq_ndk_modify(NDK_SRQ *pub, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION done,
                               PVOID context)
{
    struct srq *srq = srq_of(pub);
    int error;

    (void)done, (void)context; /* not used, because the call is never pending */
    if (depth > srq->obj.adapter->limits.max_srq_depth)
        return STATUS_INVALID_PARAMETER;
    object_ref(&srq->obj, REF_INTERNAL);
    error = srq_ops(srq)->srq_modify(srq->fabric, depth, threshold);
    object_unref(&srq->obj, REF_INTERNAL);
    return status_of_errno(error);
}

/*
 * Posts a receive. Takes a reference during the call: before srq_post returns, the receive may complete, and the
 * consumer may close the queue.
 */
static NTSTATUS srq_ndk_receive(NDK_SRQ *pub, PVOID context, CONST NDK_SGE *sgl, ULONG count)
{
    struct srq *srq = srq_of(pub);
    struct rdma_request r = { .op = RDMA_OP_RECEIVE, .context = context };
    NTSTATUS status = request_set_sges(&r, srq->obj.adapter, sgl, count, srq->sges);
    int error;

    if (status)
        return status;
    object_ref(&srq->obj, REF_INTERNAL);
    error = srq_ops(srq)->srq_post(srq->fabric, &r);
    object_unref(&srq->obj, REF_INTERNAL);
    return status_of_errno(error);
}

static const NDK_SRQ_DISPATCH srq_dispatch = {
    .NdkCloseSrq = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkModifySrq = srq_ndk_modify,
    .NdkSrqReceive = srq_ndk_receive,
};

/* Creates a shared receive queue. On failure returns NULL and sets *error. */
static struct srq *srq_make(struct pd *pd, struct fabric_srq_config *config, int *error)
{
    struct adapter *a = pd->obj.adapter;
    const struct fabric_ops *ops = a->fabric->ops;
    struct srq *srq = calloc(1, sizeof(*srq));

    config->notify = srq_on_notify;
    config->owner = srq;
    *error = srq ? ops->srq_create(a->fabric, config, &srq->fabric) : ENOMEM;
    if (*error) {
        free(srq);
        return NULL;
    }
    srq->pd = pd;
    srq->sges = config->sges;
    srq->affinity = config->affinity;
    object_init(&srq->obj, &srq_type, &srq->pub.Header, srq, a, ops->srq_shard(srq->fabric));
    srq->pub.Dispatch = &srq_dispatch;
    object_depend(&srq->obj, &pd->obj);
    return srq;
}

NTSTATUS srq_create(NDK_PD *pub_pd, ULONG depth, ULONG max_sge, ULONG threshold,
                    NDK_FN_SRQ_NOTIFICATION_CALLBACK notify, PVOID notify_context, GROUP_AFFINITY *affinity,
                    NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_SRQ **out)
{
    struct pd *pd = pd_of(pub_pd);
    const struct fabric_info *limits = &pd->obj.adapter->limits;
    struct fabric_srq_config config = {
        .depth = depth,
        .sges = max_sge,
        .threshold = threshold,
        .affinity = cq_processor(affinity),
        .domain = pd_domain(pd),
    };
    struct srq *srq;
    int error;

    if (limits->max_srq_depth == 0)
        return STATUS_NOT_SUPPORTED;
    if (depth == 0 || (depth > limits->max_srq_depth || max_sge > limits->max_receive_sge))
        return STATUS_INVALID_PARAMETER;
    srq = srq_make(pd, &config, &error);
    if (!srq)
        return status_of_errno(error);
    srq->notify = notify;
    srq->notify_context = notify_context;
    return object_created(pd->obj.adapter, &srq->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
