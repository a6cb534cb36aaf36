/* SPDX-License-Identifier: MIT */
/* CQX: concurrent notifications, overflow, and many queue pairs on one queue. */
#include "contract/kit/data.h"

/* ---- no two notifications at the same time ---- */

struct gate {
    atomic_int inside, begun, ended, open;
};

static void blocked_inside(struct kit_side *s)
{
    struct gate *g = s->arg;

    CHECK_EQ(atomic_fetch_add(&g->inside, 1), 0);
    kit_increment(&g->begun);
    kit_wait_count(&g->open, atomic_load(&g->begun));
    atomic_fetch_sub(&g->inside, 1);
    kit_increment(&g->ended);
}

/* The notification blocks until another thread has armed again and polled a further completion. */
/* covers: CQX-05 */
CASE(cqx_05_the_next_waits_for_the_one_that_runs, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct gate g;

    kit_pair_open(&p);
    p.passive.arg = &g;
    p.passive.inside_notified = blocked_inside;
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, i, 0, 8), STATUS_SUCCESS);
    p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    kit_wait_count(&g.begun, 1);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(atomic_load(&g.begun), 1);
    kit_increment(&g.open);
    kit_wait_count(&g.begun, 2); /* the second notification runs after the first one, not instead of it */
    kit_increment(&g.open);
    kit_wait_count(&g.ended, 2);
    kit_pause();
    CHECK_EQ(atomic_load(&g.begun), 2);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_close(&p);
}

enum { QPS = 6, ROUNDS = 200 };

/* The receives of all queue pairs complete to one queue, side.cq. own[i] is the initiator queue of qp[i]. */
struct crowd {
    struct kit_side side;
    NDK_CQ *own[QPS];
    NDK_QP *qp[QPS];
    atomic_int inside;
};

