/* SPDX-License-Identifier: MIT */
/* OBJ: close: what it waits for, and what it cancels. */
#include <unistd.h>

#include "contract/kit/peer.h"

struct any {
    NDK_OBJECT_HEADER header;
    const NDK_FN_CLOSE_OBJECT *dispatch;
};

static NTSTATUS close_start(void *object, struct kit_call *call)
{
    struct any *any = object;
    NTSTATUS status = any->dispatch[0](&any->header, kit_close_done, call);

    CHECK(status == STATUS_SUCCESS || status == STATUS_PENDING);
    return status;
}

/* A callback that blocks until it is released. */
struct gate {
    atomic_int entered, open;
};

static void pass(struct gate *g)
{
    kit_increment(&g->entered);
    kit_wait_count(&g->open, 1);
}

static void pass_call(struct kit_call *call)
{
    pass(call->arg);
}

static void pass_side(struct kit_side *s)
{
    pass(s->arg);
}

/* The close pends while the callback blocks, and completes after it has returned. */
static void check_waits(struct kit_call *closing, NTSTATUS status, struct gate *g)
{
    CHECK_STATUS(status, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&closing->calls), 0);
    kit_increment(&g->open);
    CHECK_STATUS(kit_final(closing, status), STATUS_SUCCESS);
}

static NDK_CQ *another_cq(struct kit_side *s)
{
    struct kit_call call = { 0 };
    NDK_CQ *cq = NULL;
    NTSTATUS status = s->adapter->Dispatch->NdkCreateCq(s->adapter, 16, kit_on_notify, s, NULL, kit_create_done, &call,
                                                        &cq);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_CQ *)call.object : cq;
}

/* ---- OBJ-09 ---- */

/* covers: OBJ-09 */
CASE(obj_09_close_of_every_object, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call calls[13] = { 0 };
    NTSTATUS statuses[13];

    kit_pair_open(&p);
    void *objects[13] = {
        kit_connector(p.active.adapter),
        p.active.connector,
        p.active.qp,
        p.active.mr,
        p.active.cq,
        p.active.pd,
        p.listener.listener,
        p.passive.connector,
        p.passive.qp,
        p.passive.mr,
        p.passive.cq,
        p.passive.pd,
        kit_connector(p.passive.adapter),
    };
    for (int i = 0; i < 13; i++)
        statuses[i] = close_start(objects[i], &calls[i]);
    for (int i = 0; i < 13; i++)
        CHECK_STATUS(kit_final(&calls[i], statuses[i]), STATUS_SUCCESS);
    kit_pause();
    for (int i = 0; i < 13; i++) /* no second callback, and none after STATUS_SUCCESS */
        CHECK_EQ(atomic_load(&calls[i].calls), statuses[i] == STATUS_PENDING);
    kit_close_adapter(p.active.adapter);
    kit_close_adapter(p.passive.adapter);
    free(p.active.memory);
    free(p.passive.memory);
}

/* ---- OBJ-10 ---- */

/* covers: OBJ-10 */
CASE(obj_10_request_completion_is_running, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct gate g = { 0 };
    struct kit_call call = { .inside = pass_call, .arg = &g }, closing = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_WRITE);
    status = p.side.connector->Dispatch->NdkCompleteConnect(p.side.connector, NULL, NULL, kit_request_done, &call);
    kit_wait_count(&g.entered, 1);
    check_waits(&closing, close_start(p.side.connector, &closing), &g);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    CHECK(call.order < closing.order);
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

static void pass_event(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    l->queue[0] = connector;
    pass(l->arg);
}

/*
 * Opens an adapter with two event loops. A provider that distributes QPs over its loops uses different loops for two
 * successive QPs. If `earlier` is not NULL, it gets the first QP, so that the case's QP uses the other loop.
 */
static NDK_ADAPTER *open_with_two_loops(struct kit_side *earlier)
{
    struct kit_config config = kit_config();
    NDK_ADAPTER *adapter;

    config.shards = 2;
    kit_configure(&config);
    adapter = kit_open(2, 1);
    if (earlier)
        kit_side_open(earlier, adapter);
    return adapter;
}

