/* SPDX-License-Identifier: MIT */
/* Messages without a receive at a peer in the same process, and what comes near and is legal or not known. */
#define _GNU_SOURCE
#include <sched.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "verify/breaches.h"

enum { ROUNDS = 200 };

static struct kit_pair p;
static char message[256]; /* of the latest report */

static void keep_message(void *context, const ondk_verify_report_t *report)
{
    breaches_on_report(context, report);
    (void)snprintf(message, sizeof message, "%s", report->message);
}

static void begin(void)
{
    breaches_begin();
    ondk_verify_set_callback(keep_message, NULL);
}

static void pair_open(void)
{
    begin();
    kit_pair_open(&p);
}

static void receive_at(struct kit_side *s)
{
    CHECK_STATUS(kit_post_receive(s, 1, 0, 64), STATUS_SUCCESS);
}

static void send_from(struct kit_side *s, ULONG flags)
{
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, (void *)2, NULL, 0, flags), STATUS_SUCCESS);
}

/* Sends a message for which there is a receive, and polls both results. */
static void exchange(struct kit_side *from, struct kit_side *to)
{
    send_from(from, 0);
    CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(to).Status, STATUS_SUCCESS);
}

/* Ends a connection that OpenNDK's provider ends because a message has no receive. */
static void end_lost(struct kit_side *a, struct kit_side *b)
{
    kit_wait_count(&a->disconnected, 1);
    kit_wait_count(&b->disconnected, 1);
    (void)kit_disconnect(a);
    (void)kit_disconnect(b);
}

static void check_message(const char *format, unsigned number, const NDK_QP *peer, unsigned receives)
{
    char expected[sizeof message];

    (void)snprintf(expected, sizeof expected, format, number, (const void *)peer, receives);
    if (strcmp(message, expected) != 0)
        kit_fail(__FILE__, __LINE__, "expected \"%s\", saw \"%s\"", expected, message);
}
#define CHECK_MESSAGE(number, peer, receives)                                                                          \
    check_message("this is message %u, and NDK_QP %p, the peer, was given %u receive(s)", number, peer, receives)

/* ---- messages without a receive ---- */

