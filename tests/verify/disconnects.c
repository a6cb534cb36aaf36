/* SPDX-License-Identifier: MIT */
/* Rules about requests that are outstanding at a disconnect, and what is legal there. */
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

/* ---- disconnect-outstanding ---- */

CASE(result_that_is_not_polled, 0)
{
    pair_open();
    post_send(0);
    kit_pair_disconnect(&p);
    CHECK_BREACHES("disconnect-outstanding in NdkDisconnect");
    kit_pair_close(&p);
}

/* The passive side's receives are outstanding, and the active side's silent request may be. */
CASE(receives_and_silent_requests, 0)
{
    pair_open();
    post_send(0);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    post_send(NDK_OP_FLAG_SILENT_SUCCESS);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(disconnect_after_the_peers, 0)
{
    struct kit_call call = { 0 };
    NDK_CONNECTOR *c;
    NTSTATUS status;

    pair_open();
    post_send(0);
    c = p.passive.connector;
    status = c->Dispatch->NdkDisconnect(c, kit_request_done, &call);
    kit_wait_count(&p.active.disconnected, 1);
    (void)kit_disconnect(&p.active);
    (void)kit_final(&call, status);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* A consumer that has polled a failure gives the connection up: the peer allows no access to its address 0. */
CASE(disconnect_after_a_failure, 0)
{
    NDK_SGE sge;

    pair_open();
    sge = kit_sge(&p.active, 0, 8);
    CHECK_STATUS(p.active.qp->Dispatch->NdkRead(p.active.qp, NULL, &sge, 1, 0, p.passive.remote_token, 0),
                 STATUS_SUCCESS);
    (void)p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, NULL, 0, 0);
    CHECK(kit_result(&p.active).Status != STATUS_SUCCESS);
    (void)kit_disconnect(&p.active);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- defer-open ---- */

CASE(chain_without_an_end, 0)
{
    pair_open();
    post_send(NDK_OP_FLAG_DEFER);
    post_send(NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
    kit_pair_disconnect(&p);
    CHECK_BREACHES("defer-open in NdkDisconnect");
    kit_pair_close(&p);
}

CASE(chain_with_an_end, 0)
{
    pair_open();
    post_send(NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
    post_send(0);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

static void *post_deferred(void *unused)
{
    post_send(NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
    return unused;
}

/* Another thread has begun the chain, and may be about to end it. */
CASE(chain_of_another_thread, 0)
{
    pthread_t thread;

    pair_open();
    CHECK(pthread_create(&thread, NULL, post_deferred, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
