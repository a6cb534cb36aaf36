/* SPDX-License-Identifier: MIT */
/* CMP: NdkCompleteConnect and NdkCompleteConnectEx. */
#include <sys/socket.h>
#include <unistd.h>

#include "contract/kit/peer.h"

static NTSTATUS complete_start(struct kit_side *s, struct kit_call *call)
{
    return s->connector->Dispatch->NdkCompleteConnect(s->connector, kit_on_disconnect, s, kit_request_done, call);
}

static NTSTATUS complete_ex(struct kit_side *s)
{
    struct kit_call call = { 0 };

    return kit_final(&call,
                     s->connector->Dispatch->NdkCompleteConnectEx(s->connector, NULL, NULL, kit_request_done, &call));
}

/* ---- either side may send first ---- */

/* covers: CMP-01 */
CASE(cmp_01_active_side_sends_first, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* covers: CMP-01 */
CASE(cmp_01_passive_side_sends_first, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_exchange(&p.passive, &p.active);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* The accepting side's send waits for the initiator's first message. */
static void check_send_waits(const struct raw_frame *request, uint8_t revision)
{
    static struct peer_initiator p;
    uint8_t ulpdu[64];

    peer_initiator_open(&p, request);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK_EQ(p.reply.revision, revision);
    CHECK_STATUS(kit_post_send(&p.side, 2, 64, 10), STATUS_SUCCESS);
    CHECK(raw_is_silent(p.s));
    raw_send_message(p.s, 1, "first", 5);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 18 + 10);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.side).Status, STATUS_SUCCESS);
    peer_initiator_close(&p);
}

/* covers: CMP-01 */
CASE(cmp_01_revision_1_peer_speaks_first, KIT_FAMILIES)
{
    struct raw_frame request = { .flags = RAW_C, .revision = 1 };

    check_send_waits(&request, 1);
}

/* covers: CMP-01 */
CASE(cmp_01_peer_without_ready_speaks_first, KIT_FAMILIES)
{
    struct raw_frame request = peer_frame(PEER_NONE);

    check_send_waits(&request, 2);
}

/* ---- NdkCompleteConnect in states that do not permit it ---- */

/* covers: CMP-02 */
CASE(cmp_02_before_connect_completed, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(complete_ex(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_connect(&p, PEER_WRITE); /* the connection still works */
    peer_acceptor_close(&p);
}

/* covers: CMP-02 */
CASE(cmp_02_before_connect, KIT_FAMILIES)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    s.connector = kit_connector(s.adapter);
    CHECK_STATUS(kit_complete_connect(&s), STATUS_CONNECTION_INVALID);
    kit_side_close(&s);
}

/* covers: CMP-02 */
CASE(cmp_02_twice, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call first = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_READ);
    status = complete_start(&p.side, &first);
    /* The first call is pending, because the peer has not answered the ready-to-receive read. */
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_ready(&p, PEER_READ);
    CHECK_STATUS(kit_final(&first, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(complete_ex(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_close(&p);
}

/* covers: CMP-02 */
CASE(cmp_02_on_accepting_connector, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);

    peer_initiator_open(&p, &request);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    peer_initiator_accept(&p);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    peer_initiator_ready(&p, PEER_FPDU);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    peer_initiator_close(&p);
}

/* ---- the peer ends the connection before it is established ---- */

static void check_given_up(enum peer_form form)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, form);
    peer_end_stream(p.s);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_ABORTED);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    peer_acceptor_close(&p);
}

/* covers: CMP-03 */
CASE(cmp_03_peer_gone_before, KIT_FAMILIES)
{
    check_given_up(PEER_WRITE);
    check_given_up(PEER_NONE);
}

static void check_disconnected_meanwhile(bool reset)
{
    static struct peer_acceptor p;
    struct kit_call complete = { 0 };
    uint8_t ulpdu[128];
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_READ);
    status = complete_start(&p.side, &complete);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 46);
    raw_close(p.s, reset);
    p.s = -1;
    CHECK_STATUS(kit_final(&complete, status), STATUS_CONNECTION_ABORTED);
    peer_acceptor_close(&p);
}

/* covers: CMP-03 */
CASE(cmp_03_peer_gone_meanwhile, KIT_FAMILIES)
{
    check_disconnected_meanwhile(true);
    check_disconnected_meanwhile(false);
}

/* covers: CMP-03 */
CASE(cmp_03_accepting_connector_closed, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };
    struct kit_config config = kit_config();
    NTSTATUS connecting, accepting;

    config.rtr = NDKCONFORM_RTR_READ; /* the only form that the peer answers */
    kit_configure(&config);
    kit_pair_open_idle(&p);
    connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CANCELLED);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    kit_pair_close(&p);
}

/* ---- the peer does not answer ---- */

