/* SPDX-License-Identifier: MIT */
/*
 * Creates and ends queue pairs. The invariant: a connector has a CHILD reference on its queue pair. So the fabric's
 * queue pair is closed only when no connection uses it.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/status.h"

static struct qp *qp_of_object(struct object *o)
{
    return (struct qp *)((char *)o - offsetof(struct qp, obj));
}

/* ---- Lifetime ---- */

/* Flushes the queue pair when close begins, even if the queue pair is still connected. */
static void qp_cancel(struct object *o)
{
    struct qp *qp = qp_of_object(o);

    qp_ops(qp)->qp_flush(qp->fabric);
}

static void qp_on_closed(void *context)
{
    struct qp *qp = context;

    object_retired(&qp->obj);
}

static bool qp_retire(struct object *o)
{
    struct qp *qp = qp_of_object(o);

    qp_ops(qp)->qp_close(qp->fabric, qp_on_closed, qp);
    return false;
}

static const char *qp_state(struct qp *qp, const struct fabric_qp_info *info)
{
    uint16_t terminate;

    if (!atomic_load(&qp->bound))
        return "idle";
    if (info->accepts)
        return "connected";
    return qp_ops(qp)->qp_reason(qp->fabric, &terminate) == FABRIC_OK ? "connecting" : "ended";
}

static bool qp_describe(struct object *o, union live_entry *entry)
{
    struct qp *qp = qp_of_object(o);
    struct fabric_qp_info info = { .accepts = false };
    const char *state = "closing";

    if (!o->live_retiring) {
        qp_ops(qp)->qp_info(qp->fabric, &info);
        state = object_state(o, qp_state(qp, &info));
    }
    entry->qp = (ondk_queue_pair_t){
        .state = state,
        .id = o->live_id,
        .pd = qp->pd->obj.live_id,
        .receive_cq = qp->receive_cq->obj.live_id,
        .initiator_cq = qp->initiator_cq->obj.live_id,
        .srq = qp->srq ? qp->srq->obj.live_id : 0,
        .receive_depth = qp->receive_depth,
        .initiator_depth = qp->initiator_depth,
        .receive_sges = qp->receive_sges,
        .initiator_sges = qp->initiator_sges,
        .inline_size = qp->inline_size,
        .receives = info.receives,
        .initiators = info.initiators,
    };
    return true;
}

static const struct object_type qp_type = {
    .ndk_type = NdkObjectTypeQp,
    .cancel = qp_cancel,
    .retire = qp_retire,
    .describe = qp_describe,
};

/* ---- Creation ---- */

static bool qp_config_is_valid(const struct fabric_qp_config *c, const struct fabric_info *limits)
{
    return c->receive_depth <= limits->max_receive_depth && c->initiator_depth <= limits->max_initiator_depth &&
           c->receive_sges <= limits->max_receive_sge && c->initiator_sges <= limits->max_initiator_sge &&
           c->inline_size <= limits->max_inline;
}

/* The antecedents of a new queue pair. srq is NULL if the queue pair has receives of its own. */
struct qp_parts {
    struct pd *pd;
    struct cq *receive_cq, *initiator_cq;
    struct srq *srq;
};

/* Creates a queue pair that has references on the objects in *p. On failure returns NULL and sets *error. */
static struct qp *qp_make(const struct qp_parts *p, const struct fabric_qp_config *c, int *error)
{
    struct adapter *a = p->pd->obj.adapter;
    const struct fabric_ops *ops = a->fabric->ops;
    struct qp *qp = calloc(1, sizeof(*qp));

    *error = qp ? ops->qp_create(a->fabric, c, &qp->fabric) : ENOMEM;
    if (*error) {
        free(qp);
        return NULL;
    }
    qp->pd = p->pd;
    qp->receive_cq = p->receive_cq;
    qp->initiator_cq = p->initiator_cq;
    qp->srq = p->srq;
    qp->receive_depth = c->receive_depth;
    qp->initiator_depth = c->initiator_depth;
    qp->receive_sges = c->receive_sges;
    qp->initiator_sges = c->initiator_sges;
    qp->inline_size = c->inline_size;
    object_init(&qp->obj, &qp_type, &qp->pub.Header, qp, a, ops->cq_shard(p->receive_cq->fabric));
    qp->pub.Dispatch = &qp_dispatch;
    object_depend(&qp->obj, &p->pd->obj);
    object_depend(&qp->obj, &p->receive_cq->obj);
    object_depend(&qp->obj, &p->initiator_cq->obj);
    if (p->srq)
        object_depend(&qp->obj, &p->srq->obj);
    return qp;
}

/* Creates a queue pair with the depths, sizes and qp_context of `numbers`. The rest of the configuration is in `p`. */
static NTSTATUS qp_create_from(const struct qp_parts *p, const struct fabric_qp_config *numbers,
                               NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    struct adapter *a = p->pd->obj.adapter;
    struct fabric_qp_config config = *numbers;
    struct qp *qp;
    int error;

    if (p->receive_cq->obj.adapter != a || p->initiator_cq->obj.adapter != a)
        return STATUS_INVALID_PARAMETER;
    if (!qp_config_is_valid(&config, &a->limits))
        return STATUS_INVALID_PARAMETER;
    config.receive_cq = p->receive_cq->fabric;
    config.initiator_cq = p->initiator_cq->fabric;
    config.srq = p->srq ? p->srq->fabric : NULL;
    config.domain = pd_domain(p->pd);
    qp = qp_make(p, &config, &error);
    if (!qp)
        return status_of_errno(error);
    return object_created(a, &qp->obj, done, context, (NDK_OBJECT_HEADER **)out);
}

NTSTATUS qp_create(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                   ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    struct fabric_qp_config config = {
        .receive_depth = receive_depth,
        .initiator_depth = initiator_depth,
        .receive_sges = receive_sges,
        .initiator_sges = initiator_sges,
        .inline_size = inline_size,
        .qp_context = qp_context,
    };

    if (!receive_cq || !initiator_cq)
        return STATUS_INVALID_PARAMETER;
    struct qp_parts parts = { .pd = pd_of(pd), .receive_cq = cq_of(receive_cq), .initiator_cq = cq_of(initiator_cq) };
    return qp_create_from(&parts, &config, done, context, out);
}

/*
 * Creates a queue pair that takes its receives from the shared receive queue `srq`. NdkReceive on this queue pair
 * returns STATUS_INVALID_PARAMETER. Requires that `srq` belongs to the protection domain `pd`.
 */
NTSTATUS qp_create_with_srq(NDK_PD *pd, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq, PVOID qp_context,
                            ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                            NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    struct fabric_qp_config config = {
        .initiator_depth = initiator_depth,
        .initiator_sges = initiator_sges,
        .inline_size = inline_size,
        .qp_context = qp_context,
    };

    if (pd_of(pd)->obj.adapter->limits.max_srq_depth == 0)
        return STATUS_NOT_SUPPORTED;
    if (!receive_cq || !initiator_cq || !srq || srq_of(srq)->pd != pd_of(pd))
        return STATUS_INVALID_PARAMETER;
    struct qp_parts parts = {
        .pd = pd_of(pd), .receive_cq = cq_of(receive_cq), .initiator_cq = cq_of(initiator_cq), .srq = srq_of(srq)
    };
    return qp_create_from(&parts, &config, done, context, out);
}