static void close_with_two_loops(NDK_ADAPTER *adapter, struct kit_side *earlier)
{
    if (earlier)
        kit_side_close(earlier);
    kit_close_adapter(adapter);
}

/*
 * The connector is accepted and closed while its connect event blocks, so only the event references the listener. For
 * `earlier` see open_with_two_loops.
 */
static void check_event_holds(struct kit_side *earlier)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct gate g = { 0 };
    struct kit_call closing = { 0 }, connector = { 0 }, accept = { 0 };
    struct raw_frame request = peer_frame(PEER_WRITE), reply;
    NTSTATUS status, connector_status, accepting;
    NDK_ADAPTER *adapter = open_with_two_loops(earlier);
    int peer;

    kit_side_open(&s, adapter);
    kit_listen(&l, adapter);
    l.inside = pass_event;
    l.arg = &g;
    peer = raw_connect(&l.address);
    raw_send_frame(peer, false, &request);
    kit_wait_count(&g.entered, 1);
    s.connector = l.queue[0];
    accepting = kit_accept_start(&s, &accept, NULL, 0);
    kit_pause();
    connector_status = close_start(s.connector, &connector);
    s.connector = NULL;
    kit_pause();
    status = close_start(l.listener, &closing);
    check_waits(&closing, status, &g);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CANCELLED);
    CHECK_STATUS(kit_final(&connector, connector_status), STATUS_SUCCESS);
    (void)raw_recv_frame(peer, true, &reply);
    close(peer);
    kit_side_close(&s);
    close_with_two_loops(adapter, earlier);
}

/* covers: OBJ-10 */
CASE(obj_10_connect_event_is_running, KIT_FAMILIES)
{
    static struct kit_side earlier;

    check_event_holds(NULL);
    check_event_holds(&earlier);
}

/* covers: OBJ-10 */
CASE(obj_10_disconnect_callback_is_running, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct gate g = { 0 };
    struct kit_call closing = { 0 };

    peer_acceptor_open(&p);
    p.side.inside_disconnected = pass_side;
    p.side.arg = &g;
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK(shutdown(p.s, SHUT_WR) == 0);
    kit_wait_count(&g.entered, 1);
    check_waits(&closing, close_start(p.side.connector, &closing), &g);
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

/* covers: OBJ-10 */
CASE(obj_10_notification_is_running, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct gate g = { 0 };
    struct kit_call closing = { 0 };
    NTSTATUS status;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    p.side.inside_notified = pass_side;
    p.side.arg = &g;
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    p.side.cq->Dispatch->NdkArmCq(p.side.cq, NDK_CQ_NOTIFY_ANY);
    raw_send_message(p.s, 1, "now", 3);
    kit_wait_count(&g.entered, 1);
    struct kit_call connector = { 0 }, qp = { 0 };
    NTSTATUS connector_status = close_start(p.side.connector, &connector), qp_status = close_start(p.side.qp, &qp);
    status = close_start(p.side.cq, &closing);
    check_waits(&closing, status, &g);
    CHECK_STATUS(kit_final(&connector, connector_status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&qp, qp_status), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&p.side.notified), 1);
    p.side.connector = NULL;
    p.side.qp = NULL;
    p.side.cq = NULL;
    peer_acceptor_close(&p);
}

/* ---- OBJ-11 ---- */

/* The close cancels the request. The request's completion runs before the completion of the close. */
static void check_cancels(struct kit_side *s, struct kit_call *call, NTSTATUS pending)
{
    struct kit_call closing = { 0 };
    NTSTATUS status;

    CHECK_STATUS(pending, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&call->calls), 0);
    status = close_start(s->connector, &closing);
    s->connector = NULL;
    if (status == STATUS_SUCCESS)
        CHECK_EQ(atomic_load(&call->calls), 1);
    CHECK_STATUS(kit_final(call, pending), STATUS_CANCELLED);
    CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
    CHECK(status == STATUS_SUCCESS || call->order < closing.order);
}

