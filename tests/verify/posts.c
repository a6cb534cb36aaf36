/* SPDX-License-Identifier: MIT */
/*
 * Rules about the queues that requests are posted to, with small queues. Results are polled late on purpose, because
 * only a polled result frees a slot. Whether the provider accepts a request beyond the depth depends on what it has
 * already completed, so these tests do not check it.
 */
#include "contract/kit/kit.h"
#include "verify/breaches.h"

enum { DEPTH = 4 };

static struct kit_pair p;

static NDK_CQ *create_cq(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };
    NDK_CQ *cq = NULL;
    NTSTATUS status = s->adapter->Dispatch->NdkCreateCq(s->adapter, depth, kit_on_notify, s, NULL, kit_create_done,
                                                        &call, &cq);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return cq ? cq : (NDK_CQ *)call.object;
}

static NDK_QP *create_qp(struct kit_side *s, ULONG receives, ULONG requests)
{
    struct kit_call call = { 0 };
    NDK_QP *qp = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, s->cq, s->cq, s, receives, requests, 1, 1, 0, kit_create_done,
                                                   &call, &qp);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return qp ? qp : (NDK_QP *)call.object;
}

/* Replaces the queues of a side that is not connected. */
static void side_set_depths(struct kit_side *s, ULONG results, ULONG receives, ULONG requests)
{
    kit_close(s->qp);
    kit_close(s->cq);
    s->cq = create_cq(s, results);
    s->qp = create_qp(s, receives, requests);
}

/* Connects two sides. The active side's queues have these depths, and the passive side has KIT_DEPTH receives. */
static void pair_open(ULONG results, ULONG receives, ULONG requests)
{
    breaches_begin();
    kit_pair_open_idle(&p);
    side_set_depths(&p.active, results, receives, requests);
    kit_establish(&p.active, &p.passive, &p.listener);
    for (int i = 0; i < KIT_DEPTH; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
}

static NTSTATUS post_send(ULONG flags)
{
    return p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, NULL, 0, flags);
}

static void post_sends(int count, ULONG flags)
{
    for (int i = 0; i < count; i++)
        CHECK_STATUS(post_send(flags), STATUS_SUCCESS);
}

static NTSTATUS post_receive(NDK_QP *qp)
{
    return qp->Dispatch->NdkReceive(qp, NULL, NULL, 0);
}

static void poll_results(int count)
{
    for (int i = 0; i < count; i++)
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
}

/* ---- silent-only ---- */

