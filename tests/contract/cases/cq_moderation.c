/* SPDX-License-Identifier: MIT */
/*
 * CQX: moderated notifications. The passive side's queue is moderated, and the active side sends. An interval is either
 * longer than any case, or so short that the case waits until it is over.
 */
#include <time.h>

#include "contract/kit/data.h"

enum {
    DEPTH = 64,          /* depth of the moderated queue */
    HOURS = 4000000000u, /* microseconds, longer than any case */
    SHORT = 1000,
};

static NTSTATUS moderate(struct kit_side *s, ULONG interval, ULONG count)
{
    return s->cq->Dispatch->NdkControlCqInterruptModeration(s->cq, interval, count);
}

static void resize(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };
    NTSTATUS status = s->cq->Dispatch->NdkResizeCq(s->cq, depth, kit_request_done, &call);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
}

static void need_moderation(NDK_ADAPTER *adapter)
{
    if (!(data_info(adapter).AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED))
        kit_skip("the adapter does not moderate");
}

static void open_moderated(struct kit_pair *p, ULONG interval, ULONG count)
{
    kit_pair_open(p);
    need_moderation(p->passive.adapter);
    resize(&p->passive, DEPTH);
    CHECK_STATUS(moderate(&p->passive, interval, count), STATUS_SUCCESS);
}

static void arm(struct kit_pair *p, ULONG type)
{
    p->passive.cq->Dispatch->NdkArmCq(p->passive.cq, type);
}

/* Sends `count` messages. Returns when their completions are in the passive side's queue. */
static void messages(struct kit_pair *p, int count, ULONG flags)
{
    NDK_SGE sge = kit_sge(&p->active, 0, 8);

    for (int i = 0; i < count; i++) {
        CHECK_STATUS(kit_post_receive(&p->passive, 1, 0, 8), STATUS_SUCCESS);
        CHECK_STATUS(p->active.qp->Dispatch->NdkSend(p->active.qp, NULL, &sge, 1, flags), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    }
    data_wait_delivered(&p->active, &p->passive);
}

/* covers: CQX-08 */
CASE(cqx_08_what_would_wait_for_ever_is_refused, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, 3);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, MAXULONG), STATUS_INVALID_PARAMETER_MIX);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, DEPTH + 1), STATUS_INVALID_PARAMETER_MIX);
    arm(&p, NDK_CQ_NOTIFY_ANY); /* as before */
    messages(&p, 2, 0);
    data_check_not_notified(&p, 0);
    messages(&p, 1, 0);
    data_check_notified(&p, 1);
    CHECK_EQ(data_drain(&p.passive), 3);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, DEPTH), STATUS_SUCCESS);
    resize(&p.passive, DEPTH - 1);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, DEPTH), STATUS_INVALID_PARAMETER_MIX);
    CHECK_STATUS(moderate(&p.passive, HOURS, DEPTH), STATUS_SUCCESS);
    CHECK_STATUS(moderate(&p.passive, HOURS, MAXULONG), STATUS_SUCCESS);
    CHECK_STATUS(moderate(&p.passive, 0, MAXULONG), STATUS_SUCCESS);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, 0), STATUS_SUCCESS);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, 1), STATUS_SUCCESS);
    CHECK_STATUS(moderate(&p.passive, 0, 0), STATUS_SUCCESS);
    kit_pair_close(&p);
}

static void waits_for_five(struct kit_pair *p)
{
    for (int i = 0; i < 3; i++) {
        arm(p, NDK_CQ_NOTIFY_ANY);
        messages(p, 4, 0);
        data_check_not_notified(p, i);
        messages(p, 1, 0);
        data_check_notified(p, i + 1);
        messages(p, 5, 0); /* it is not armed */
        data_check_not_notified(p, i + 1);
        CHECK_EQ(data_drain(&p->passive), 10);
    }
}

/* covers: CQX-08 */
CASE(cqx_08_the_count, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, 5);
    waits_for_five(&p);
    CHECK_STATUS(moderate(&p.passive, HOURS, 5), STATUS_SUCCESS);
    atomic_store(&p.passive.notified, 0);
    waits_for_five(&p);
    kit_pair_close(&p);
}

/* The count includes new completions from before the arm, and completions that the consumer has polled already. */
/* covers: CQX-08 */
CASE(cqx_08_the_count_of_what, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, 5);
    messages(&p, 3, 0);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 1, 0);
    data_check_not_notified(&p, 0);
    CHECK_EQ(data_drain(&p.passive), 4);
    messages(&p, 1, 0);
    data_check_notified(&p, 1);
    arm(&p, NDK_CQ_NOTIFY_ANY); /* only an old one */
    messages(&p, 4, 0);
    data_check_not_notified(&p, 1);
    messages(&p, 1, 0);
    data_check_notified(&p, 2);
    kit_pair_close(&p);
}