/* covers: OBJ-11 */
CASE(obj_11_pending_connect, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    peer_acceptor_open(&p);
    check_cancels(&p.side, &p.connect, p.connecting);
    CHECK(raw_wait_end(p.s));
    peer_acceptor_close(&p);
}

/* covers: OBJ-11 */
CASE(obj_11_pending_complete, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NDK_CONNECTOR *c;

    peer_acceptor_open(&p);
    peer_acceptor_reply(&p, PEER_READ);
    c = p.side.connector;
    check_cancels(&p.side, &call, c->Dispatch->NdkCompleteConnect(c, NULL, NULL, kit_request_done, &call));
    peer_acceptor_close(&p);
}

/* covers: OBJ-11 */
CASE(obj_11_pending_accept, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_WRITE);

    peer_initiator_open(&p, &request);
    peer_initiator_accept(&p);
    check_cancels(&p.side, &p.accept, p.accepting);
    CHECK(raw_wait_end(p.s));
    peer_initiator_close(&p);
}

/* covers: OBJ-11 */
CASE(obj_11_pending_disconnect, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct kit_call call = { 0 };
    NDK_CONNECTOR *c;

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    c = p.side.connector;
    check_cancels(&p.side, &call, c->Dispatch->NdkDisconnect(c, kit_request_done, &call));
    peer_acceptor_close(&p);
}

/* covers: OBJ-11 */
CASE(obj_11_queued_receives, KIT_FAMILIES)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_STATUS(kit_post_receive(&s, i, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(s.qp), STATUS_SUCCESS);
    s.qp = NULL;
    for (uintptr_t i = 0; i < 3; i++) {
        NDK_RESULT_EX result = kit_result(&s);

        CHECK_STATUS(result.Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)result.RequestContext, i);
    }
    kit_side_close(&s);
}

/* ---- OBJ-12 ---- */

/* Closes the antecedent, whose close pends, then the successor. */
static void check_order_of(void *antecedent, void *successor)
{
    struct kit_call first = { 0 }, second = { 0 };
    NTSTATUS antecedent_status = close_start(antecedent, &first), status;

    CHECK_STATUS(antecedent_status, STATUS_PENDING);
    kit_pause();
    CHECK_EQ(atomic_load(&first.calls), 0);
    status = close_start(successor, &second);
    CHECK_STATUS(kit_final(&second, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&first, antecedent_status), STATUS_SUCCESS);
    CHECK(status == STATUS_SUCCESS || second.order < first.order);
}

/* covers: OBJ-12 */
CASE(obj_12_pd_before_mr, 0)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_close(s.qp), STATUS_SUCCESS);
    check_order_of(s.pd, s.mr);
    s.pd = NULL, s.mr = NULL, s.qp = NULL;
    kit_side_close(&s);
}

/* covers: OBJ-12 */
CASE(obj_12_pd_before_qp, 0)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_close(s.mr), STATUS_SUCCESS);
    check_order_of(s.pd, s.qp);
    s.pd = NULL, s.mr = NULL, s.qp = NULL;
    kit_side_close(&s);
}

/* covers: OBJ-12 */
CASE(obj_12_each_cq_before_qp, 0)
{
    static struct kit_side s;

    for (int receive = 0; receive < 2; receive++) {
        struct kit_call call = { 0 };
        NDK_QP *qp = NULL;
        NTSTATUS status;

        kit_side_open(&s, NULL);
        NDK_CQ *other = another_cq(&s);
        status = s.pd->Dispatch->NdkCreateQp(s.pd, receive ? other : s.cq, receive ? s.cq : other, NULL, 4, 4, 1, 1, 0,
                                             kit_create_done, &call, &qp);
        CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
        check_order_of(other, status == STATUS_PENDING ? (NDK_QP *)call.object : qp);
        kit_side_close(&s);
    }
}