CASE(message_without_a_receive, KIT_FAMILIES)
{
    pair_open();
    receive_at(&p.passive);
    exchange(&p.active, &p.passive);
    CHECK_BREACHES("");
    send_from(&p.active, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSend");
    CHECK_MESSAGE(2, p.passive.qp, 1);
    end_lost(&p.active, &p.passive);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(message_to_the_active_end, 0)
{
    pair_open();
    CHECK_STATUS(p.passive.qp->Dispatch->NdkSendAndInvalidate(p.passive.qp, NULL, NULL, 0, NDK_OP_FLAG_SILENT_SUCCESS,
                                                              p.active.remote_token),
                 STATUS_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSendAndInvalidate");
    CHECK_MESSAGE(1, p.active.qp, 0);
    end_lost(&p.active, &p.passive);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* A chain needs its receives when it ends. */
CASE(chain_without_a_receive, 0)
{
    pair_open();
    receive_at(&p.passive);
    send_from(&p.active, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
    send_from(&p.active, NDK_OP_FLAG_DEFER | NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("");
    send_from(&p.active, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSend");
    CHECK_MESSAGE(3, p.passive.qp, 1);
    end_lost(&p.active, &p.passive);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* Each connection of a listener has a peer of its own. */
CASE(two_connections, 0)
{
    static struct kit_side active, passive;

    pair_open();
    kit_side_open(&active, p.active.adapter);
    kit_side_open(&passive, p.passive.adapter);
    kit_establish(&active, &passive, &p.listener);
    receive_at(&p.passive);
    exchange(&p.active, &p.passive);
    CHECK_BREACHES("");
    send_from(&active, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSend");
    CHECK_MESSAGE(1, passive.qp, 0);
    end_lost(&active, &passive);
    kit_side_close(&active);
    kit_side_close(&passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* Receives are counted while verification is off, too. */
CASE(verification_off_in_between, 0)
{
    pair_open();
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    receive_at(&p.passive);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    exchange(&p.active, &p.passive);
    CHECK_BREACHES("");
    receive_at(&p.passive);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    exchange(&p.active, &p.passive);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    send_from(&p.active, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSend");
    CHECK_MESSAGE(3, p.passive.qp, 2);
    end_lost(&p.active, &p.passive);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- messages with a receive ---- */

/* Receives before the connection count, and a receive that is posted just before the message is enough. */
CASE(receives_just_before, KIT_FAMILIES)
{
    begin();
    kit_pair_open_idle(&p);
    receive_at(&p.active);
    receive_at(&p.passive);
    kit_establish(&p.active, &p.passive, &p.listener);
    for (int i = 0; i < ROUNDS; i++) {
        exchange(&p.active, &p.passive);
        receive_at(&p.passive);
        exchange(&p.passive, &p.active);
        receive_at(&p.active);
    }
    send_from(&p.active, NDK_OP_FLAG_DEFER);
    receive_at(&p.passive);
    exchange(&p.active, &p.passive);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/*
 * Answers each message, after it has posted the receive for the next one. The active end does not answer the last one.
 */
static void *serve(void *side)
{
    struct kit_side *s = side;
    int received = 0, sent = 0;

    while (received < ROUNDS || sent < ROUNDS) {
        NDK_RESULT_EX r = kit_result(s);

        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        if (r.RequestContext == (void *)2) {
            sent++;
            continue;
        }
        received++;
        receive_at(s);
        if (received < ROUNDS || s == &p.passive)
            send_from(s, 0);
    }
    return NULL;
}

/* Both ends have one receive each, and each message is the credit for the next one. */
CASE(credits_by_messages, 0)
{
    pthread_t server;

    pair_open();
    receive_at(&p.active);
    receive_at(&p.passive);
    CHECK(pthread_create(&server, NULL, serve, &p.passive) == 0);
    send_from(&p.active, 0);
    (void)serve(&p.active);
    CHECK(pthread_join(server, NULL) == 0);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* ---- what is not known ---- */

static NDK_SRQ *create_srq(struct kit_side *s)
{
    struct kit_call call = { 0 };
    NDK_SRQ *srq = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateSrq(s->pd, 8, 1, 0, NULL, NULL, NULL, kit_create_done, &call, &srq);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return srq ? srq : (NDK_SRQ *)call.object;
}

static void replace_qp(struct kit_side *s, NDK_SRQ *srq)
{
    struct kit_call call = { 0 };
    NTSTATUS status;

    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = NULL;
    status = s->pd->Dispatch->NdkCreateQpWithSrq(s->pd, s->cq, s->cq, srq, s, 8, 1, 0, kit_create_done, &call, &s->qp);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    if (!s->qp)
        s->qp = (NDK_QP *)call.object;
}

/* The receives of a shared receive queue are not those of one queue pair. */
CASE(shared_receives, 0)
{
    NDK_SRQ *srq;

    begin();
    kit_pair_open_idle(&p);
    srq = create_srq(&p.passive);
    replace_qp(&p.passive, srq);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(srq->Dispatch->NdkSrqReceive(srq, (void *)1, NULL, 0), STATUS_SUCCESS);
    exchange(&p.active, &p.passive);
    CHECK_BREACHES("");
    send_from(&p.passive, NDK_OP_FLAG_SILENT_SUCCESS);
    CHECK_BREACHES("receive-missing in NdkSend");
    end_lost(&p.active, &p.passive);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(srq), STATUS_SUCCESS);
    p.passive.qp = NULL;
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

static struct kit_call disconnecting;
static NTSTATUS disconnect_status;

/* The active end sends before it can notice that the peer has disconnected: its shard waits for this callback. */
static void disconnect_peer_and_send(struct kit_side *active)
{
    NDK_CONNECTOR *peer = p.passive.connector;

    disconnect_status = peer->Dispatch->NdkDisconnect(peer, kit_request_done, &disconnecting);
    send_from(active, NDK_OP_FLAG_SILENT_SUCCESS);
}

/* A peer that has disconnected itself needs no receive. */
CASE(peer_that_has_disconnected, 0)
{
    pair_open();
    receive_at(&p.active);
    p.active.inside_notified = disconnect_peer_and_send;
    p.active.cq->Dispatch->NdkArmCq(p.active.cq, NDK_CQ_NOTIFY_ANY);
    send_from(&p.passive, NDK_OP_FLAG_SILENT_SUCCESS);
    kit_wait_count(&p.active.disconnected, 1);
    p.active.inside_notified = NULL;
    (void)kit_disconnect(&p.active);
    (void)kit_final(&disconnecting, disconnect_status);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* A flush changes how many receives are left. */
CASE(peer_that_has_flushed, 0)
{
    pair_open();
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    (void)p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, NULL, 0, NDK_OP_FLAG_SILENT_SUCCESS);
    end_lost(&p.active, &p.passive);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

static void accept_elsewhere(int wire)
{
    struct kit_side s = { .depth = 8 };
    struct kit_listener *l = calloc(1, sizeof *l);

    begin();
    kit_side_open(&s, NULL);
    kit_listen(l, s.adapter);
    kit_wire_send(wire, &l->address, sizeof l->address);
    s.connector = kit_next_request(l);
    CHECK_STATUS(kit_accept(&s, NULL, 0), STATUS_SUCCESS);
    kit_wait_count(&s.disconnected, 1);
    (void)kit_disconnect(&s);
    CHECK_STATUS(kit_close(s.connector), STATUS_SUCCESS);
    s.connector = NULL;
    CHECK_STATUS(kit_close(l->listener), STATUS_SUCCESS);
    kit_side_close(&s);
    free(l);
    CHECK_BREACHES("");
}

CASE(peer_in_another_process, 0)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), destination;
    struct kit_child child;

    kit_fork(&child, accept_elsewhere, false);
    begin();
    kit_wire_receive(child.wire, &destination, sizeof destination);
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &destination, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_SUCCESS);
    send_from(&s, NDK_OP_FLAG_SILENT_SUCCESS);
    kit_wait_count(&s.disconnected, 1);
    (void)kit_disconnect(&s);
    kit_side_close(&s);
    kit_join(&child);
    CHECK_BREACHES("");
}

/* The status does not matter: the listener's address may be unusable in the new namespace. */
static void *listen_in_another_namespace(void *listener)
{
    struct sockaddr_storage any_port = kit_host(0);

    CHECK(unshare(CLONE_NEWNET) == 0);
    (void)kit_listen_status(listener, &any_port);
    return NULL;
}

/* Addresses identify a connection only in one network namespace. */
CASE(two_namespaces, KIT_NETNS)
{
    static struct kit_listener other;
    pthread_t thread;

    begin();
    kit_pair_open_idle(&p);
    kit_listener_create(&other, p.passive.adapter);
    CHECK(pthread_create(&thread, NULL, listen_in_another_namespace, &other) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    kit_establish(&p.active, &p.passive, &p.listener);
    send_from(&p.active, NDK_OP_FLAG_SILENT_SUCCESS);
    end_lost(&p.active, &p.passive);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