/* covers: CMP-04 */
CASE(cmp_04_ready_is_never_answered, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();
    struct sockaddr_storage source = kit_host(0), here = kit_host(0);
    socklen_t len = sizeof here;
    uint8_t ulpdu[128];

    config.establish_ms = 100;
    kit_configure(&config);
    peer_acceptor_open(&p);
    CHECK(getsockname(p.listener, (struct sockaddr *)&here, &len) == 0);
    peer_acceptor_reply(&p, PEER_READ);
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_IO_TIMEOUT);
    CHECK_EQ(raw_recv_fpdu(p.s, ulpdu, sizeof ulpdu, true), 46);
    CHECK(peer_wait_end(p.s));
    /* The connector has failed, so it permits none of these calls. */
    CHECK_STATUS(kit_complete_connect(&p.side), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_connect(&p.side, &source, &here, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_disconnect(&p.side), STATUS_CONNECTION_INVALID);
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    peer_acceptor_close(&p);
}

/* ---- the disconnect callback ---- */

static void check_called_once(enum peer_form form, bool reset)
{
    static struct peer_acceptor p;
    struct kit_config config = kit_config();

    /* Disables the provider's empty write to a silent peer. A close with that write unread would be a reset. */
    config.nudge_ms = 0;
    kit_configure(&config);
    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, form);
    raw_close(p.s, reset);
    p.s = -1;
    kit_wait_count(&p.side.disconnected, 1);
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 1);
    CHECK_STATUS(kit_disconnect(&p.side), reset ? STATUS_CONNECTION_ABORTED : STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&p.side.disconnected), 1);
    kit_close_connector(&p.side);
    CHECK_EQ(atomic_load(&p.side.disconnected), 1);
    peer_acceptor_close(&p);
}

/* covers: CMP-05 */
CASE(cmp_05_once_for_a_notice, KIT_FAMILIES)
{
    check_called_once(PEER_WRITE, false);
    check_called_once(PEER_NONE, false);
}

/* covers: CMP-05 */
CASE(cmp_05_once_for_an_abrupt_end, KIT_FAMILIES)
{
    check_called_once(PEER_FPDU, true);
}

/* covers: CMP-05 */
CASE(cmp_05_none_after_disconnect, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    status = p.side.connector->Dispatch->NdkDisconnect(p.side.connector, kit_request_done, &call);
    CHECK(peer_wait_end(p.s));
    raw_close(p.s, false);
    p.s = -1;
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    peer_acceptor_close(&p);
}

/*
 * Two connections of one event loop. While the first notification of `talks` blocks, a message arrives on `talks`. Then
 * the peer of `ends` disconnects. The second notification disconnects or closes `ends` at this end. After that, the
 * disconnect callback of `ends` must not run.
 */
struct behind {
    struct peer_acceptor talks, ends;
    atomic_int begun, go;
    struct kit_call call;
    NTSTATUS status;
    int before; /* the number of disconnect callbacks when this side disconnected */
    bool by_close;
};

static void end_the_other(struct kit_side *s)
{
    struct behind *b = s->arg;
    NDK_CONNECTOR *c = b->ends.side.connector;

    if (atomic_load(&s->notified) == 0) {
        NDK_RESULT_EX result;

        CHECK_EQ(s->cq->Dispatch->NdkGetCqResultsEx(s->cq, &result, 1), 1);
        s->cq->Dispatch->NdkArmCq(s->cq, NDK_CQ_NOTIFY_ANY);
        kit_increment(&b->begun);
        kit_wait_count(&b->go, 1);
        return;
    }
    b->before = atomic_load(&b->ends.side.disconnected);
    b->status = b->by_close ? c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &b->call)
                            : c->Dispatch->NdkDisconnect(c, kit_request_done, &b->call);
}

