/* SPDX-License-Identifier: MIT */
/*
 * Completion queues: the fabric's, with results in the consumer's terms, and notifications that hold the object while
 * they run. Calls for arming and results are the consumer's to keep apart, as the contract says.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/status.h"

enum { BATCH = 64 };

static const struct fabric_ops *ops_of(const struct cq *cq)
{
    return cq->obj.adapter->fabric->ops;
}

static struct cq *cq_of_object(struct object *o)
{
    return (struct cq *)((char *)o - offsetof(struct cq, obj));
}

/* The fabric's delivery: callback context. A queue that is being closed tells nothing any more. */
static void notified(void *owner, bool overflow)
{
    struct cq *cq = owner;

    if (!object_try_ref(&cq->obj, REF_CALLBACK))
        return;
    overflow = overflow;
    cq->notify(cq->notify_context, overflow ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
    object_unref(&cq->obj, REF_CALLBACK);
}

static void closed(void *owner)
{
    struct cq *cq = owner;

    object_retired(&cq->obj);
}

static bool retire(struct object *o)
{
    struct cq *cq = cq_of_object(o);

    ops_of(cq)->cq_close(cq->fabric, closed);
    return false;
}

static void destroy(struct object *o)
{
    (void)o; /* the fabric's queue went in retire */
}

static const struct object_type type = {.ndk_type = NdkObjectTypeCq, .retire = retire, .destroy = destroy};

static NTSTATUS resize(NDK_CQ *pub, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    struct cq *cq = cq_of(pub);
    int error;

    (void)done, (void)context; /* never pending */
    if (!cq->obj.adapter->config.cq_resize)
        return STATUS_NOT_SUPPORTED;
    if (depth == 0 || depth > cq->obj.adapter->limits.max_cq_depth)
        return STATUS_INVALID_PARAMETER;
    /* As for an arm: what moderation keeps waiting can fall due in here. */
    object_ref(&cq->obj, REF_LOOKUP);
    error = ops_of(cq)->cq_resize(cq->fabric, depth);
    if (!error)
        atomic_store(&cq->depth, depth);
    object_unref(&cq->obj, REF_LOOKUP);
    return status_of_errno(error);
}

static enum fabric_arm arm_of(ULONG kind)
{
    switch (kind) {
    case NDK_CQ_NOTIFY_ERRORS:
        return FABRIC_ARM_ERRORS;
    case NDK_CQ_NOTIFY_SOLICITED:
        return FABRIC_ARM_SOLICITED;
    default: /* NDK_CQ_NOTIFY_ANY; with a value that does not exist nothing is missed */
        return FABRIC_ARM_ANY;
    }
}

static void arm(NDK_CQ *pub, ULONG kind)
{
    struct cq *cq = cq_of(pub);

    /* The notification may come, and the consumer close in it, before this call is back from the fabric. */
    object_ref(&cq->obj, REF_LOOKUP);
    ops_of(cq)->cq_arm(cq->fabric, arm_of(kind));
    object_unref(&cq->obj, REF_LOOKUP);
}

static NDK_OPERATION_TYPE operation_of(enum rdma_op op)
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

static void fill(NDK_RESULT *r, const struct rdma_completion *c)
{
    r->Status = status_of_completion(c->status);
    r->BytesTransferred = c->length;
    r->QPContext = c->qp_context;
    r->RequestContext = c->context;
}

static void fill_ex(NDK_RESULT_EX *r, const struct rdma_completion *c)
{
    NDK_RESULT plain;

    fill(&plain, c);
    *r = (NDK_RESULT_EX){
        .Status = plain.Status,
        .BytesTransferred = plain.BytesTransferred,
        .QPContext = plain.QPContext,
        .RequestContext = plain.RequestContext,
        .Type = operation_of(c->op),
        .TypeSpecificCompletionOutput = c->op == RDMA_OP_RECEIVE_AND_INVALIDATE ? c->token : 0,
        .ProviderErrorCode = status_provider_error(c),
    };
}

/* Into one of the two arrays. */
static ULONG poll(struct cq *cq, NDK_RESULT *plain, NDK_RESULT_EX *ex, ULONG wanted)
{
    struct rdma_completion batch[BATCH];
    ULONG total = 0;

    while (total < wanted) {
        int max = wanted - total < BATCH ? (int)(wanted - total) : BATCH;
        int got = ops_of(cq)->cq_poll(cq->fabric, batch, max);

        for (int i = 0; i < got; i++, total++) {
            if (ex)
                fill_ex(&ex[total], &batch[i]);
            else
                fill(&plain[total], &batch[i]);
        }
        if (got < max)
            break;
    }
    return total;
}

static ULONG get_results(NDK_CQ *pub, NDK_RESULT results[], ULONG count)
{
    return poll(cq_of(pub), results, NULL, count);
}

static ULONG get_results_ex(NDK_CQ *pub, NDK_RESULT_EX results[], ULONG count)
{
    return poll(cq_of(pub), NULL, results, count);
}

/* Nothing would ever be notified. */
static bool waits_for_ever(const struct cq *cq, ULONG interval, ULONG count)
{
    return interval == MAXULONG && (count == MAXULONG || count > atomic_load(&cq->depth));
}

static NTSTATUS moderate(NDK_CQ *pub, ULONG interval, ULONG count)
{
    struct cq *cq = cq_of(pub);

    if (!cq->obj.adapter->limits.cq_moderation)
        return STATUS_NOT_SUPPORTED;
    if (waits_for_ever(cq, interval, count))
        return STATUS_INVALID_PARAMETER_MIX;
    object_ref(&cq->obj, REF_LOOKUP);
    ops_of(cq)->cq_moderate(cq->fabric, interval, count);
    object_unref(&cq->obj, REF_LOOKUP);
    return STATUS_SUCCESS;
}

static const NDK_CQ_DISPATCH dispatch = {
    .NdkCloseCq = object_ndk_close,
    .NdkQueryExtension = object_ndk_query_extension,
    .NdkResizeCq = resize,
    .NdkArmCq = arm,
    .NdkGetCqResults = get_results,
    .NdkControlCqInterruptModeration = moderate,
    .NdkGetCqResultsEx = get_results_ex,
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
        .notify = notified,
        .owner = cq,
    };
    cq->notify = notify;
    cq->notify_context = notify_context;
    atomic_init(&cq->depth, depth);
    int error = ops->cq_create(a->fabric, &config, &cq->fabric);
    if (error) {
        free(cq);
        return status_of_errno(error);
    }
    object_init(&cq->obj, &type, &cq->pub.Header, cq, a, ops->cq_shard(cq->fabric));
    cq->pub.Dispatch = &dispatch;
    object_depend(&cq->obj, &a->obj);
    return object_created(a, &cq->obj, done, context, (NDK_OBJECT_HEADER **)out);
}
