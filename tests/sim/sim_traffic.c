/* SPDX-License-Identifier: MIT */
/* Queue pairs, and what their completions have to be: see sim_traffic.h. */
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
        wr_give_back(w);
        free(w);
    }
}

static void qp_gone(struct obj *o)
{
    struct qp *qp = (struct qp *)o;

    qp->disturbed = true;
    qp_check_completed(qp, qp->posted, "closed");
}

static struct cq *any_cq(unsigned host, unsigned needed)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    return cq && cq->depth >= needed ? cq : NULL;
}

struct qp *qp_new(unsigned host)
{
    struct obj *pd = obj_pick(PD, host, NULL);
    struct cq *rcq = any_cq(host, 64), *icq = any_cq(host, 64);
    NDK_QP *out = (NDK_QP *)&obj_unwritten;
    struct qp *qp;

    if (!pd || !rcq || !icq || !(qp = obj_new(QP, host, sizeof *qp)))
        return NULL;
    qp->pd = pd;
    qp->receive_cq = rcq;
    qp->initiator_cq = icq;
    qp->receive_depth = 4 + (unsigned)sim_below(12);
    qp->initiator_depth = 2 + (unsigned)sim_below(14);
    qp->sges = 1 + (unsigned)sim_below(PIECES);
    qp->inline_size = (unsigned)sim_below(SMALL + 1);
    TAILQ_INIT(&qp->receives);
    TAILQ_INIT(&qp->initiated);
    TAILQ_INIT(&qp->writes);
    qp->o.gone = qp_gone;
    obj_parent(&qp->o, pd);
    obj_parent(&qp->o, &rcq->o);
    obj_parent(&qp->o, &icq->o);
    obj_created(&qp->o,
                pd->ndk.pd->Dispatch->NdkCreateQp(pd->ndk.pd, rcq->o.ndk.cq, icq->o.ndk.cq, qp, qp->receive_depth,
                                                  qp->initiator_depth, qp->sges, qp->sges, qp->inline_size,
                                                  obj_create_done, qp, &out),
                &out);
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

    for (uint32_t i = 0; i < w->len && !w->remote.region->taken_back; i++)
        sim_check(piece_at(&w->remote)[i] == traffic_byte(from->o.id, w->message, i),
                  "%s: write %u is not there, but a later send is: %s, from %u on, at %u: 0x%02x", obj_name(&from->o),
                  w->number, obj_name(&w->remote.region->o), w->remote.offset, i, piece_at(&w->remote)[i]);
}

/* A request whose memory was taken back fails alone, if nothing of it has been sent. */
static bool source_is_there(const struct wr *w)
{
    for (unsigned p = 0; p < w->piece_count; p++)
        if (w->pieces[p].region->token == UINT32_MAX || w->pieces[p].region->o.life != OPEN)
            return false;
    return true;
}

/* A send was seen: what its sender wrote before it is there. */
static void check_writes(struct qp *from, unsigned before)
{
    struct wr *w, *next;

    TAILQ_FOREACH(w, &from->initiated, link)
        if (w->op == WRITE && !w->bad && w->number < before && w->number >= from->flushed && source_is_there(w))
            check_write(w);
    for (w = TAILQ_FIRST(&from->writes); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->number >= before)
            continue;
        check_write(w);
        TAILQ_REMOVE(&from->writes, w, link);
        piece_give(&w->remote);
        free(w);
    }
}

static void received(struct wr *w, uint32_t len)
{
    struct qp *qp = w->qp, *from = qp->peer;
    unsigned first = qp->delivered, m = first;

    sim_check(from, "%s: a message from nobody", obj_name(&qp->o));
    sim_check(len <= w->len, "%s: %u bytes in a receive of %u", obj_name(&qp->o), len, w->len);
    if (!wr_memory_is_there(w))
        return;
    while (m < from->sent && (from->message_len[m] != len || !wr_has_pattern(w, from->o.id, m, len)))
        m++;
    sim_check(m < from->sent, "%s: message %u arrived otherwise than it was sent", obj_name(&qp->o), first);
    sim_check(m == first || from->disturbed || traffic_taken_back, "%s: message %u is missing", obj_name(&qp->o), first);
    wr_check_rest(w, len);
    qp->delivered = m + 1;
    check_writes(from, from->message_number[m]);
}

