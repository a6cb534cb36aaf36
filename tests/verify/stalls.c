/* SPDX-License-Identifier: MIT */
/*
 * Connections that do not go on: what is reported, and what comes near and is legal. The limit is an hour, and the
 * cases examine at times of their own choice, so the speed of the machine decides nothing.
 */
#include "base/owner.h"
#include "contract/kit/kit.h"
#include "verify/breaches.h"
#include "verify/stall.h"

enum { HOUR_MS = 3600000, MESSAGES_ROOM = 4096 };

static char messages[MESSAGES_ROOM]; /* of the reports since the last CHECK_STALLS */

static void add_message(void *context, const ondk_verify_report_t *report)
{
    size_t n;

    breaches_on_report(context, report);
    pthread_mutex_lock(&breaches_lock);
    n = strlen(messages);
    (void)snprintf(messages + n, sizeof messages - n, "%s\n", report->message);
    pthread_mutex_unlock(&breaches_lock);
}

static void stalls_begin(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.mode = ONDK_VERIFY_REPORT;
    config.stall_ms = HOUR_MS;
    CHECK_STATUS(ondk_verify_configure(&config), STATUS_SUCCESS);
    ondk_verify_set_callback(add_message, NULL);
}

static uint64_t hours_later(uint64_t hours)
{
    return owner_clock(NULL) + hours * HOUR_MS * STALL_NS_PER_MS;
}

/*
 * Examines after some time, and checks the reports. A second examination reports nothing. Nothing of the case began
 * half an hour ago, so nothing is reported then.
 */
static void check_stalls(const char *expected, const char *words)
{
    (void)stall_examine(hours_later(1) - HOUR_MS / 2 * (uint64_t)STALL_NS_PER_MS);
    CHECK_BREACHES("");
    messages[0] = 0;
    (void)stall_examine(hours_later(1));
    if (!strstr(messages, words))
        kit_fail(__FILE__, __LINE__, "expected \"%s\", saw %s", words, messages);
    CHECK_BREACHES(expected);
    CHECK(stall_examine(hours_later(2)) == UINT64_MAX);
    CHECK_BREACHES("");
}

struct establishment {
    struct kit_pair pair;
    struct kit_call connect, accept;
    NTSTATUS connecting, accepting;
};

static void connect_and_ask(struct establishment *e)
{
    struct sockaddr_storage source = kit_host(0);

    stalls_begin();
    kit_pair_open_idle(&e->pair);
    e->connecting = kit_connect_start(&e->pair.active, &e->connect, &source, &e->pair.listener.address, NULL, 0);
    e->pair.passive.connector = kit_next_request(&e->pair.listener);
}

static void accept_and_connect(struct establishment *e)
{
    connect_and_ask(e);
    e->accepting = kit_accept_start(&e->pair.passive, &e->accept, NULL, 0);
    CHECK_STATUS(kit_final(&e->connect, e->connecting), STATUS_SUCCESS);
}

static void finish_and_close(struct establishment *e)
{
    CHECK_STATUS(kit_complete_connect(&e->pair.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&e->accept, e->accepting), STATUS_SUCCESS);
    kit_pair_disconnect(&e->pair);
    kit_pair_close(&e->pair);
}

CASE(request_unanswered, KIT_FAMILIES)
{
    static struct establishment e;

    connect_and_ask(&e);
    check_stalls("stall in NdkConnect; request-unanswered in NdkConnectEventCallback",
                 "is in this process: the listener's request has not been answered. This is a deadlock if");
    e.accepting = kit_accept_start(&e.pair.passive, &e.accept, NULL, 0);
    CHECK_STATUS(kit_final(&e.connect, e.connecting), STATUS_SUCCESS);
    finish_and_close(&e);
    CHECK_BREACHES("");
}

/* NdkReject answers a request, and so does the close of its connector. */
CASE(request_answered, 0)
{
    static struct establishment e;

    connect_and_ask(&e);
    CHECK_STATUS(e.pair.passive.connector->Dispatch->NdkReject(e.pair.passive.connector, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&e.connect, e.connecting), STATUS_CONNECTION_REFUSED);
    check_stalls("", "");
    kit_close_connector(&e.pair.passive);
    kit_close_connector(&e.pair.active);
    check_stalls("", "");
    kit_pair_close(&e.pair);
    CHECK_BREACHES("");
}

/* The known deadlock: one end waits for NdkAccept before the other one calls NdkCompleteConnect. */
CASE(connect_uncompleted, KIT_FAMILIES)
{
    static struct establishment e;

    accept_and_connect(&e);
    check_stalls("stall in NdkAccept; connect-uncompleted in NdkConnect",
                 "is in this process: NdkConnect has succeeded, and NdkCompleteConnect has not been called. This is a "
                 "deadlock if the program waits for NdkAccept before it calls NdkCompleteConnect");
    finish_and_close(&e);
    CHECK_BREACHES("");
}

/* Two connections wait in the same phase, so it does not matter which connector is the peer of which. */
CASE(connects_uncompleted, 0)
{
    struct sockaddr_storage source = kit_host(0);
    static struct establishment e;
    static struct kit_side active, passive;
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting, accepting;

    accept_and_connect(&e);
    kit_side_open(&active, e.pair.active.adapter);
    kit_side_open(&passive, e.pair.passive.adapter);
    connecting = kit_connect_start(&active, &connect, &source, &e.pair.listener.address, NULL, 0);
    passive.connector = kit_next_request(&e.pair.listener);
    accepting = kit_accept_start(&passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    check_stalls("stall in NdkAccept; stall in NdkAccept; connect-uncompleted in NdkConnect; "
                 "connect-uncompleted in NdkConnect",
                 "the peer is one of 2 connectors of this process");
    CHECK_STATUS(kit_complete_connect(&active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_side_close(&active);
    kit_side_close(&passive);
    finish_and_close(&e);
    CHECK_BREACHES("");
}

/* The close of the connector ends a connect that succeeded. */
CASE(connect_given_up, 0)
{
    static struct establishment e;

    accept_and_connect(&e);
    kit_close_connector(&e.pair.active);
    CHECK_STATUS(kit_final(&e.accept, e.accepting), STATUS_CONNECTION_ABORTED);
    check_stalls("", "");
    kit_pair_close(&e.pair);
    CHECK_BREACHES("");
}

/* A connection without traffic, with an armed CQ and a posted receive, is idle. */
CASE(idle_connection, 0)
{
    static struct kit_pair p;

    stalls_begin();
    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_ANY);
    check_stalls("", "");
    kit_pair_disconnect(&p);
    check_stalls("", "");
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

CASE(disconnect_ignored, 0)
{
    static struct kit_pair p;
    struct kit_call disconnect = { 0 };

    stalls_begin();
    kit_pair_open(&p);
    NTSTATUS disconnecting = p.active.connector->Dispatch->NdkDisconnect(p.active.connector, kit_request_done,
                                                                         &disconnect);
    kit_wait_count(&p.passive.disconnected, 1);
    check_stalls("stall in NdkDisconnect; disconnect-ignored in NdkDisconnectEventCallback",
                 "is in this process: the peer has ended the connection. This is a deadlock if the program waits for "
                 "NdkDisconnect of one end before it calls it for the other one");
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&disconnect, disconnecting), STATUS_SUCCESS);
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
