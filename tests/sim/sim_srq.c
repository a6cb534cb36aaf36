/* SPDX-License-Identifier: MIT */
/*
 * Shared receive queues: receives are used in the order of their posts, none is lost, none is used twice, and each arm
 * has a notification. The consumer learns of a used receive only from its completion. So the queue may have fewer
 * receives than the consumer counts, but never more.
 */
#include <stdlib.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_executor.h"
#include "sim/sim_traffic_internal.h"

enum { TURNS = 200 };

static bool is_of(const struct obj *o, const struct srq *s)
{
    return o->kind == QP && ((const struct qp *)o)->srq == s && o->life != GONE;
}

/*
 * Returns the minimum of receives that the queue can have, considering messages in flight. An accepting side may send
 * before the peer is established.
 */
static unsigned srq_min_receives(const struct srq *s)
{
    unsigned coming = 0;

    for (unsigned i = 0; i < object_count; i++) {
        const struct qp *from = (const struct qp *)objects[i];

        if (from->o.kind == QP && from->peer && is_of(&from->peer->o, s) && from->sent > from->peer->delivered)
            coming += from->sent - from->peer->delivered;
    }
    return coming < s->outstanding ? s->outstanding - coming : 0;
}

bool srq_has_credit(const struct srq *s)
{
    return srq_min_receives(s) > 0;
}

void srq_sending(struct srq *s)
{
    unsigned min_receives = srq_min_receives(s);

    if (min_receives < s->arming.min_receives)
        s->arming.min_receives = min_receives;
}

/* ---- receives ---- */

bool srq_post(struct srq *s)
{
    NDK_SGE sges[PIECES];
    unsigned count;
    NTSTATUS status;
    struct wr *w;

    if (!obj_is_open(&s->o) || s->outstanding >= s->depth || s->outstanding >= MAX_SHARED)
        return false;
    w = wr_new(&s->nobody, RECEIVE);
    w->srq = s;
    if (!wr_acquire_memory(w, s->sges, SHARED_LENGTH + (uint32_t)sim_below(50), LOCAL)) {
        wr_release(w);
        wr_free(w);
        return false;
    }
    w->number = s->posted++;
    TAILQ_INSERT_TAIL(&s->receives, w, link);
    s->outstanding++;
    count = post_sges(w, sges);
    s->o.calls++;
    status = s->o.ndk.srq->Dispatch->NdkSrqReceive(s->o.ndk.srq, w, sges, count);
    s->o.calls--;
    sim_trace("%s: receive: %s", obj_name(&s->o), ondk_status_name(status));
    if (status == STATUS_SUCCESS)
        return true;
    sim_check(status == STATUS_ACCESS_VIOLATION && traffic_reclaimed, "%s: %u receives of %u, and another one: %s",
              obj_name(&s->o), s->outstanding - 1, s->depth, ondk_status_name(status));
    TAILQ_REMOVE(&s->receives, w, link);
    s->outstanding--;
    wr_release(w);
    wr_free(w);
    return false;
}

void srq_fill(void)
{
    for (unsigned i = 0; i < object_count; i++)
        while (objects[i]->kind == SRQ && srq_post((struct srq *)objects[i]))
            ;
}

void srq_used(struct wr *w)
{
    struct srq *s = w->srq;

    sim_check(w->number >= w->qp->shared, "%s: %s uses receive %u after %u", obj_name(&s->o), obj_name(&w->qp->o),
              w->number, w->qp->shared - 1);
    w->qp->shared = w->number + 1;
    if (w->number >= s->used)
        s->used = w->number + 1;
    TAILQ_REMOVE(&s->receives, w, link);
    s->outstanding--;
    s->arming.certain = s->arming.certain || s->arming.fresh;
    s->arming.fresh = false;
}

/* ---- notifications ---- */

static bool rearm(struct srq *s, ULONG depth, ULONG threshold);

static VOID notified(PVOID context, NTSTATUS status)
{
    struct srq *s = context;

    obj_enter(&s->o, "runs low");
    sim_check(status == STATUS_SUCCESS, "%s: notified of %s", obj_name(&s->o), ondk_status_name(status));
    sim_check(s->arming.armed, "%s: notified, but not armed", obj_name(&s->o));
    sim_check(!sim_scenario.orderly || s->arming.min_receives < s->arming.max_threshold,
              "%s: notified, but it had %u, and not below %u", obj_name(&s->o), s->arming.min_receives,
              s->arming.max_threshold);
    s->arming.armed--;
    s->notified++;
    s->arming.certain = s->arming.fresh = false;
    for (unsigned n = (unsigned)sim_below(6); n && srq_post(s); n--)
        ;
    if (s->o.life == OPEN && sim_chance(700))
        (void)rearm(s, 0, 1 + (ULONG)sim_below(s->depth));
    obj_exit(&s->o);
}

static void arm(struct srq *s, unsigned threshold)
{
    s->arming.certain = s->arming.armed == 0;
    s->arming.fresh = false;
    if (!s->arming.armed || threshold > s->arming.max_threshold)
        s->arming.max_threshold = threshold;
    if (!s->arming.armed)
        s->arming.min_receives = s->outstanding;
    if (s->arming.armed < 2)
        s->arming.armed++;
    s->arming.threshold = threshold;
    srq_sending(s);
}