/* covers: OBJ-12 */
CASE(obj_12_qp_before_connector, KIT_FAMILIES)
{
    static struct peer_acceptor a;
    static struct peer_initiator i;

    peer_acceptor_open(&a); /* from connect on */
    peer_acceptor_reply(&a, PEER_WRITE);
    check_order_of(a.side.qp, a.side.connector);
    a.side.qp = NULL, a.side.connector = NULL;
    peer_acceptor_close(&a);
    peer_acceptor_open(&a);
    peer_acceptor_connect(&a, PEER_WRITE);
    check_order_of(a.side.qp, a.side.connector);
    a.side.qp = NULL, a.side.connector = NULL;
    peer_acceptor_close(&a);
    peer_initiator_connect(&i, PEER_WRITE); /* from accept on */
    check_order_of(i.side.qp, i.side.connector);
    i.side.qp = NULL, i.side.connector = NULL;
    peer_initiator_close(&i);
}

/* covers: OBJ-12 */
CASE(obj_12_shared_endpoint_before_connector, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage here = kit_host(0), there = kit_host(0);
    struct kit_call create = { 0 }, connect = { 0 };
    struct raw_frame frame, reply = peer_frame(PEER_WRITE);
    NDK_SHARED_ENDPOINT *e = NULL;
    NTSTATUS status;
    int listener = raw_listen(&there), peer;

    kit_side_open(&s, NULL);
    status = s.adapter->Dispatch->NdkCreateSharedEndpoint(s.adapter, (PSOCKADDR)&here, kit_address_len(&here),
                                                          kit_create_done, &create, &e);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    if (status == STATUS_PENDING)
        e = (NDK_SHARED_ENDPOINT *)create.object;
    s.connector = kit_connector(s.adapter);
    status = s.connector->Dispatch->NdkConnectWithSharedEndpoint(
        s.connector, s.qp, e, (PSOCKADDR)&there, kit_address_len(&there), 8, 8, NULL, 0, kit_request_done, &connect);
    peer = raw_accept(listener);
    CHECK(raw_recv_frame(peer, false, &frame));
    raw_send_frame(peer, true, &reply);
    CHECK_STATUS(kit_final(&connect, status), STATUS_SUCCESS);
    check_order_of(e, s.connector);
    s.connector = NULL;
    close(peer);
    close(listener);
    kit_side_close(&s);
}

/* covers: OBJ-12 */
CASE(obj_12_listener_before_connector, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    check_order_of(p.listener.listener, p.passive.connector);
    p.listener.listener = NULL;
    p.passive.connector = NULL;
    kit_pair_close(&p);
}

/* ---- OBJ-13 ---- */

static void check_not_before(struct kit_side *earlier)
{
    static struct peer_acceptor p;
    NDK_ADAPTER *adapter = open_with_two_loops(earlier);
    struct gate g = { 0 };
    struct kit_call qp = { .inside = pass_call, .arg = &g }, pd = { 0 }, cq = { 0 }, connector = { 0 };
    NTSTATUS qp_status, pd_status, cq_status, status;

    p.side.adapter = adapter;
    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_close(p.side.mr), STATUS_SUCCESS);
    pd_status = close_start(p.side.pd, &pd);
    cq_status = close_start(p.side.cq, &cq);
    qp_status = close_start(p.side.qp, &qp);
    CHECK_STATUS(pd_status, STATUS_PENDING);
    CHECK_STATUS(cq_status, STATUS_PENDING);
    CHECK_STATUS(qp_status, STATUS_PENDING);
    status = close_start(p.side.connector, &connector);
    kit_wait_count(&g.entered, 1);
    kit_pause();
    CHECK_EQ(atomic_load(&pd.calls), 0);
    CHECK_EQ(atomic_load(&cq.calls), 0);
    kit_increment(&g.open);
    CHECK_STATUS(kit_final(&connector, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&qp, qp_status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&pd, pd_status), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&cq, cq_status), STATUS_SUCCESS);
    p.side.connector = NULL, p.side.qp = NULL, p.side.mr = NULL, p.side.cq = NULL, p.side.pd = NULL;
    peer_acceptor_close(&p);
    close_with_two_loops(adapter, earlier);
}

