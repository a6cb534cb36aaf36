/* SPDX-License-Identifier: MIT */
/* Queue pairs, and the checks of their completions: see sim_traffic.h. */
#include "sim/sim_traffic.h"

#include <stdlib.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_traffic_internal.h"

/* ---- queue pairs ---- */

static void discard(struct wr_list *list)
{
    struct wr *w;

    while ((w = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, w, link);
        wr_release(w);
        wr_free(w);
    }
}

static void release_all(struct wr_list *list)
{
    struct wr *w;

    TAILQ_FOREACH (w, list, link)
        wr_release(w);
}

static void qp_ended(struct obj *o)
{
    struct qp *qp = (struct qp *)o;

    qp->disturbed = true;
    qp_check_completed(qp, qp->posted, "closed");
    /*
     * The remaining requests never complete, or complete to a consumer that polls now. In both cases their memory is
     * free.
     */
    release_all(&qp->receives);
    release_all(&qp->initiated);
}

/* Reserves room for the completions of shared receives, once for all queue pairs of the completion queue. */
static void reserve(const struct qp *qp)
{
    for (unsigned i = 0; i < object_count; i++) {
        const struct qp *other = (const struct qp *)objects[i];

        if (other->o.kind == QP && other != qp && other->srq == qp->srq && other->receive_cq == qp->receive_cq)
            return;
    }
    qp->receive_cq->expected += MAX_SHARED;
}

static NTSTATUS create(struct qp *qp, NDK_QP **out)
{
    NDK_PD *pd = qp->pd->ndk.pd;
    NDK_CQ *receives = qp->receive_cq->o.ndk.cq, *initiated = qp->initiator_cq->o.ndk.cq;

    if (qp->srq)
        return pd->Dispatch->NdkCreateQpWithSrq(pd, receives, initiated, qp->srq->o.ndk.srq, qp, qp->initiator_depth,
                                                qp->sges, qp->inline_size, obj_create_done, qp, out);
    return pd->Dispatch->NdkCreateQp(pd, receives, initiated, qp, qp->receive_depth, qp->initiator_depth, qp->sges,
                                     qp->sges, qp->inline_size, obj_create_done, qp, out);
}

struct qp *qp_new(unsigned host)
{
    struct obj *pd = obj_pick(PD, host, NULL);
    struct cq *rcq = cq_any(host, MAX_SHARED), *icq = cq_any(host, MAX_SHARED);
    NDK_QP *out = (NDK_QP *)&obj_unwritten;
    struct qp *qp;

    if (!pd || !rcq || !icq || !(qp = obj_new(QP, host, sizeof *qp)))
        return NULL;
    qp->pd = pd;
    qp->receive_cq = rcq;
    qp->initiator_cq = icq;
    qp->srq = sim_chance(400) ? srq_any(pd) : NULL;
    qp->receive_depth = 4 + (unsigned)sim_below(12);
    qp->initiator_depth = 2 + (unsigned)sim_below(14);
    qp->sges = 1 + (unsigned)sim_below(PIECES);
    qp->inline_size = (unsigned)sim_below(SMALL + 1);
    TAILQ_INIT(&qp->receives);
    TAILQ_INIT(&qp->initiated);
    TAILQ_INIT(&qp->writes);
    qp->o.gone = qp_ended;
    obj_parent(&qp->o, pd);
    obj_parent(&qp->o, &rcq->o);
    obj_parent(&qp->o, &icq->o);
    if (qp->srq) {
        obj_parent(&qp->o, &qp->srq->o);
        reserve(qp);
    }
    obj_created(&qp->o, create(qp, &out), &out);
    return qp;
}

bool qp_is_free(struct obj *o)
{
    return !((struct qp *)o)->in_use;
}

/* ---- completions ---- */

static void check_write(const struct wr *w)
{
    const struct qp *from = w->qp;

    if (piece_is_stale(&w->remote) || w->remote.region->reclaimed)
        return;
    for (uint32_t i = 0; i < w->len; i++)
        sim_check(*piece_byte(&w->remote, i) == traffic_byte(from->o.id, w->message, i),
                  "%s: write %u is not there, but a later send is: %s, from %u on, at %u: 0x%02x", obj_name(&from->o),
                  w->number, obj_name(w->remote.grant->maker), w->remote.offset, i, *piece_byte(&w->remote, i));
}

/* A request whose memory was reclaimed fails without ending the connection, if no part of it was sent. */
static bool source_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++) {
        const struct grant *g = w->pieces[p].grant;

        if ((g->state != GRANT_ALIVE && g->state != GRANT_ASKED) || g->maker->life != OPEN)
            return false;
    }
    return true;
}

