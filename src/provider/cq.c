/* SPDX-License-Identifier: MIT */
/*
 * Implements completion queues: converts the fabric's completions to NDK_RESULT, and calls the consumer's notification
 * routine. The invariant: a running notification, and each call that may cause a notification, has a reference on the
 * queue.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/status.h"

enum { MAX_BATCH = 64 };

static const struct fabric_ops *cq_ops(const struct cq *cq)
{
    return cq->obj.adapter->fabric->ops;
}

static struct cq *cq_of_object(struct object *o)
{
    return (struct cq *)((char *)o - offsetof(struct cq, obj));
}

/* Calls the consumer's notification routine. Does nothing if the queue is being closed. Runs in callback context. */
static void cq_on_notify(void *owner, bool overflow)
{
    struct cq *cq = owner;

    if (!object_try_ref(&cq->obj, REF_CALLBACK))
        return;
    cq->notify(cq->notify_context, overflow ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
    object_unref(&cq->obj, REF_CALLBACK);
}

static void cq_on_closed(void *owner)
{
    struct cq *cq = owner;

    object_retired(&cq->obj);
}

static bool cq_retire(struct object *o)
{
    struct cq *cq = cq_of_object(o);

    cq_ops(cq)->cq_close(cq->fabric, cq_on_closed);
    return false;
}

static bool cq_describe(struct object *o, union live_entry *entry)
{
    static const char *const arms[] = {
        [FABRIC_ARM_NONE] = "none",
        [FABRIC_ARM_ERRORS] = "errors",
        [FABRIC_ARM_SOLICITED] = "solicited",
        [FABRIC_ARM_ANY] = "any",
    };
    struct cq *cq = cq_of_object(o);
    struct fabric_cq_info info = { .depth = atomic_load(&cq->depth) };

    if (!o->live_retiring)
        cq_ops(cq)->cq_info(cq->fabric, &info);
    entry->cq = (ondk_completion_queue_t){
        .state = object_state(o, info.overflowed ? "overflowed" : "open"),
        .armed = arms[info.armed],
        .id = o->live_id,
        .users = object_users(o),
        .depth = info.depth,
        .queued = info.queued,
        .affinity = cq->affinity,
        .moderation_interval_us = info.interval_us,
        .moderation_count = info.moderation_count,
    };
    return true;
}

static const struct object_type cq_type = {
    .ndk_type = NdkObjectTypeCq,
    .retire = cq_retire,
    .describe = cq_describe,
};

static NTSTATUS cq_ndk_resize(NDK_CQ *pub, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct cq *cq = cq_of(pub);
    int error;

    (void)done, (void)context; /* not used, because the call is never pending */
    if (!cq->obj.adapter->config.cq_resize)
        return STATUS_NOT_SUPPORTED;
    if (depth == 0 || depth > cq->obj.adapter->limits.max_cq_depth)
        return STATUS_INVALID_PARAMETER;
    /* The call needs a reference: a delayed notification may run, and close the queue, before cq_resize returns. */
    object_ref(&cq->obj, REF_INTERNAL);
    error = cq_ops(cq)->cq_resize(cq->fabric, depth);
    if (!error)
        atomic_store(&cq->depth, depth);
    object_unref(&cq->obj, REF_INTERNAL);
    return status_of_errno(error);
}

static enum fabric_arm cq_arm_kind(ULONG kind)
{
    switch (kind) {
    case NDK_CQ_NOTIFY_ERRORS:
        return FABRIC_ARM_ERRORS;
    case NDK_CQ_NOTIFY_SOLICITED:
        return FABRIC_ARM_SOLICITED;
    default: /* NDK_CQ_NOTIFY_ANY, and unknown values */
        return FABRIC_ARM_ANY;
    }
}

static void cq_ndk_arm(NDK_CQ *pub, ULONG kind)
{
    struct cq *cq = cq_of(pub);

    /* The call needs a reference: the notification may run, and close the queue, before cq_arm returns. */
    object_ref(&cq->obj, REF_INTERNAL);
    cq_ops(cq)->cq_arm(cq->fabric, cq_arm_kind(kind));
    object_unref(&cq->obj, REF_INTERNAL);
}

static NDK_OPERATION_TYPE cq_operation_type(enum rdma_op op)
{
    switch (op) {
    case RDMA_OP_SEND:
        return NdkOperationTypeSend;
    case RDMA_OP_WRITE:
        return NdkOperationTypeWrite;
    case RDMA_OP_READ:
        return NdkOperationTypeRead;
    case RDMA_OP_FAST_REGISTER:
        return NdkOperationTypeFastRegister;
    case RDMA_OP_BIND:
        return NdkOperationTypeBind;
    case RDMA_OP_INVALIDATE:
        return NdkOperationTypeInvalidate;
    case RDMA_OP_RECEIVE_AND_INVALIDATE:
        return NdkOperationTypeReceiveAndInvalidate;
    case RDMA_OP_RECEIVE:
        break;
    }
    return NdkOperationTypeReceive;
}

static void cq_fill_result(NDK_RESULT *r, const struct rdma_completion *c)
{
    r->Status = status_of_completion(c->status);
    r->BytesTransferred = c->length;
    r->QPContext = c->qp_context;
    r->RequestContext = c->context;
}

static void cq_fill_result_ex(NDK_RESULT_EX *r, const struct rdma_completion *c)
{
    NDK_RESULT plain;

    cq_fill_result(&plain, c);
    *r = (NDK_RESULT_EX){
        .Status = plain.Status,
        .BytesTransferred = plain.BytesTransferred,
        .QPContext = plain.QPContext,
        .RequestContext = plain.RequestContext,
        .Type = cq_operation_type(c->op),
        .TypeSpecificCompletionOutput = c->op == RDMA_OP_RECEIVE_AND_INVALIDATE ? c->token : 0,
        .ProviderErrorCode = status_provider_error(c),
    };
}

/*
 * Polls up to `wanted` completions. Stores them in `ex`, or in `plain` if `ex` is NULL. Returns the number of
 * completions.
 */
static ULONG cq_poll_results(struct cq *cq, NDK_RESULT *plain, NDK_RESULT_EX *ex, ULONG wanted)
{
    struct rdma_completion batch[MAX_BATCH];
    ULONG total = 0;

    while (total < wanted) {
        int max = wanted - total < MAX_BATCH ? (int)(wanted - total) : MAX_BATCH;
        int got = cq_ops(cq)->cq_poll(cq->fabric, batch, max);

        for (int i = 0; i < got; i++, total++) {
            if (ex)
                cq_fill_result_ex(&ex[total], &batch[i]);
            else
                cq_fill_result(&plain[total], &batch[i]);
        }
        if (got < max)
            break;
    }
    return total;
}

static ULONG cq_ndk_get_results(NDK_CQ *pub, NDK_RESULT results[], ULONG count)
{
    return cq_poll_results(cq_of(pub), results, NULL, count);
}

static ULONG cq_ndk_get_results_ex(NDK_CQ *pub, NDK_RESULT_EX results[], ULONG count)
{
    return cq_poll_results(cq_of(pub), NULL, results, count);
}

/* Returns true if this moderation would delay every notification for ever. */
static bool cq_never_notifies(const struct cq *cq, ULONG interval, ULONG count)
{
    return interval == MAXULONG && (count == MAXULONG || count > atomic_load(&cq->depth));
}

static NTSTATUS cq_ndk_moderate(NDK_CQ *pub, ULONG interval, ULONG count)
{
    struct cq *cq = cq_of(pub);

    if (!cq->obj.adapter->limits.cq_moderation)
        return STATUS_NOT_SUPPORTED;
    if (cq_never_notifies(cq, interval, count))
        return STATUS_INVALID_PARAMETER_MIX;
    object_ref(&cq->obj, REF_INTERNAL);
    cq_ops(cq)->cq_moderate(cq->fabric, interval, count);
    object_unref(&cq->obj, REF_INTERNAL);
    return STATUS_SUCCESS;
}

static const NDK_CQ_DISPATCH cq_dispatch = {
    .NdkCloseCq = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkResizeCq = cq_ndk_resize,
    .NdkArmCq = cq_ndk_arm,
    .NdkGetCqResults = cq_ndk_get_results,
    .NdkControlCqInterruptModeration = cq_ndk_moderate,
    .NdkGetCqResultsEx = cq_ndk_get_results_ex,
};

int cq_processor(const GROUP_AFFINITY *affinity)
{
    if (!affinity || !affinity->Mask)
        return -1;
    return affinity->Group * 64 + __builtin_ctzll(affinity->Mask);
}

NTSTATUS cq_create(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, PVOID notify_context,
                   GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CQ **out)
{
    struct adapter *a = adapter_of(adapter);
    const struct fabric_ops *ops = a->fabric->ops;

    if (!notify || depth == 0 || depth > a->limits.max_cq_depth)
        return STATUS_INVALID_PARAMETER;
    struct cq *cq = calloc(1, sizeof(*cq));
    if (!cq)
        return STATUS_INSUFFICIENT_RESOURCES;
    struct fabric_cq_config config = {
        .depth = depth,
        .affinity = cq_processor(affinity),
        .notify = cq_on_notify,
        .owner = cq,
    };
    cq->notify = notify;
    cq->notify_context = notify_context;
    cq->affinity = config.affinity;
    atomic_init(&cq->depth, depth);
    int error = ops->cq_create(a->fabric, &config, &cq->fabric);
    if (error) {
        free(cq);
        return status_of_errno(error);
    }
    object_init(&cq->obj, &cq_type, &cq->pub.Header, cq, a, ops->cq_shard(cq->fabric));
    cq->pub.Dispatch = &cq_dispatch;
    object_depend(&cq->obj, &a->obj);
    return object_created(a, &cq->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