/* covers: OBJ-13 */
CASE(obj_13_not_before_the_successors_callback_returned, KIT_FAMILIES)
{
    static struct kit_side earlier;

    check_not_before(NULL);
    check_not_before(&earlier);
}

/* ---- OBJ-14, and OBJ-12 for the adapter: its close waits for its objects and for their callbacks ---- */

struct closing_adapter {
    NDK_ADAPTER *adapter;
    atomic_int closed;
    pthread_t thread;
};

static void *close_adapter(void *arg)
{
    struct closing_adapter *c = arg;

    kit_close_adapter(c->adapter);
    kit_increment(&c->closed);
    return NULL;
}

static void adapter_close_start(struct closing_adapter *c, NDK_ADAPTER *adapter)
{
    c->adapter = adapter;
    CHECK_EQ(pthread_create(&c->thread, NULL, close_adapter, c), 0);
}

/* covers: OBJ-14 */
CASE(obj_14_adapter_close_waits_for_callbacks, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct gate g = { 0 };
    struct closing_adapter c = { 0 };
    struct kit_call call = { .inside = pass_call, .arg = &g };

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_close(p.side.mr), STATUS_SUCCESS);
    CHECK_STATUS(close_start(p.side.qp, &call), STATUS_PENDING); /* pends until the QP's connector is closed */
    struct kit_call others[3] = { 0 };
    NTSTATUS statuses[3] = { close_start(p.side.connector, &others[0]), close_start(p.side.cq, &others[1]),
                             close_start(p.side.pd, &others[2]) };
    kit_wait_count(&g.entered, 1);
    adapter_close_start(&c, p.side.adapter);
    kit_pause();
    CHECK_EQ(atomic_load(&c.closed), 0);
    kit_increment(&g.open);
    CHECK_EQ(pthread_join(c.thread, NULL), 0);
    CHECK_EQ(atomic_load(&call.calls), 1); /* and all callbacks have run */
    for (int i = 0; i < 3; i++)
        CHECK_EQ(atomic_load(&others[i].calls), statuses[i] == STATUS_PENDING);
    free(p.side.memory);
    close(p.s);
    close(p.listener);
}

/* Checks that the adapter's close waits for this object. */
static void check_adapter_waits(NDK_ADAPTER *adapter, void *object)
{
    struct closing_adapter c = { 0 };

    adapter_close_start(&c, adapter);
    kit_pause();
    CHECK_EQ(atomic_load(&c.closed), 0);
    CHECK_STATUS(kit_close(object), STATUS_SUCCESS);
    CHECK_EQ(pthread_join(c.thread, NULL), 0);
}

/* covers: OBJ-12, OBJ-14 */
CASE(obj_12_adapter_before_each_of_its_own, KIT_FAMILIES)
{
    static struct kit_listener l;
    static struct kit_side s;
    struct sockaddr_storage here = kit_host(0);
    struct kit_call call = { 0 };
    NDK_SHARED_ENDPOINT *e = NULL;
    NDK_PD *pd = NULL;
    NDK_ADAPTER *adapter = kit_open(2, 1);

    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &call, &pd), STATUS_SUCCESS);
    check_adapter_waits(adapter, pd);
    adapter = kit_open(2, 1);
    s.adapter = adapter;
    check_adapter_waits(adapter, another_cq(&s));
    adapter = kit_open(2, 1);
    check_adapter_waits(adapter, kit_connector(adapter));
    adapter = kit_open(2, 1);
    kit_listen(&l, adapter);
    check_adapter_waits(adapter, l.listener);
    adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreateSharedEndpoint(adapter, (PSOCKADDR)&here, kit_address_len(&here),
                                                            kit_create_done, &call, &e),
                 STATUS_SUCCESS);
    check_adapter_waits(adapter, e);
    CHECK_EQ(atomic_load(&call.calls), 0);
}
