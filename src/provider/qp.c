/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs: creation and end. Who connects a queue pair holds it by a CHILD reference, so that the fabric's goes
 * only when no connection uses it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/zeroed.h"
#include "provider/adapter.h"
#include "provider/object.h"
#include "provider/provider.h"
#include "provider/status.h"

static const struct fabric_ops *ops_of(const struct qp *qp)
{
    return qp->obj.adapter->fabric->ops;
}

static struct qp *qp_of_object(struct object *o)
{
    return (struct qp *)((char *)o - offsetof(struct qp, obj));
}

/* ---- Lifetime ---- */

/* A close flushes, a connection that still lives notwithstanding. */
static void cancel(struct object *o)
{
    struct qp *qp = qp_of_object(o);

    ops_of(qp)->qp_flush(qp->fabric);
}

static void closed(void *context)
{
    struct qp *qp = context;

    object_retired(&qp->obj);
}

static bool retire(struct object *o)
{
    struct qp *qp = qp_of_object(o);

    ops_of(qp)->qp_close(qp->fabric, closed, qp);
    return false;
}

static void destroy(struct object *o)
{
    (void)o; /* the fabric's queue pair went in retire */
}

static const struct object_type type = {
    .ndk_type = NdkObjectTypeQp, .cancel = cancel, .retire = retire, .destroy = destroy};

/* ---- Creation ---- */

static bool config_fits(const struct fabric_qp_config *c, const struct fabric_info *limits)
{
    return c->receive_depth <= limits->max_receive_depth && c->initiator_depth <= limits->max_initiator_depth &&
           c->receive_sges <= limits->max_receive_sge && c->initiator_sges <= limits->max_initiator_sge &&
           c->inline_size <= limits->max_inline;
}

/* What a new queue pair stands on. srq: NULL where it has receives of its own. */
struct parts {
    struct pd *pd;
    struct cq *receive_cq, *initiator_cq;
    struct srq *srq;
};

/* NULL: *error tells why. */
static struct qp *make(const struct parts *p, const struct fabric_qp_config *c, int *error)
{
    struct adapter *a = p->pd->obj.adapter;
    const struct fabric_ops *ops = a->fabric->ops;
    struct qp *qp = zeroed(sizeof(*qp));

    *error = qp ? ops->qp_create(a->fabric, c, &qp->fabric) : ENOMEM;
    if (*error) {
        free(qp);
        return NULL;
    }
    qp->pd = p->pd;
    qp->receive_sges = c->receive_sges;
    qp->initiator_sges = c->initiator_sges;
    qp->inline_size = c->inline_size;
    object_init(&qp->obj, &type, &qp->pub.Header, qp, a, ops->cq_shard(p->receive_cq->fabric));
    qp->pub.Dispatch = &qp_dispatch;
    object_depend(&qp->obj, &p->pd->obj);
    object_depend(&qp->obj, &p->receive_cq->obj);
    object_depend(&qp->obj, &p->initiator_cq->obj);
    if (p->srq)
        object_depend(&qp->obj, &p->srq->obj);
    return qp;
}

/* asked: the numbers; the rest of it comes from the parts. */
static NTSTATUS create(const struct parts *p, const struct fabric_qp_config *asked, NDK_FN_CREATE_COMPLETION done,
                       PVOID context, NDK_QP **out)
{
    struct adapter *a = p->pd->obj.adapter;
    struct fabric_qp_config config = *asked;
    struct qp *qp;
    int error;

    if (p->receive_cq->obj.adapter != a || p->initiator_cq->obj.adapter != a)
        return STATUS_INVALID_PARAMETER;
    if (!config_fits(&config, &a->limits))
        return STATUS_INVALID_PARAMETER;
    config.receive_cq = p->receive_cq->fabric;
    config.initiator_cq = p->initiator_cq->fabric;
    config.srq = p->srq ? p->srq->fabric : NULL;
    config.domain = pd_domain(p->pd);
    qp = make(p, &config, &error);
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
    struct parts parts = {.pd = pd_of(pd), .receive_cq = cq_of(receive_cq), .initiator_cq = cq_of(initiator_cq)};
    return create(&parts, &config, done, context, out);
}

/*
 * Receives are posted to the shared queue alone: NdkReceive on such a queue pair answers STATUS_INVALID_PARAMETER. Its
 * regions are those of one protection domain, that of both.
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
    struct parts parts = {.pd = pd_of(pd), .receive_cq = cq_of(receive_cq), .initiator_cq = cq_of(initiator_cq),
                          .srq = srq_of(srq)};
    return create(&parts, &config, done, context, out);
}