static void check_none_behind(bool by_close)
{
    static struct behind b;
    struct kit_config config = kit_config();
    struct kit_side *s = &b.talks.side;

    config.shards = 1;
    kit_configure(&config);
    b.by_close = by_close;
    b.talks.side.adapter = b.ends.side.adapter = kit_open(2, 1);
    peer_acceptor_open(&b.talks);
    peer_acceptor_connect(&b.talks, PEER_FPDU);
    peer_acceptor_open(&b.ends);
    peer_acceptor_connect(&b.ends, PEER_FPDU);
    s->inside_notified = end_the_other;
    s->arg = &b;
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_STATUS(kit_post_receive(s, i, 0, 64), STATUS_SUCCESS);
    s->cq->Dispatch->NdkArmCq(s->cq, NDK_CQ_NOTIFY_ANY);
    raw_send_message(b.talks.s, 1, "one", 3);
    kit_wait_count(&b.begun, 1); /* the notification blocks */
    raw_send_message(b.talks.s, 2, "two", 3);
    CHECK(shutdown(b.ends.s, SHUT_WR) == 0);
    kit_pause();
    kit_increment(&b.go);
    kit_wait_count(&s->notified, 2);
    CHECK_STATUS(kit_final(&b.call, b.status), STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(atomic_load(&b.ends.side.disconnected), b.before);
    if (by_close)
        b.ends.side.connector = NULL;
    NDK_ADAPTER *adapter = s->adapter;
    peer_acceptor_close(&b.talks);
    peer_acceptor_close(&b.ends);
    kit_close_adapter(adapter);
}

/* covers: CMP-05 */
CASE(cmp_05_none_that_was_due_before_disconnect, KIT_FAMILIES)
{
    check_none_behind(false);
}

/* covers: CMP-05 */
CASE(cmp_05_none_that_was_due_before_close, KIT_FAMILIES)
{
    check_none_behind(true);
}

/* covers: CMP-05 */
CASE(cmp_05_none_after_close, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    kit_close_connector(&p.side);
    raw_close(p.s, true);
    p.s = -1;
    kit_pause();
    CHECK_EQ(atomic_load(&p.side.disconnected), 0);
    peer_acceptor_close(&p);
}

/* covers: CMP-05 */
CASE(cmp_05_without_a_callback, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_WRITE);
    status = p.side.connector->Dispatch->NdkCompleteConnect(p.side.connector, NULL, NULL, kit_request_done, &call);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    raw_close(p.s, true);
    p.s = -1;
    CHECK(kit_result(&p.side).Status != STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

/* ---- the Ex routines: the disconnect callback gets a reason ---- */

struct disconnect_call {
    atomic_int calls;
    ULONG reason;
};

static void on_disconnect_reason(void *context, ULONG reason)
{
    struct disconnect_call *t = context;

    t->reason = reason;
    kit_increment(&t->calls);
}

/*
 * Resets the connection, or ends only the peer's direction. A close instead could reset the connection, too, because
 * the provider sends an empty write to a peer that is silent, and the kernel resets a closed socket with unread bytes.
 */
static void end_of_peer(int *s, bool reset)
{
    if (!reset) {
        shutdown(*s, SHUT_WR);
        return;
    }
    raw_close(*s, true);
    *s = -1;
}

static ULONG reason_active(bool reset)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    struct disconnect_call t = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_WRITE);
    status = p.side.connector->Dispatch->NdkCompleteConnectEx(p.side.connector, on_disconnect_reason, &t,
                                                              kit_request_done, &call);
    peer_acceptor_ready(&p, PEER_WRITE);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    end_of_peer(&p.s, reset);
    kit_wait_count(&t.calls, 1);
    peer_acceptor_close(&p);
    CHECK_EQ(atomic_load(&t.calls), 1);
    return t.reason;
}

static ULONG reason_passive(bool reset)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);
    struct disconnect_call t = { 0 };
    NDK_CONNECTOR *c;

    peer_initiator_open(&p, &request);
    c = p.side.connector;
    p.accepting = c->Dispatch->NdkAcceptEx(c, p.side.qp, 8, 8, NULL, 0, on_disconnect_reason, &t, kit_request_done,
                                           &p.accept);
    CHECK(raw_recv_frame(p.s, true, &p.reply));
    peer_initiator_ready(&p, PEER_FPDU);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    end_of_peer(&p.s, reset);
    kit_wait_count(&t.calls, 1);
    peer_initiator_close(&p);
    CHECK_EQ(atomic_load(&t.calls), 1);
    return t.reason;
}

/* covers: CMP-06 */
CASE(cmp_06_reason_tells_ends_apart, KIT_FAMILIES)
{
    ULONG notice = reason_active(false), reset = reason_active(true);

    CHECK(reset != 0);
    CHECK(reset != notice);
    CHECK_EQ(reason_passive(false), notice);
    CHECK_EQ(reason_passive(true), reset);
}

/* ---- the disconnect callback does not run before the completion ---- */

static void end_inside(struct kit_call *call)
{
    struct peer_acceptor *p = call->arg;

    raw_close(p->s, false);
    p->s = -1;
    kit_pause();
    CHECK_EQ(atomic_load(&p->side.disconnected), 0);
}

/* covers: CMP-07 */
CASE(cmp_07_no_callback_before_the_completion, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { .inside = end_inside, .arg = &p };

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_WRITE);
    CHECK_STATUS(complete_start(&p.side, &call), STATUS_PENDING);
    kit_wait_count(&p.side.disconnected, 1);
    CHECK_EQ(atomic_load(&call.calls), 1);
    CHECK_STATUS(call.status, STATUS_SUCCESS);
    peer_acceptor_close(&p);
}

static void end_accept_inside(struct kit_call *call)
{
    struct peer_initiator *p = call->arg;

    raw_close(p->s, true);
    p->s = -1;
    kit_pause();
    CHECK_EQ(atomic_load(&p->side.disconnected), 0);
}

/* covers: CMP-07 */
CASE(cmp_07_no_callback_before_accept_completes, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);

    peer_initiator_open(&p, &request);
    p.accept.inside = end_accept_inside;
    p.accept.arg = &p;
    peer_initiator_accept(&p);
    peer_initiator_ready(&p, PEER_FPDU);
    kit_wait_count(&p.side.disconnected, 1);
    CHECK_STATUS(kit_final(&p.accept, p.accepting), STATUS_SUCCESS);
    peer_initiator_close(&p);
}