/* Zeros change nothing. A depth that is too small for the counted receives may be enough for the actual ones. */
static bool rearm(struct srq *s, ULONG depth, ULONG threshold)
{
    static const NTSTATUS allowed[] = { STATUS_SUCCESS, STATUS_INSUFFICIENT_RESOURCES, STATUS_INVALID_PARAMETER,
                                        STATUS_PENDING };
    struct req *q = req_new(&s->o, "modify", allowed, SIM_SECOND, NULL);
    struct arming before = s->arming;
    unsigned notified = s->notified;
    NTSTATUS status;

    sim_trace("%s: %u receives, depth %u, threshold %u", obj_name(&s->o), s->outstanding, depth, threshold);
    if (threshold)
        arm(s, (unsigned)threshold);
    status = s->o.ndk.srq->Dispatch->NdkModifySrq(s->o.ndk.srq, depth, threshold, req_done, q);
    sim_check(status != STATUS_INVALID_PARAMETER || (depth && depth < s->outstanding),
              "%s: cannot be %u deep, with %u receives", obj_name(&s->o), depth, s->outstanding);
    if (status == STATUS_SUCCESS && depth)
        s->depth = depth;
    else if (status && s->notified == notified)
        s->arming = before;
    req_returned(q, status);
    return status == STATUS_SUCCESS;
}

void srq_modify(unsigned host)
{
    struct srq *s = obj_pick(SRQ, host, NULL);
    ULONG depth = sim_chance(500) ? 0 : 1 + (ULONG)sim_below(MAX_SHARED);

    if (s)
        (void)rearm(s, depth, sim_chance(500) ? 0 : 1 + (ULONG)sim_below(MAX_SHARED));
}

/* ---- its life ---- */

static void srq_ended(struct obj *o)
{
    struct wr *w;

    TAILQ_FOREACH (w, &((struct srq *)o)->receives, link)
        wr_release(w);
}

void srq_new(unsigned host)
{
    struct obj *pd = obj_pick(PD, host, NULL);
    NDK_SRQ *out = (NDK_SRQ *)&obj_unwritten;
    GROUP_AFFINITY affinity = { .Mask = (KAFFINITY)1 << sim_below(4) };
    struct srq *s;

    if (!pd || !(s = obj_new(SRQ, host, sizeof *s)))
        return;
    s->pd = s->nobody.pd = pd;
    s->nobody.o.kind = QP;
    s->depth = 4 + (unsigned)sim_below(MAX_SHARED - 4);
    s->sges = 1 + (unsigned)sim_below(PIECES);
    TAILQ_INIT(&s->receives);
    s->o.gone = srq_ended;
    s->arming.threshold = s->arming.max_threshold = (unsigned)sim_below(s->depth);
    s->arming.armed = s->arming.threshold > 0;
    s->arming.fresh = s->arming.armed;
    obj_parent(&s->o, pd);
    obj_created(&s->o,
                pd->ndk.pd->Dispatch->NdkCreateSrq(pd->ndk.pd, s->depth, s->sges, s->arming.threshold, notified, s,
                                                   sim_chance(300) ? &affinity : NULL, obj_create_done, s, &out),
                &out);
}

static struct obj *asking;

static bool is_in_domain(struct obj *o)
{
    return ((struct srq *)o)->pd == asking;
}

struct srq *srq_any(struct obj *pd)
{
    asking = pd;
    return obj_pick(SRQ, pd->host, is_in_domain);
}

void srq_end(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct srq *s = (struct srq *)objects[i];
        struct wr *w;

        while (s->o.kind == SRQ && (w = TAILQ_FIRST(&s->receives))) {
            TAILQ_REMOVE(&s->receives, w, link);
            wr_release(w);
            wr_free(w);
        }
    }
}

/* ---- nothing is running ---- */

/* Returns false if some completions can no longer be polled. */
static bool know_all(const struct srq *s)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct qp *qp = (struct qp *)objects[i];

        if (qp->o.kind != QP || qp->srq != s)
            continue;
        if (!obj_is_open(&qp->receive_cq->o) || qp->receive_cq->polling)
            return false;
        cq_drain(qp->receive_cq);
    }
    return true;
}

/* Each queue pair may have received a part of one message, whose receive is used and not completed. */
static void check_order(const struct srq *s, bool orderly_end)
{
    unsigned holes = 0, busy = 0;
    const struct wr *w;

    TAILQ_FOREACH (w, &s->receives, link)
        holes += w->number < s->used;
    for (unsigned i = 0; i < object_count; i++)
        busy += is_of(objects[i], s);
    sim_check(holes <= (orderly_end ? 0 : busy), "%s: %u receives were passed over", obj_name(&s->o), holes);
}

static bool is_owed(const struct srq *s, unsigned notified)
{
    return s->arming.armed && s->notified == notified && s->outstanding < s->arming.threshold && s->o.life == OPEN;
}

/* Polling drives shards, so a receive may be used in it; the shards' next turns notify of it. */
static void check_notified(struct srq *s)
{
    unsigned notified = s->notified;

    if (!is_owed(s, notified) || s->arming.fresh)
        return;
    for (int n = 0; n < TURNS && is_owed(s, notified); n++)
        sim_overlap();
    if (is_owed(s, notified) && !s->arming.certain)
        s->arming.armed = 0; /* two successive arms with one notification */
    sim_check(!is_owed(s, notified), "%s: %u receives, fewer than %u, and nobody was told", obj_name(&s->o),
              s->outstanding, s->arming.threshold);
}

void srq_check_idle(bool orderly_end)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct srq *s = (struct srq *)objects[i];

        if (s->o.kind != SRQ || s->o.life != OPEN || s->o.calls || !know_all(s))
            continue;
        check_order(s, orderly_end);
        if (!orderly_end) /* if a notification may be queued */
            check_notified(s);
    }
}