/* covers: CQX-08 */
CASE(cqx_08_the_interval, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, SHORT, MAXULONG);
    for (int i = 1; i <= 20; i++) {
        arm(&p, NDK_CQ_NOTIFY_ANY);
        messages(&p, 1, 0);
        data_check_notified(&p, i);
    }
    data_check_not_notified(&p, 20);
    CHECK_STATUS(moderate(&p.passive, SHORT, DEPTH), STATUS_SUCCESS); /* whichever comes first */
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 2, 0);
    data_check_notified(&p, 21);
    CHECK_STATUS(moderate(&p.passive, SHORT, DEPTH + 1), STATUS_SUCCESS);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 2, 0);
    data_check_notified(&p, 22);
    kit_pair_close(&p);
}

/* covers: CQX-08 */
CASE(cqx_08_off, KIT_FAMILIES)
{
    static const struct {
        ULONG interval, count;
    } off[] = { { 0, DEPTH }, { 0, MAXULONG }, { 0, 0 }, { MAXULONG, 0 }, { MAXULONG, 1 }, { HOURS, 0 }, { HOURS, 1 } };
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, DEPTH);
    for (int i = 0; i < (int)(sizeof off / sizeof off[0]); i++) {
        CHECK_STATUS(moderate(&p.passive, off[i].interval, off[i].count), STATUS_SUCCESS);
        arm(&p, NDK_CQ_NOTIFY_ANY);
        messages(&p, 1, 0);
        data_check_notified(&p, i + 1);
    }
    kit_pair_close(&p);
}

/* covers: CQX-08 */
CASE(cqx_08_the_newest_setting_wins, KIT_FAMILIES)
{
    static const struct {
        ULONG before_interval, before_count, interval, count;
    } changes[] = {
        { MAXULONG, DEPTH, 0, DEPTH },
        { MAXULONG, DEPTH, MAXULONG, 1 },
        { MAXULONG, DEPTH, MAXULONG, 2 },
        { MAXULONG, DEPTH, SHORT, DEPTH },
        { HOURS, MAXULONG, SHORT, MAXULONG },
        { HOURS, MAXULONG, MAXULONG, 2 },
        { HOURS, DEPTH, 0, 0 },
    };
    static struct kit_pair p;

    open_moderated(&p, 0, 0);
    for (int i = 0; i < (int)(sizeof changes / sizeof changes[0]); i++) {
        CHECK_STATUS(moderate(&p.passive, changes[i].before_interval, changes[i].before_count), STATUS_SUCCESS);
        arm(&p, NDK_CQ_NOTIFY_ANY);
        messages(&p, 2, 0);
        data_check_not_notified(&p, i);
        CHECK_STATUS(moderate(&p.passive, changes[i].interval, changes[i].count), STATUS_SUCCESS);
        data_check_notified(&p, i + 1);
        CHECK_EQ(data_drain(&p.passive), 2);
    }
    CHECK_STATUS(moderate(&p.passive, MAXULONG, 2), STATUS_SUCCESS); /* a smaller count first, then a larger one */
    CHECK_STATUS(moderate(&p.passive, MAXULONG, 4), STATUS_SUCCESS);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 3, 0);
    data_check_not_notified(&p, 7);
    messages(&p, 1, 0);
    data_check_notified(&p, 8);
    kit_pair_close(&p);
}

/* A failed request notifies at once, although the moderation's count is not reached. */
/* covers: CQX-08 */
CASE(cqx_08_a_failure_does_not_wait, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, DEPTH);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 2, 0);
    data_check_not_notified(&p, 0);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    data_check_notified(&p, 1);
    CHECK_EQ(data_drain(&p.passive), 3);
    arm(&p, NDK_CQ_NOTIFY_SOLICITED);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    kit_close_connector(&p.active);
    data_check_notified(&p, 2);
    kit_pair_close(&p);
}

/*
 * A full queue notifies. Otherwise old completions, or a resize to a smaller depth, could make the count unreachable.
 */
/* covers: CQX-08 */
CASE(cqx_08_a_full_queue_does_not_wait, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, 0, 0);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 1, 0);
    data_check_notified(&p, 1);
    resize(&p.passive, 8);
    CHECK_STATUS(moderate(&p.passive, MAXULONG, 8), STATUS_SUCCESS);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 6, 0);
    data_check_not_notified(&p, 1);
    messages(&p, 1, 0); /* the queue is full: 7 new completions and an old one */
    data_check_notified(&p, 2);
    CHECK_EQ(data_drain(&p.passive), 8);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 3, 0);
    resize(&p.passive, 4);
    data_check_not_notified(&p, 2);
    messages(&p, 1, 0);
    data_check_notified(&p, 3);
    CHECK_EQ(data_drain(&p.passive), 4);
    arm(&p, NDK_CQ_NOTIFY_ANY);
    messages(&p, 3, 0);
    data_check_not_notified(&p, 3);
    resize(&p.passive, 3);
    data_check_notified(&p, 4);
    kit_pair_close(&p);
}