/* Called when a send was received: the data of the sender's earlier writes must be in place. */
static void check_writes(struct qp *from, unsigned before)
{
    struct wr *w, *next;

    TAILQ_FOREACH (w, &from->initiated, link)
        if (w->op == WRITE && !w->bad && w->number < before && w->number >= from->flushed && source_is_there(w))
            check_write(w);
    for (w = TAILQ_FIRST(&from->writes); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->number >= before)
            continue;
        check_write(w);
        TAILQ_REMOVE(&from->writes, w, link);
        piece_release(&w->remote);
        wr_free(w);
    }
}

/* ex: r has the kind of the request */
static bool is_message(const struct wr *w, unsigned m, const NDK_RESULT_EX *r, bool ex)
{
    const struct qp *from = w->qp->peer;
    const struct grant *ends = from->message_ends[m];

    if (from->message_bad[m] || from->message_len[m] != r->BytesTransferred)
        return false;
    if (ex && r->Type != (ends ? NdkOperationTypeReceiveAndInvalidate : NdkOperationTypeReceive))
        return false;
    if (ex && ends && r->TypeSpecificCompletionOutput != ends->remote)
        return false;
    return wr_has_pattern(w, from->o.id, m, r->BytesTransferred);
}

static void received(struct wr *w, const NDK_RESULT_EX *r, bool ex)
{
    struct qp *qp = w->qp, *from = qp->peer;
    unsigned first = qp->delivered, m = first;

    sim_check(from, "%s: a message from nobody", obj_name(&qp->o));
    sim_check(r->BytesTransferred <= w->len, "%s: %u bytes in a receive of %u", obj_name(&qp->o), r->BytesTransferred,
              w->len);
    if (!wr_memory_is_there(w))
        return;
    while (m < from->sent && !is_message(w, m, r, ex))
        m++;
    sim_check(m < from->sent, "%s: message %u arrived otherwise than it was sent", obj_name(&qp->o), first);
    sim_check(m == first || from->disturbed || traffic_reclaimed, "%s: message %u is missing", obj_name(&qp->o), first);
    wr_check_rest(w, r->BytesTransferred);
    qp->delivered = m + 1;
    check_writes(from, from->message_number[m]);
    /* With a disturbed order, a result without its type does not identify the message among equal ones. */
    if (from->message_ends[m] && (ex || !from->disturbed))
        grant_end(from->message_ends[m]);
}

static void initiated(struct wr *w)
{
    const struct piece *from = &w->remote;
    size_t n = 0;

    sim_check((w->op != READ && w->op != INVALIDATE) || !w->bad, "%s: request %u, which was not allowed, succeeds",
              obj_name(&w->qp->o), w->number);
    if (w->op != READ || !wr_memory_is_there(w))
        return;
    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++, n++)
            sim_check(*piece_byte(&w->pieces[p], i) ==
                          traffic_byte(from->region->o.id, from->grant->serial, from->offset + n),
                      "%s: read %u got other bytes than are there", obj_name(&w->qp->o), w->number);
}

static void remove_it(struct wr *w)
{
    struct qp *qp = w->qp;

    if (w->srq) {
        srq_used(w);
        return;
    }
    TAILQ_REMOVE(w->op == RECEIVE ? &qp->receives : &qp->initiated, w, link);
    (w->op == RECEIVE ? qp->receive_cq : qp->initiator_cq)->expected--;
}

/* Ends a request: frees its local memory, and its remote memory if its contents are known. */
static void retire(struct wr *w, bool succeeded)
{
    remove_it(w);
    w->done = true;
    wr_release(w);
    regions_completed(w, succeeded);
    if (w->op == WRITE && succeeded && !w->bad)
        TAILQ_INSERT_TAIL(&w->qp->writes, w, link);
    else
        wr_free(w); /* after a failure the remote piece remains in use, because a part of the data may be written */
}

/* Checks that earlier requests of its queue have completed. Only silent ones may lack a completion. */
static void check_order(struct wr *w, bool succeeded)
{
    struct wr_list *list = w->op == RECEIVE ? &w->qp->receives : &w->qp->initiated;
    struct wr *first;

    while (!w->srq && (first = TAILQ_FIRST(list)) != w) {
        sim_check(first && first->silent, "%s: request %u completes before %u", obj_name(&w->qp->o), w->number,
                  first ? first->number : 0);
        sim_check(!first->bad || first->op != INVALIDATE, "%s: request %u, which was not allowed, succeeds",
                  obj_name(&w->qp->o), first->number);
        retire(first, true);
    }
    sim_check(!w->silent || !succeeded, "%s: silent request %u completes with success", obj_name(&w->qp->o), w->number);
}