static void initiated(struct wr *w)
{
    struct region *r = w->remote.region;

    size_t n = 0;

    sim_check(w->op != READ || !w->bad, "%s: a read that was not allowed succeeds", obj_name(&w->qp->o));
    if (w->op != READ || !wr_memory_is_there(w) || r->taken_back)
        return;
    for (unsigned p = 0; p < w->piece_count; p++)
        for (uint32_t i = 0; i < w->pieces[p].len; i++, n++)
            sim_check(piece_at(&w->pieces[p])[i] == traffic_byte(r->o.id, 0, w->remote.offset + n),
                      "%s: read %u got other bytes than are there", obj_name(&w->qp->o), w->number);
}

/* It is over: its own memory is free again, the remote one where it is known what is in there. */
static void retire(struct wr *w, bool succeeded)
{
    struct qp *qp = w->qp;
    struct cq *cq = w->op == RECEIVE ? qp->receive_cq : qp->initiator_cq;

    TAILQ_REMOVE(w->op == RECEIVE ? &qp->receives : &qp->initiated, w, link);
    cq->expected--;
    w->done = true;
    wr_give_back(w);
    if (w->op == WRITE && succeeded && !w->bad)
        TAILQ_INSERT_TAIL(&qp->writes, w, link);
    else
        free(w); /* after a failure the remote piece stays taken: part of the data may be there */
}

/* What is before it in its queue has completed: only the silent ones may have done so without a word. */
static void check_order(struct wr *w, bool succeeded)
{
    struct wr_list *list = w->op == RECEIVE ? &w->qp->receives : &w->qp->initiated;
    struct wr *first;

    while ((first = TAILQ_FIRST(list)) != w) {
        sim_check(first && first->silent, "%s: request %u completes before %u", obj_name(&w->qp->o), w->number,
                  first ? first->number : 0);
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
        good = traffic_bad || traffic_taken_back;
    if (status == STATUS_REMOTE_RESOURCES)
        good = traffic_bad && w->op != RECEIVE;
    if (status == STATUS_DATA_OVERRUN)
        good = !sim_scenario.orderly && w->op == RECEIVE;
    sim_check(good, "%s: request %u ends with %s", obj_name(&w->qp->o), w->number, ondk_status_name(status));
}

void traffic_complete(struct cq *cq, const NDK_RESULT_EX *r, bool ex)
{
    static const NDK_OPERATION_TYPE types[] = {NdkOperationTypeSend, NdkOperationTypeReceive, NdkOperationTypeRead,
                                               NdkOperationTypeWrite};
    struct qp *qp = r->QPContext;
    struct wr *w, *found = NULL;
    bool good = r->Status == STATUS_SUCCESS;

    sim_check(qp && qp->o.kind == QP, "%s: a result with a context of nobody's", obj_name(&cq->o));
    TAILQ_FOREACH(w, &qp->receives, link)
        if (w == r->RequestContext && qp->receive_cq == cq)
            found = w;
    TAILQ_FOREACH(w, &qp->initiated, link)
        if (w == r->RequestContext && qp->initiator_cq == cq)
            found = w;
    sim_check(found, "%s: a completion for a request that is not pending", obj_name(&qp->o));
    sim_trace("%s: %u: %s, %u", obj_name(&qp->o), found->number, ondk_status_name(r->Status),
              found->op == RECEIVE && good ? r->BytesTransferred : 0);
    check_status(found, r->Status);
    sim_check(!ex || (r->Type == types[found->op] && (!good || r->ProviderErrorCode == 0)), "%s: wrong type or code",
              obj_name(&qp->o));
    check_order(found, good);
    if (good && found->op == RECEIVE)
        received(found, r->BytesTransferred);
    else if (good)
        initiated(found);
    if (!good)
        qp->disturbed = true;
    retire(found, good);
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

/* Somebody who polls just now has not handled what he got; a queue that is closed has told nobody. */
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

    TAILQ_FOREACH(w, &qp->initiated, link)
        if (!w->silent)
            return false;
    return qp->peer && qp->peer->delivered == qp->sent;
}