/* covers: CQX-08, CQX-07 */
CASE(cqx_08_an_overflow_does_not_wait, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, HOURS, MAXULONG);
    arm(&p, NDK_CQ_NOTIFY_ERRORS);
    resize(&p.passive, 4);
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(&p.active, 1, 0, 8), STATUS_SUCCESS);
    }
    kit_wait_count(&p.passive.notified, 1);
    CHECK_STATUS(p.passive.cq_status, STATUS_BUFFER_OVERFLOW);
    kit_pair_close(&p);
}

/* covers: CQX-08 */
CASE(cqx_08_solicited_ones_wait_too, KIT_FAMILIES)
{
    static struct kit_pair p;

    open_moderated(&p, MAXULONG, 3);
    arm(&p, NDK_CQ_NOTIFY_SOLICITED);
    messages(&p, 6, 0);
    data_check_not_notified(&p, 0);
    CHECK_EQ(data_drain(&p.passive), 6);
    messages(&p, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
    messages(&p, 1, 0);
    data_check_not_notified(&p, 0);
    messages(&p, 1, 0);
    data_check_notified(&p, 1);
    kit_pair_close(&p);
}

/* Requests complete to a queue of another event loop. */
/* covers: CQX-08 */
CASE(cqx_08_a_queue_apart_from_its_queue_pair, KIT_FAMILIES)
{
    enum { QUEUES = 4 };
    static struct kit_pair p;
    static struct kit_side other[QUEUES];
    struct data_qp config = { .receives = 8, .initiators = 8, .receive_sges = 1, .initiator_sges = 1 };

    kit_pair_open_idle(&p);
    need_moderation(p.active.adapter);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_STATUS(data_cq(p.active.adapter, DEPTH, kit_on_notify, &other[i], &other[i].cq), STATUS_SUCCESS);
        CHECK_STATUS(moderate(&other[i], SHORT, MAXULONG), STATUS_SUCCESS);
        config.initiator_cq = other[i].cq;
        CHECK_STATUS(kit_close(p.active.qp), STATUS_SUCCESS);
        CHECK_STATUS(data_qp(&p.active, &config, &p.active.qp), STATUS_SUCCESS);
        kit_establish(&p.active, &p.passive, &p.listener);
        for (int n = 1; n <= 5; n++) {
            other[i].cq->Dispatch->NdkArmCq(other[i].cq, NDK_CQ_NOTIFY_ANY);
            CHECK_STATUS(kit_post_write(&p.active, 1, 0, 8, &p.passive, 0), STATUS_SUCCESS);
            kit_wait_count(&other[i].notified, n);
        }
        CHECK_STATUS(moderate(&other[i], HOURS, 2), STATUS_SUCCESS); /* the close must not wait for the interval */
        other[i].cq->Dispatch->NdkArmCq(other[i].cq, NDK_CQ_NOTIFY_ANY);
        CHECK_STATUS(kit_post_write(&p.active, 1, 0, 8, &p.passive, 0), STATUS_SUCCESS);
        CHECK_EQ(data_drain(&other[i]) > 0, 1);
        kit_close_connector(&p.active);
        kit_close_connector(&p.passive);
        CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
        data_drain(&p.passive);
        p.passive.qp = kit_qp(&p.passive, KIT_DEPTH);
    }
    CHECK_STATUS(kit_close(p.active.qp), STATUS_SUCCESS);
    p.active.qp = NULL;
    for (int i = 0; i < QUEUES; i++)
        CHECK_STATUS(kit_close(other[i].cq), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* covers: CQX-08, OBJ-15 */
CASE(cqx_08_closed_while_one_waits, KIT_FAMILIES)
{
    static struct kit_pair p;
    static const ULONG intervals[] = { HOURS, SHORT, MAXULONG };

    for (int i = 0; i < 3; i++) {
        open_moderated(&p, intervals[i], DEPTH);
        arm(&p, NDK_CQ_NOTIFY_ANY);
        messages(&p, 1, 0);
        kit_pair_close(&p);
    }
}

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Checks that the notification comes, but not at once. Repeats an attempt that was too slow to prove this. */
static void check_kept_back(struct kit_pair *p, double interval)
{
    double begun, took;
    int before, early;

    do {
        before = atomic_load(&p->passive.notified);
        begun = seconds_now();
        arm(p, NDK_CQ_NOTIFY_ANY);
        messages(p, 1, 0);
        kit_pause();
        early = atomic_load(&p->passive.notified);
        took = seconds_now() - begun;
        data_check_notified(p, before + 1);
        data_drain(&p->passive);
    } while (took >= interval / 2);
    CHECK_EQ(early, before);
}

/* A provider can be configured to delay all notifications, like the interrupts of a card. */
/* covers: CQX-08 */
CASE(cqx_08_a_least_interval, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();

    config.notify_us = 400000; /* microseconds */
    kit_configure(&config);
    kit_pair_open(&p);
    for (int set = 0; set < 3; set++) {
        if (set)
            CHECK_STATUS(moderate(&p.passive, set == 1 ? SHORT : 0, set == 1 ? MAXULONG : 0), STATUS_SUCCESS);
        check_kept_back(&p, 0.4);
    }
    kit_pair_close(&p);
}