static void check_status(const struct wr *w, NTSTATUS status)
{
    bool good = status == STATUS_SUCCESS;

    if (status == STATUS_CANCELLED || status == STATUS_CONNECTION_ABORTED)
        good = !sim_scenario.orderly || w->qp->disturbed || (w->qp->peer && w->qp->peer->disturbed);
    if (status == STATUS_ACCESS_VIOLATION)
        good = wr_may_lack_memory(w);
    if (status == STATUS_REMOTE_RESOURCES)
        good = traffic_bad && w->op != RECEIVE;
    if (status == STATUS_DATA_OVERRUN)
        good = !sim_scenario.orderly && w->op == RECEIVE;
    sim_check(good, "%s: request %u ends with %s", obj_name(&w->qp->o), w->number, ondk_status_name(status));
}

static struct wr *find_in(struct wr_list *list, const void *context)
{
    struct wr *w;

    TAILQ_FOREACH (w, list, link)
        if (w == context)
            break;
    return w;
}

/* Finds the request of this queue pair for a completion of this queue. */
static struct wr *find(struct qp *qp, const struct cq *cq, const void *context)
{
    struct wr *w = qp->receive_cq == cq ? find_in(qp->srq ? &qp->srq->receives : &qp->receives, context) : NULL;

    return w || qp->initiator_cq != cq ? w : find_in(&qp->initiated, context);
}

static void check_type(const struct wr *w, const NDK_RESULT_EX *r)
{
    static const NDK_OPERATION_TYPE types[] = {
        [SEND] = NdkOperationTypeSend,
        [RECEIVE] = NdkOperationTypeReceive,
        [READ] = NdkOperationTypeRead,
        [WRITE] = NdkOperationTypeWrite,
        [FAST_REGISTER] = NdkOperationTypeFastRegister,
        [BIND] = NdkOperationTypeBind,
        [INVALIDATE] = NdkOperationTypeInvalidate,
    };
    bool right = r->Type == types[w->op];

    if (w->op == RECEIVE && r->Status == STATUS_SUCCESS) /* the message is compared later */
        right = right || r->Type == NdkOperationTypeReceiveAndInvalidate;
    sim_check(right && (r->Status || r->ProviderErrorCode == 0), "%s: wrong type or code", obj_name(&w->qp->o));
}

void traffic_complete(struct cq *cq, const NDK_RESULT_EX *r, bool ex)
{
    struct qp *qp = r->QPContext;
    bool good = r->Status == STATUS_SUCCESS;
    struct wr *w;

    sim_check(qp && qp->o.kind == QP, "%s: a result with a context of nobody's", obj_name(&cq->o));
    w = find(qp, cq, r->RequestContext);
    sim_check(w, "%s: a completion for a request that is not pending", obj_name(&qp->o));
    w->qp = qp;
    sim_trace("%s: %u: %s, %u", obj_name(&qp->o), w->number, ondk_status_name(r->Status),
              w->op == RECEIVE && good ? r->BytesTransferred : 0);
    check_status(w, r->Status);
    if (ex)
        check_type(w, r);
    check_order(w, good);
    if (good && w->op == RECEIVE)
        received(w, r, ex);
    else if (good)
        initiated(w);
    if (!good)
        qp->disturbed = true;
    retire(w, good);
}

/* ---- the end ---- */

static void check_list(struct qp *qp, struct wr_list *list, unsigned number, const char *after)
{
    struct wr *w, *next;

    for (w = TAILQ_FIRST(list); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->number >= number)
            continue;
        sim_check(w->silent, "%s: %s, but request %u never completed", obj_name(&qp->o), after, w->number);
        retire(w, true);
    }
}

/* Skips queues that are being polled, whose results are not handled yet, and closed ones. */
static void check_queue(struct qp *qp, struct cq *cq, struct wr_list *list, unsigned number, const char *after)
{
    if (cq->polling)
        return;
    cq_drain(cq);
    if (obj_is_open(&cq->o))
        check_list(qp, list, number, after);
}

void qp_check_completed(struct qp *qp, unsigned number, const char *after)
{
    check_queue(qp, qp->receive_cq, &qp->receives, number, after);
    check_queue(qp, qp->initiator_cq, &qp->initiated, number, after);
}

void qp_check_flushed(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct qp *qp = (struct qp *)objects[i];

        if (qp->o.kind == QP && qp->o.life == OPEN && qp->flushed)
            qp_check_completed(qp, qp->flushed, "flushed");
    }
}

void qp_end(struct qp *qp)
{
    discard(&qp->receives);
    discard(&qp->initiated);
    discard(&qp->writes);
}

bool qp_is_drained(const struct qp *qp)
{
    const struct wr *w;

    TAILQ_FOREACH (w, &qp->initiated, link)
        if (!w->silent)
            return false;
    return qp->peer && qp->peer->delivered == qp->sent;
}
