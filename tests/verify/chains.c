/* SPDX-License-Identifier: MIT */
/* Chains of deferred requests that are open when a completion queue is armed, and what is legal there. */
#include "contract/kit/kit.h"
#include "verify/breaches.h"

static struct kit_pair p;

static void pair_open(void)
{
    breaches_begin();
    kit_pair_open(&p);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
}

static void post_send(ULONG flags)
{
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, (void *)2, NULL, 0, flags), STATUS_SUCCESS);
}

static void post_deferred(void)
{
    post_send(NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
}

static void arm(NDK_CQ *cq)
{
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
}

/* Polls the result of the active side's request, disconnects, and checks that nothing was reported. */
static void finish_silently(void)
{
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

static void *run_in_thread(void *function)
{
    (*(void (**)(void))function)();
    return NULL;
}

static void call_in_thread(void (*function)(void))
{
    pthread_t thread;

    CHECK_EQ(pthread_create(&thread, NULL, run_in_thread, &function), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Each arm is reported, until a request ends the chain. */
CASE(armed_with_an_open_chain, 0)
{
    pair_open();
    post_deferred();
    post_deferred();
    arm(p.active.cq);
    CHECK_BREACHES("defer-open in NdkArmCq");
    p.active.cq->Dispatch->NdkArmCq(p.active.cq, NDK_CQ_NOTIFY_SOLICITED);
    CHECK_BREACHES("defer-open in NdkArmCq");
    post_send(0);
    arm(p.active.cq);
    finish_silently();
}

CASE(armed_after_the_chain, 0)
{
    pair_open();
    post_deferred();
    post_send(0);
    arm(p.active.cq);
    finish_silently();
}

/* Such an arm waits for no request. */
CASE(armed_for_errors, 0)
{
    pair_open();
    post_deferred();
    p.active.cq->Dispatch->NdkArmCq(p.active.cq, NDK_CQ_NOTIFY_ERRORS);
    post_send(0);
    finish_silently();
}

static void arm_active(void)
{
    arm(p.active.cq);
}

/* Another thread has begun the chain, and may be about to end it. */
CASE(armed_by_another_thread, 0)
{
    pair_open();
    call_in_thread(post_deferred);
    arm_active();
    post_send(0);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    post_deferred();
    call_in_thread(arm_active);
    post_send(0);
    finish_silently();
}

/* Gives the active side a queue pair whose receives complete on a completion queue of their own, which is returned. */
static NDK_CQ *replace_qp(void)
{
    struct kit_call cq_call = { 0 }, qp_call = { 0 };
    NDK_ADAPTER *a = p.active.adapter;
    NDK_CQ *cq = NULL;
    NTSTATUS status = a->Dispatch->NdkCreateCq(a, KIT_DEPTH, kit_on_notify, &p.active, NULL, kit_create_done, &cq_call,
                                               &cq);

    CHECK_STATUS(kit_final(&cq_call, status), STATUS_SUCCESS);
    cq = cq ? cq : (NDK_CQ *)cq_call.object;
    kit_close(p.active.qp);
    p.active.qp = NULL;
    status = p.active.pd->Dispatch->NdkCreateQp(p.active.pd, cq, p.active.cq, &p.active, KIT_DEPTH, KIT_DEPTH, 1, 1, 0,
                                                kit_create_done, &qp_call, &p.active.qp);
    CHECK_STATUS(kit_final(&qp_call, status), STATUS_SUCCESS);
    p.active.qp = p.active.qp ? p.active.qp : (NDK_QP *)qp_call.object;
    return cq;
}

/* The completion queue of the receives is armed, and one of another queue pair. */
CASE(another_queue_armed, 0)
{
    NDK_CQ *receive_cq;

    breaches_begin();
    kit_pair_open_idle(&p);
    receive_cq = replace_qp();
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    post_deferred();
    arm(receive_cq);
    arm(p.passive.cq);
    CHECK_BREACHES("");
    arm(p.active.cq);
    CHECK_BREACHES("defer-open in NdkArmCq");
    post_send(0);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    kit_close_connector(&p.active);
    kit_close(p.active.qp);
    kit_close(receive_cq);
    p.active.qp = kit_qp(&p.active, KIT_DEPTH);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* A failed post ends the chain: the consumer must not go on then. */
CASE(armed_after_a_failed_post, 0)
{
    NDK_SGE sgl[KIT_SGES + 1];

    pair_open();
    post_send(NDK_OP_FLAG_DEFER);
    for (int i = 0; i <= KIT_SGES; i++)
        sgl[i] = kit_sge(&p.active, 0, 8);
    CHECK(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, sgl, KIT_SGES + 1, NDK_OP_FLAG_DEFER) < 0);
    CHECK_BREACHES("sge-limit in NdkSend");
    arm(p.active.cq);
    finish_silently();
}

/* A flush ends the chain, and so does the close of the queue pair. */
CASE(armed_after_a_flush_and_a_close, 0)
{
    pair_open();
    post_deferred();
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    arm(p.active.cq);
    kit_close_connector(&p.active);
    kit_close_connector(&p.passive);
    kit_close(p.active.qp);
    p.active.qp = kit_qp(&p.active, KIT_DEPTH);
    kit_close(p.passive.qp);
    p.passive.qp = kit_qp(&p.passive, KIT_DEPTH);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    post_deferred();
    kit_close_connector(&p.active);
    kit_close(p.active.qp);
    arm(p.active.cq);
    p.active.qp = kit_qp(&p.active, KIT_DEPTH);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