static void never(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void alone(struct kit_side *s)
{
    struct crowd *c = s->arg;

    CHECK_EQ(atomic_fetch_add(&c->inside, 1), 0);
    s->cq->Dispatch->NdkArmCq(s->cq, NDK_CQ_NOTIFY_ANY);
    sched_yield();
    CHECK_EQ(atomic_fetch_sub(&c->inside, 1), 1);
}

static void *flush_receives(void *arg)
{
    NDK_QP *qp = arg;

    for (int i = 0; i < ROUNDS; i++) {
        CHECK_STATUS(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
        qp->Dispatch->NdkFlush(qp);
    }
    return NULL;
}

/* covers: CQX-05 */
CASE(cqx_05_many_threads_fill_one_queue, 0)
{
    static struct crowd c;
    pthread_t threads[QPS];
    struct data_qp how = { .receives = ROUNDS, .initiators = 1, .receive_sges = 1, .initiator_sges = 1 };
    NDK_CQ *cq;

    kit_side_open(&c.side, NULL);
    c.side.arg = &c;
    c.side.inside_notified = alone;
    CHECK_STATUS(data_cq(c.side.adapter, QPS * ROUNDS, kit_on_notify, &c.side, &cq), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(c.side.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(c.side.cq), STATUS_SUCCESS);
    c.side.cq = cq;
    c.side.qp = NULL;
    for (int i = 0; i < QPS; i++) {
        CHECK_STATUS(data_cq(c.side.adapter, 4, never, NULL, &c.own[i]), STATUS_SUCCESS);
        how.initiator_cq = c.own[i];
        CHECK_STATUS(data_qp(&c.side, &how, &c.qp[i]), STATUS_SUCCESS);
    }
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    for (int i = 0; i < QPS; i++)
        CHECK(pthread_create(&threads[i], NULL, flush_receives, c.qp[i]) == 0);
    for (int i = 0; i < QPS; i++)
        pthread_join(threads[i], NULL);
    kit_wait_count(&c.side.notified, 1);
    for (int i = 0; i < QPS; i++) {
        CHECK_STATUS(kit_close(c.qp[i]), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(c.own[i]), STATUS_SUCCESS);
    }
    CHECK_EQ(data_drain(&c.side), QPS * ROUNDS);
    kit_side_close(&c.side);
}

/* ---- overflow ---- */

enum { SHALLOW = 4 };

struct shallow {
    struct kit_pair p;
    NDK_CQ *deep;
};

/* The passive side's queue is smaller than the number of its receives. */
static void shallow_open(struct shallow *s)
{
    struct data_qp how = { .receives = 16, .initiators = 4, .receive_sges = 1, .initiator_sges = 1 };

    kit_pair_open_idle(&s->p);
    CHECK_STATUS(kit_close(s->p.passive.qp), STATUS_SUCCESS);
    s->deep = s->p.passive.cq;
    CHECK_STATUS(data_cq(s->p.passive.adapter, SHALLOW, kit_on_notify, &s->p.passive, &s->p.passive.cq),
                 STATUS_SUCCESS);
    how.initiator_cq = s->deep;
    CHECK_STATUS(data_qp(&s->p.passive, &how, &s->p.passive.qp), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 8; i++)
        CHECK_STATUS(kit_post_receive(&s->p.passive, 500 + i, i * 8, 8), STATUS_SUCCESS);
    kit_establish(&s->p.active, &s->p.passive, &s->p.listener);
}

static void shallow_close(struct shallow *s)
{
    CHECK_STATUS(kit_close(s->p.passive.connector), STATUS_SUCCESS);
    s->p.passive.connector = NULL;
    CHECK_STATUS(kit_close(s->p.passive.qp), STATUS_SUCCESS);
    s->p.passive.qp = NULL;
    CHECK_STATUS(kit_close(s->deep), STATUS_SUCCESS);
    kit_pair_close(&s->p);
}

static void shallow_arm(struct shallow *s, ULONG kind)
{
    s->p.passive.cq->Dispatch->NdkArmCq(s->p.passive.cq, kind);
}

static void shallow_fill(struct shallow *s)
{
    for (int i = 0; i < SHALLOW; i++)
        CHECK_STATUS(kit_post_send(&s->p.active, 1, 0, 8), STATUS_SUCCESS);
    for (int i = 0; i < SHALLOW; i++)
        CHECK_STATUS(kit_result(&s->p.active).Status, STATUS_SUCCESS);
    data_wait_delivered(&s->p.active, &s->p.passive);
}

/* Overflows the full queue. Returns when the connection has ended because of that. */
static void shallow_overflow(struct shallow *s)
{
    CHECK_STATUS(kit_post_send(&s->p.active, 1, 0, 8), STATUS_SUCCESS);
    data_check_ended(&s->p.active);
}

static void shallow_check_notified(struct shallow *s, int count, NTSTATUS status)
{
    kit_wait_count(&s->p.passive.notified, count);
    kit_pause();
    CHECK_EQ(atomic_load(&s->p.passive.notified), count);
    if (count > 0)
        CHECK_STATUS(s->p.passive.cq_status, status);
}

static void overflow(ULONG kind)
{
    static struct shallow s;
    NDK_RESULT results[SHALLOW + 4];
    ULONG n;

    shallow_open(&s);
    memset(results, 0x77, sizeof results);
    shallow_arm(&s, kind);
    shallow_fill(&s);
    shallow_check_notified(&s, 0, STATUS_SUCCESS); /* a full queue is no overflow */
    shallow_overflow(&s);
    shallow_check_notified(&s, 1, STATUS_BUFFER_OVERFLOW);
    CHECK_STATUS(kit_post_send(&s.p.passive, 0, 0, 1), STATUS_CONNECTION_INVALID);
    n = s.p.passive.cq->Dispatch->NdkGetCqResults(s.p.passive.cq, results, SHALLOW + 2);
    CHECK(n <= SHALLOW);
    for (ULONG i = 0; i < n; i++) {
        CHECK_STATUS(results[i].Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)results[i].RequestContext, 500 + i);
    }
    for (ULONG i = n; i < SHALLOW + 4; i++)
        CHECK_EQ((uintptr_t)results[i].RequestContext, 0x7777777777777777u);
    /* The overflow has cleared the arm. The provider must not notify if the next call makes it check the arm. */
    (void)s.p.passive.cq->Dispatch->NdkControlCqInterruptModeration(s.p.passive.cq, 0, 0);
    shallow_check_notified(&s, 1, STATUS_BUFFER_OVERFLOW);
    shallow_close(&s);
}

/* covers: CQX-07 */
CASE(cqx_07_overflow_is_told_and_overwrites_nothing, KIT_FAMILIES)
{
    overflow(NDK_CQ_NOTIFY_ERRORS);
    overflow(NDK_CQ_NOTIFY_SOLICITED);
}

/* covers: CQX-07 */
CASE(cqx_07_no_notification_without_an_arm, KIT_FAMILIES)
{
    static struct shallow s;

    shallow_open(&s);
    shallow_fill(&s);
    shallow_overflow(&s);
    shallow_check_notified(&s, 0, STATUS_SUCCESS);
    shallow_close(&s);
}

/* A completion has used the arm, so the overflow behind it is not notified. */
/* covers: CQX-07, CQX-02 */
CASE(cqx_07_no_second_notification_for_one_arm, KIT_FAMILIES)
{
    static struct shallow s;

    shallow_open(&s);
    shallow_arm(&s, NDK_CQ_NOTIFY_ANY);
    shallow_fill(&s);
    shallow_check_notified(&s, 1, STATUS_SUCCESS);
    shallow_overflow(&s);
    shallow_check_notified(&s, 1, STATUS_SUCCESS);
    shallow_close(&s);
}

/* covers: CQX-07 */
CASE(cqx_07_a_later_arm_is_met_at_once, KIT_FAMILIES)
{
    static const ULONG kinds[] = { NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_SOLICITED };
    static struct shallow s;
    int told = 0;

    shallow_open(&s);
    shallow_arm(&s, NDK_CQ_NOTIFY_ERRORS);
    shallow_fill(&s);
    shallow_overflow(&s);
    shallow_check_notified(&s, ++told, STATUS_BUFFER_OVERFLOW);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        s.p.passive.cq_status = STATUS_SUCCESS;
        shallow_arm(&s, kinds[i]);
        shallow_check_notified(&s, ++told, STATUS_BUFFER_OVERFLOW);
    }
    (void)data_drain(&s.p.passive);
    shallow_arm(&s, NDK_CQ_NOTIFY_ANY);
    shallow_check_notified(&s, ++told, STATUS_BUFFER_OVERFLOW);
    shallow_close(&s);
}

/* An arm for errors stays armed while the queue fills up; only the overflow notifies. */
/* covers: CQX-06 */
CASE(cqx_06_an_overflow_is_a_queue_error, KIT_FAMILIES)
{
    overflow(NDK_CQ_NOTIFY_ERRORS);
}

/* ---- one completion queue for many queue pairs ---- */

enum { MANY = 8, REQUESTS = 40 };

struct many {
    struct kit_side one[MANY]; /* all use one adapter, one PD and one CQ */
    struct kit_side base;
};

static void *context_of(unsigned qp)
{
    static const uintptr_t odd[] = { 0, 1, UINTPTR_MAX, UINTPTR_MAX - 1, 0x8000000000000000u, 0x00000000ffffffffu };

    return (void *)(qp < sizeof odd / sizeof odd[0] ? odd[qp] : (uintptr_t)&odd[qp - 6]);
}

static void *request_of(unsigned qp, unsigned n, bool receive)
{
    return (void *)((uintptr_t)0xfedc000000000000u | (uintptr_t)qp << 32 | (uintptr_t)n << 1 | receive);
}

static void many_open(struct many *m)
{
    struct data_qp how = { .receives = REQUESTS, .initiators = REQUESTS, .receive_sges = 2, .initiator_sges = 2 };

    m->base.depth = MANY * REQUESTS;
    kit_side_open(&m->base, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        memcpy(&m->one[i], &m->base, sizeof m->base);
        how.context = context_of(i);
        CHECK_STATUS(data_qp(&m->one[i], &how, &m->one[i].qp), STATUS_SUCCESS);
    }
}

static void many_close(struct many *m)
{
    for (unsigned i = 0; i < MANY; i++) {
        kit_close_connector(&m->one[i]);
        CHECK_STATUS(kit_close(m->one[i].qp), STATUS_SUCCESS);
    }
    kit_side_close(&m->base);
}

static void post_all(struct many *m)
{
    for (unsigned n = 0; n < REQUESTS; n++)
        for (unsigned i = 0; i < MANY; i++) {
            NDK_QP *qp = m->one[i].qp;
            NDK_SGE sge = kit_sge(&m->one[i], 0, 16);
            CHECK_STATUS(qp->Dispatch->NdkSend(qp, request_of(i, n, false), &sge, 1, 0), STATUS_SUCCESS);
        }
}

static void check_all(struct many *m)
{
    unsigned seen[MANY][2] = { { 0 } };

    for (unsigned all = 0; all < MANY * REQUESTS * 2; all++) {
        NDK_RESULT_EX r = kit_result(&m->base);
        unsigned qp = (uintptr_t)r.RequestContext >> 32 & 0xffff;
        bool receive = (uintptr_t)r.RequestContext & 1;

        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK(qp < MANY);
        CHECK_EQ((uintptr_t)r.RequestContext, (uintptr_t)request_of(qp, seen[qp][receive], receive));
        CHECK_EQ((uintptr_t)r.QPContext, (uintptr_t)context_of(qp));
        CHECK_EQ(r.Type, receive ? NdkOperationTypeReceive : NdkOperationTypeSend);
        seen[qp][receive]++;
    }
    CHECK_EQ(data_drain(&m->base), 0);
}

/* covers: CQX-09 */
CASE(cqx_09_one_queue_for_many_and_both_directions, KIT_FAMILIES)
{
    static struct many a, b;
    static struct kit_listener l;

    many_open(&a);
    many_open(&b);
    kit_listen(&l, b.base.adapter);
    for (unsigned i = 0; i < MANY; i++)
        kit_establish(&a.one[i], &b.one[i], &l);
    for (unsigned i = 0; i < MANY; i++)
        for (unsigned n = 0; n < REQUESTS; n++) {
            NDK_SGE sge = kit_sge(&a.one[i], 4096 * i, 16), far = kit_sge(&b.one[i], 4096 * i, 16);
            CHECK_STATUS(a.one[i].qp->Dispatch->NdkReceive(a.one[i].qp, request_of(i, n, true), &sge, 1), 0);
            CHECK_STATUS(b.one[i].qp->Dispatch->NdkReceive(b.one[i].qp, request_of(i, n, true), &far, 1), 0);
        }
    post_all(&a);
    post_all(&b);
    check_all(&a);
    check_all(&b);
    many_close(&a);
    for (unsigned i = 0; i < MANY; i++)
        kit_close_connector(&b.one[i]);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    many_close(&b);
}

/* NdkGetCqResults, the older call, returns the same contexts as NdkGetCqResultsEx. */
/* covers: CQX-09 */
CASE(cqx_09_contexts_with_the_older_call, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_RESULT r;

    kit_pair_open(&p);
    CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, (PVOID)UINTPTR_MAX, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, NULL, 0, 0), STATUS_SUCCESS);
    while (p.passive.cq->Dispatch->NdkGetCqResults(p.passive.cq, &r, 1) == 0)
        sched_yield();
    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ((uintptr_t)r.RequestContext, UINTPTR_MAX);
    CHECK_EQ((uintptr_t)r.QPContext, (uintptr_t)&p.passive);
    while (p.active.cq->Dispatch->NdkGetCqResults(p.active.cq, &r, 1) == 0)
        sched_yield();
    CHECK_EQ((uintptr_t)r.RequestContext, 0);
    CHECK_EQ((uintptr_t)r.QPContext, (uintptr_t)&p.active);
    kit_pair_close(&p);
}
