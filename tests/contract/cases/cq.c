/* SPDX-License-Identifier: MIT */
/* CQX: completion queues: their depth, and arming. */
#include "contract/kit/data.h"

/* ---- size ---- */

/* covers: CQX-01 */
CASE(cqx_01_depth_beyond_the_limit, 0)
{
    static struct kit_side s;
    NDK_CQ *cq;
    ULONG most;

    kit_side_open(&s, NULL);
    most = data_info(s.adapter).MaxCqDepth;
    CHECK_STATUS(data_cq(s.adapter, most + 1, kit_on_notify, &s, &cq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(data_cq(s.adapter, MAXULONG, kit_on_notify, &s, &cq), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(data_cq(s.adapter, most, kit_on_notify, &s, &cq), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    kit_side_close(&s);
}

static NTSTATUS resize(NDK_CQ *cq, ULONG depth)
{
    struct kit_call call = { 0 };

    return kit_final(&call, cq->Dispatch->NdkResizeCq(cq, depth, kit_request_done, &call));
}

/*
 * Posts receives without memory with contexts from `first`. NdkFlush may return before the flush has ended, so the
 * receive queue may still be full of the receives flushed before.
 */
static void post_empty(struct kit_side *s, ULONG first, ULONG count)
{
    for (ULONG i = 0; i < count; i++) {
        NTSTATUS status = s->qp->Dispatch->NdkReceive(s->qp, (PVOID)(uintptr_t)(first + i), NULL, 0);

        while (status == STATUS_INSUFFICIENT_RESOURCES) {
            kit_pause();
            status = s->qp->Dispatch->NdkReceive(s->qp, (PVOID)(uintptr_t)(first + i), NULL, 0);
        }
        CHECK_STATUS(status, STATUS_SUCCESS);
    }
}

/* Posts receives without memory and flushes them, which adds `count` completions with contexts from `first`. */
static void queue_up(struct kit_side *s, ULONG first, ULONG count)
{
    post_empty(s, first, count);
    s->qp->Dispatch->NdkFlush(s->qp);
}

static void check_contexts(struct kit_side *s, ULONG first, ULONG count)
{
    for (ULONG i = 0; i < count; i++)
        CHECK_EQ((uintptr_t)kit_result(s).RequestContext, first + i);
}

/* covers: CQX-01 */
CASE(cqx_01_resize_keeps_what_is_queued, 0)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    queue_up(&s, 100, 60);
    check_contexts(&s, 100, 50); /* so that the ring wraps around in the following steps */
    queue_up(&s, 160, 60);
    queue_up(&s, 220, 20);
    check_contexts(&s, 150, 1);
    CHECK_STATUS(resize(s.cq, 200), STATUS_SUCCESS);
    check_contexts(&s, 151, 9);
    CHECK_STATUS(resize(s.cq, 80), STATUS_SUCCESS); /* exactly what is queued */
    check_contexts(&s, 160, 30);
    CHECK_STATUS(resize(s.cq, 300), STATUS_SUCCESS);
    queue_up(&s, 240, 64);
    queue_up(&s, 304, 64);
    queue_up(&s, 368, 64); /* more than the old depth */
    check_contexts(&s, 190, 242);
    CHECK_EQ(data_drain(&s), 0);
    CHECK_EQ(atomic_load(&s.notified), 0);
    kit_side_close(&s);
}

/* covers: CQX-01 */
CASE(cqx_01_resize_below_what_is_queued_is_refused, 0)
{
    static struct kit_side s;
    ULONG most;

    kit_side_open(&s, NULL);
    most = data_info(s.adapter).MaxCqDepth;
    queue_up(&s, 0, 20);
    post_empty(&s, 20, KIT_DEPTH); /* they have room after the flush has ended */
    CHECK_STATUS(resize(s.cq, 19), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(resize(s.cq, 1), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(resize(s.cq, most + 1), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(resize(s.cq, MAXULONG), STATUS_INVALID_PARAMETER);
    check_contexts(&s, 0, 20);
    s.qp->Dispatch->NdkFlush(s.qp); /* the depth is unchanged */
    check_contexts(&s, 20, KIT_DEPTH);
    CHECK_EQ(atomic_load(&s.notified), 0);
    kit_side_close(&s);
}

/* ---- arming: the passive side's completion queue is armed, and the active side sends ---- */

static void arm(struct kit_side *s, ULONG type)
{
    s->cq->Dispatch->NdkArmCq(s->cq, type);
}

/* Posts a receive on the passive side and sends the message for it. Returns when the receive's completion is queued. */
static void message(struct kit_pair *p, ULONG flags)
{
    NDK_SGE sge = kit_sge(&p->active, 0, 8);

    CHECK_STATUS(kit_post_receive(&p->passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(p->active.qp->Dispatch->NdkSend(p->active.qp, NULL, &sge, 1, flags), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    data_wait_delivered(&p->active, &p->passive);
}

enum { PLAIN = 0, SOLICIT = NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT };

/* covers: CQX-02 */
CASE(cqx_02_only_when_armed_and_once, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    message(&p, PLAIN);
    message(&p, SOLICIT);
    data_check_not_notified(&p, 0);
    CHECK_EQ(data_drain(&p.passive), 2);
    for (int i = 1; i <= 10; i++) {
        arm(&p.passive, NDK_CQ_NOTIFY_ANY);
        message(&p, PLAIN);
        data_check_notified(&p, i);
        message(&p, PLAIN);
        message(&p, SOLICIT);
        CHECK_EQ(data_drain(&p.passive), 3);
    }
    data_check_not_notified(&p, 10);
    arm(&p.passive, NDK_CQ_NOTIFY_ANY);
    data_check_not_notified(&p, 10); /* there are no completions */
    message(&p, PLAIN);
    data_check_notified(&p, 11);
    kit_pair_close(&p);
}

/* covers: CQX-02 */
CASE(cqx_02_solicited_takes_solicited_ones_alone, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    message(&p, PLAIN);
    message(&p, PLAIN);
    data_check_not_notified(&p, 0);
    message(&p, SOLICIT);
    data_check_notified(&p, 1);
    message(&p, SOLICIT);
    data_check_not_notified(&p, 1);
    kit_pair_close(&p);
}

/* Completions of this end's own successful requests do not count as solicited. */
/* covers: CQX-02 */
CASE(cqx_02_own_requests_are_not_solicited, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    CHECK_STATUS(kit_post_write(&p.passive, 1, 0, 10, &p.active, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_read(&p.passive, 2, 0, 10, &p.active, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    data_check_not_notified(&p, 0);
    arm(&p.passive, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(kit_post_write(&p.passive, 3, 0, 10, &p.active, 0), STATUS_SUCCESS);
    data_check_notified(&p, 1);
    kit_pair_close(&p);
}

/* covers: CQX-03 */
CASE(cqx_03_new_completions_fire_at_once, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    message(&p, PLAIN);
    arm(&p.passive, NDK_CQ_NOTIFY_ANY);
    data_check_notified(&p, 1);
    message(&p, PLAIN); /* the first completion was not polled yet */
    arm(&p.passive, NDK_CQ_NOTIFY_ANY);
    data_check_notified(&p, 2);
    CHECK_EQ(data_drain(&p.passive), 2);
    message(&p, SOLICIT);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    data_check_notified(&p, 3);
    message(&p, PLAIN);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    data_check_not_notified(&p, 3);
    message(&p, SOLICIT);
    data_check_notified(&p, 4);
    message(&p, SOLICIT);
    message(&p, PLAIN); /* the solicited completion is not the latest one */
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    data_check_notified(&p, 5);
    kit_pair_close(&p);
}

/* Runs inside the notification. Completions that arrive after its begin count as new for the next arm. */
static void arm_again(struct kit_side *s)
{
    struct kit_pair *p = s->arg;

    if (atomic_load(&s->notified) == 0) {
        CHECK_STATUS(kit_post_receive(s, 1, 0, 8), STATUS_SUCCESS);
        s->qp->Dispatch->NdkFlush(s->qp); /* completes posted requests, inline or later */
        arm(&p->passive, NDK_CQ_NOTIFY_ANY);
    }
}

/* covers: CQX-03 */
CASE(cqx_03_armed_inside_the_notification, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    p.passive.arg = &p;
    p.passive.inside_notified = arm_again;
    arm(&p.passive, NDK_CQ_NOTIFY_ANY);
    message(&p, PLAIN);
    kit_wait_count(&p.passive.notified, 2);
    CHECK_EQ(data_drain(&p.passive), 2);
    kit_pair_close(&p);
}

/* ---- a queue is armed twice before one notification ---- */

static void two_arms(ULONG first, ULONG second, bool plain_fires, bool solicited_fires)
{
    static struct kit_pair p;
    int seen = 0;

    kit_pair_open(&p);
    arm(&p.passive, first);
    arm(&p.passive, second);
    message(&p, PLAIN);
    plain_fires ? data_check_notified(&p, seen = 1) : data_check_not_notified(&p, 0);
    message(&p, SOLICIT);
    if (!plain_fires && solicited_fires)
        data_check_notified(&p, seen = 1);
    message(&p, SOLICIT);
    data_check_not_notified(&p, seen); /* two arms, one notification */
    kit_pair_close(&p);
}

/* covers: CQX-04 */
CASE(cqx_04_any_is_the_widest, KIT_FAMILIES)
{
    two_arms(NDK_CQ_NOTIFY_SOLICITED, NDK_CQ_NOTIFY_ANY, true, true);
    two_arms(NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_SOLICITED, true, true);
    two_arms(NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_ERRORS, true, true);
    two_arms(NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_ANY, true, true);
    two_arms(NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_ANY, true, true);
}

/* covers: CQX-04 */
CASE(cqx_04_solicited_is_wider_than_errors, KIT_FAMILIES)
{
    two_arms(NDK_CQ_NOTIFY_SOLICITED, NDK_CQ_NOTIFY_ERRORS, false, true);
    two_arms(NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_SOLICITED, false, true);
    two_arms(NDK_CQ_NOTIFY_SOLICITED, NDK_CQ_NOTIFY_SOLICITED, false, true);
    two_arms(NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_ERRORS, false, false);
}

/* ---- errors ---- */

/* covers: CQX-06 */
CASE(cqx_06_a_flushed_request_is_solicited, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    data_check_not_notified(&p, 0);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    data_check_notified(&p, 1);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_CANCELLED);
    arm(&p.passive, NDK_CQ_NOTIFY_SOLICITED);
    CHECK_STATUS(kit_post_receive(&p.passive, 2, 0, 8), STATUS_SUCCESS);
    kit_close_connector(&p.active); /* an abort: the peer's request fails */
    data_check_notified(&p, 2);
    CHECK(kit_result(&p.passive).Status != STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* covers: CQX-06 */
CASE(cqx_06_failed_requests_are_no_queue_errors, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    arm(&p.passive, NDK_CQ_NOTIFY_ERRORS);
    message(&p, PLAIN);
    message(&p, SOLICIT);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    while (data_drain(&p.passive) == 0)
        sched_yield();
    data_check_not_notified(&p, 0);
    kit_pair_close(&p);
}