CASE(only_silent_requests, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    post_sends(DEPTH, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("");
    (void)post_send(NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("silent-only in NdkSend");
    kit_pair_close(&p);
}

CASE(one_signalled_request_among_silent_ones, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    for (int i = 0; i < 4; i++) {
        post_sends(DEPTH - 1, NDK_OP_FLAG_SILENT_SUCCESS);
        post_sends(1, 0);
        poll_results(1);
    }
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- queue-slots ---- */

CASE(more_requests_than_slots, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    post_sends(DEPTH, 0);
    CHECK_BREACHES("");
    (void)post_send(0);
    CHECK_BREACHES("queue-slots in NdkSend");
    kit_pair_close(&p);
}

/* One of the requests that occupy the slots is signalled, so its result will free them. */
CASE(more_silent_requests_than_slots, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    post_sends(1, 0);
    post_sends(DEPTH - 1, NDK_OP_FLAG_SILENT_SUCCESS);
    (void)post_send(NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("queue-slots in NdkSend");
    kit_pair_close(&p);
}

CASE(slots_of_polled_requests, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    post_sends(DEPTH, 0);
    for (int i = 0; i < 2 * DEPTH; i++) {
        poll_results(1);
        post_sends(1, 0);
    }
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(more_receives_than_slots, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    for (int i = 0; i < DEPTH; i++)
        CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
    CHECK_BREACHES("");
    (void)post_receive(p.active.qp);
    CHECK_BREACHES("queue-slots in NdkReceive");
    kit_pair_close(&p);
}

/* After a flush, the results of the receives come, but no request can be posted in their place. */
CASE(posts_after_a_flush, 0)
{
    pair_open(KIT_DEPTH, DEPTH, DEPTH);
    for (int i = 0; i < DEPTH; i++)
        CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    (void)post_receive(p.active.qp);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- cq-overflow ---- */

CASE(more_requests_than_results, 0)
{
    pair_open(DEPTH, DEPTH, DEPTH);
    for (int i = 0; i < DEPTH - 1; i++)
        CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
    post_sends(1, 0);
    CHECK_BREACHES("");
    (void)post_send(0);
    CHECK_BREACHES("cq-overflow in NdkSend");
    kit_pair_close(&p);
}

/* If the connection ends, silent requests have results, too. */
CASE(more_silent_requests_than_results, 0)
{
    pair_open(DEPTH, DEPTH, 2 * DEPTH);
    post_sends(DEPTH, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("");
    (void)post_send(0);
    CHECK_BREACHES("cq-overflow in NdkSend");
    kit_pair_close(&p);
}

CASE(fewer_results_than_the_queues_hold, 0)
{
    pair_open(DEPTH, DEPTH, DEPTH);
    CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
    for (int i = 0; i < 4; i++) {
        post_sends(DEPTH - 1, 0);
        poll_results(DEPTH - 1);
    }
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* Each answer shows that the peer has received the silent request before it. */
CASE(silent_requests_that_are_answered, 0)
{
    NDK_RESULT_EX result;

    pair_open(2, DEPTH, DEPTH);
    for (int i = 0; i < DEPTH; i++) {
        CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
        post_sends(1, NDK_OP_FLAG_SILENT_SUCCESS);
        result = kit_result(&p.passive);
        CHECK_STATUS(result.Status, STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(&p.passive, 2, 0, 0), STATUS_SUCCESS);
        poll_results(1);
        result = kit_result(&p.passive);
        CHECK_STATUS(result.Status, STATUS_SUCCESS);
    }
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* The requests of a closed queue pair use no room. */
CASE(results_of_a_closed_queue_pair, 0)
{
    static struct kit_side s;

    breaches_begin();
    kit_side_open(&s, NULL);
    side_set_depths(&s, DEPTH, DEPTH, DEPTH);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < DEPTH; i++)
            CHECK_STATUS(post_receive(s.qp), STATUS_SUCCESS);
        kit_close(s.qp);
        s.qp = create_qp(&s, DEPTH, DEPTH);
    }
    kit_side_close(&s);
    CHECK_BREACHES("");
}

/* ---- shared receive queues ---- */

static NDK_SRQ *create_srq(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };
    NDK_SRQ *srq = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateSrq(s->pd, depth, 1, 0, NULL, NULL, NULL, kit_create_done, &call, &srq);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return srq ? srq : (NDK_SRQ *)call.object;
}

static NDK_QP *create_qp_with_srq(struct kit_side *s, NDK_SRQ *srq)
{
    struct kit_call call = { 0 };
    NDK_QP *qp = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateQpWithSrq(s->pd, s->cq, s->cq, srq, s, DEPTH, 1, 0, kit_create_done,
                                                          &call, &qp);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return qp ? qp : (NDK_QP *)call.object;
}

CASE(shared_receives, 0)
{
    static struct kit_side s;
    NDK_SRQ *srq;
    NDK_QP *qp;

    breaches_begin();
    kit_side_open(&s, NULL);
    srq = create_srq(&s, DEPTH);
    qp = create_qp_with_srq(&s, srq);
    for (int i = 0; i < DEPTH; i++)
        CHECK_STATUS(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    CHECK_BREACHES("");
    (void)post_receive(qp);
    CHECK_BREACHES("receive-with-srq in NdkReceive");
    kit_close(qp);
    kit_close(srq);
    kit_side_close(&s);
    CHECK_BREACHES("");
}

/* ---- post-unconnected ---- */

CASE(posts_before_the_connection, 0)
{
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting, accepting;

    breaches_begin();
    kit_pair_open_idle(&p);
    CHECK_STATUS(post_receive(p.active.qp), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(post_send(0), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("post-unconnected in NdkSend");
    connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    CHECK_BREACHES("");
    CHECK_STATUS(post_send(0), STATUS_CONNECTION_INVALID);
    CHECK_BREACHES("post-unconnected in NdkSend");
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    post_sends(1, 0);
    poll_results(1);
    kit_pair_disconnect(&p);
    CHECK(post_send(0) != STATUS_SUCCESS); /* the peer may have ended the connection first */
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
