/* SPDX-License-Identifier: MIT */
/* The verifier reports nothing about legal calls of a consumer that look like mistakes. */
#include "contract/kit/kit.h"
#include "verify/breaches.h"

enum { THREADS = 4, ROUNDS = 50 };

static struct kit_pair p;

static void pair_open(void)
{
    breaches_begin();
    kit_pair_open(&p);
}

/* ---- closes ---- */

/* Closes a protection domain and a completion queue while their successors are open. */
CASE(antecedents_are_closed_first, 0)
{
    struct kit_call pd = { 0 }, cq = { 0 };
    NTSTATUS pd_status, cq_status;

    breaches_begin();
    kit_side_open(&p.active, NULL);
    pd_status = p.active.pd->Dispatch->NdkClosePd(&p.active.pd->Header, kit_close_done, &pd);
    cq_status = p.active.cq->Dispatch->NdkCloseCq(&p.active.cq->Header, kit_close_done, &cq);
    kit_close(p.active.mr);
    kit_close(p.active.qp);
    CHECK_STATUS(kit_final(&cq, cq_status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&pd, pd_status), STATUS_SUCCESS);
    kit_close_adapter(p.active.adapter);
    CHECK_BREACHES("");
}

static struct kit_call closing;
static NTSTATUS closing_status;

static void close_inside(struct kit_call *call)
{
    NDK_CONNECTOR *connector = call->arg;

    closing_status = connector->Dispatch->NdkCloseConnector(&connector->Header, kit_close_done, &closing);
    kit_increment(&p.active.notified);
}

/* Closes the connector in the completion of its own NdkConnect, which nobody answers. */
CASE(closed_in_its_own_completion, 0)
{
    struct sockaddr_storage here = kit_host(0), there = kit_free_address();
    struct kit_call call = { .inside = close_inside };

    breaches_begin();
    kit_side_open(&p.active, NULL);
    p.active.connector = kit_connector(p.active.adapter);
    call.arg = p.active.connector;
    CHECK_STATUS(kit_connect_start(&p.active, &call, &here, &there, NULL, 0), STATUS_PENDING);
    kit_wait_calls(&call, 1);
    kit_wait_count(&p.active.notified, 1);
    CHECK_STATUS(kit_final(&closing, closing_status), STATUS_SUCCESS);
    p.active.connector = NULL;
    kit_side_close(&p.active);
    CHECK_BREACHES("");
}

/* ---- beside posts ---- */

static void *post_receives(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        (void)p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, NULL, 0);
    return unused;
}

/* Calls NdkFlush and NdkCloseConnector while another thread posts. */
CASE(flushed_and_closed_beside_posts, 0)
{
    NDK_CONNECTOR *connector;
    struct kit_call call = { 0 };
    pthread_t thread;
    NTSTATUS status;

    pair_open();
    CHECK_EQ(pthread_create(&thread, NULL, post_receives, NULL), 0);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    connector = p.passive.connector;
    status = connector->Dispatch->NdkCloseConnector(&connector->Header, kit_close_done, &call);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    p.passive.connector = NULL;
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- requests ---- */

/* Disconnects while receives are outstanding. */
CASE(receives_outstanding_at_disconnect, 0)
{
    pair_open();
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 64), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    }
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- memory ---- */

static void *initialize(void *pd_)
{
    NDK_PD *pd = pd_;

    for (int i = 0; i < ROUNDS; i++) {
        struct kit_call created = { 0 }, initialized = { 0 };
        NDK_MR *mr = NULL;
        NTSTATUS status = pd->Dispatch->NdkCreateMr(pd, TRUE, kit_create_done, &created, &mr);

        CHECK_STATUS(kit_final(&created, status), STATUS_SUCCESS);
        mr = mr ? mr : (NDK_MR *)created.object;
        status = mr->Dispatch->NdkInitializeFastRegisterMr(mr, 1, TRUE, kit_request_done, &initialized);
        CHECK_STATUS(kit_final(&initialized, status), STATUS_SUCCESS);
        kit_close(mr);
    }
    return NULL;
}

/* Threads initialize regions of one protection domain at the same time, with contexts on their own stacks. */
CASE(regions_initialized_at_the_same_time, 0)
{
    pthread_t threads[THREADS];

    breaches_begin();
    kit_side_open(&p.active, NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, initialize, p.active.pd), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    kit_side_close(&p.active);
    CHECK_BREACHES("");
}
