/* SPDX-License-Identifier: MIT */
/*
 * Connectors, listeners and shared endpoints over loopback, only through ndkpi.h: the life of a connection, a close in
 * each phase, each order of closing, rejects, retries, and a consumer that does everything inside its callbacks.
 */
#include "contract/kit/kit.h"
#include "contract/kit/raw.h"

static NTSTATUS accept_into(struct kit_side *s, NDK_CONNECTOR *connector)
{
    s->connector = connector;
    return kit_accept(s, NULL, 0);
}

/* The passive side takes a queue pair for each connection; the listener stays. */
static void renew(struct kit_side *s)
{
    if (s->connector)
        CHECK_STATUS(kit_close(s->connector), STATUS_SUCCESS);
    s->connector = NULL;
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = kit_qp(s, KIT_DEPTH);
    atomic_store(&s->disconnected, 0);
}

static void pair_without_connection(struct kit_pair *p)
{
    kit_side_open(&p->active, NULL);
    kit_side_open(&p->passive, NULL);
    kit_listen(&p->listener, p->passive.adapter);
}

/* ---- the life of a connection ---- */

static void check_ends(NDK_CONNECTOR *one, NDK_CONNECTOR *other)
{
    struct sockaddr_storage local = { 0 }, peer = { 0 };
    ULONG local_len = sizeof local, peer_len = sizeof peer, needed = 0;

    CHECK_STATUS(one->Dispatch->NdkGetLocalAddress(one, (PSOCKADDR)&local, &local_len), STATUS_SUCCESS);
    CHECK_STATUS(other->Dispatch->NdkGetPeerAddress(other, (PSOCKADDR)&peer, &peer_len), STATUS_SUCCESS);
    CHECK_EQ(local_len, kit_address_len(&local));
    CHECK_EQ(peer_len, local_len);
    CHECK(kit_address_equal(&local, &peer));
    CHECK_STATUS(one->Dispatch->NdkGetLocalAddress(one, NULL, &needed), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(needed, local_len);
}

static void check_peer_is(NDK_CONNECTOR *c, const struct sockaddr_storage *address)
{
    struct sockaddr_storage peer = { 0 };
    ULONG len = sizeof peer;

    CHECK_STATUS(c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&peer, &len), STATUS_SUCCESS);
    CHECK(kit_address_equal(&peer, address));
}

static void check_data(NDK_CONNECTOR *c, ULONG len, unsigned seed, ULONG inbound, ULONG outbound)
{
    uint8_t data[512];
    ULONG room = sizeof data, in = 0, out = 0;

    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, &in, &out, data, &room), STATUS_SUCCESS);
    CHECK_EQ(room, len);
    CHECK(kit_pattern_is(data, len, seed));
    CHECK_EQ(in, inbound);
    CHECK_EQ(out, outbound);
}

static void move_data(struct kit_side *a, struct kit_side *p)
{
    kit_pattern(a->memory, 100000, 5);
    CHECK_STATUS(kit_post_receive(p, 1, 0, 4096), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_write(a, 2, 0, 100000, p, 200000), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(a, 3, 100, 1000), STATUS_SUCCESS);
    NDK_RESULT_EX received = kit_result(p);
    CHECK_STATUS(received.Status, STATUS_SUCCESS);
    CHECK_EQ(received.BytesTransferred, 1000);
    CHECK(memcmp(p->memory, a->memory + 100, 1000) == 0);
    CHECK(kit_pattern_is(p->memory + 200000, 100000, 5));
    for (uintptr_t i = 2; i <= 3; i++) {
        NDK_RESULT_EX result = kit_result(a);
        CHECK_STATUS(result.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)result.RequestContext, i);
    }
    CHECK_STATUS(kit_post_read(a, 4, 1000000, 100000, p, 200000), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
    CHECK(kit_pattern_is(a->memory + 1000000, 100000, 5));
}

CASE(connect_life_of_a_connection, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_side *a = &p.active, *s = &p.passive;
    struct kit_call connect = { 0 }, accept = { 0 };
    struct sockaddr_storage source = kit_host(0);
    uint8_t caller[200], callee[252];

    pair_without_connection(&p);
    kit_pattern(caller, sizeof caller, 1);
    kit_pattern(callee, sizeof callee, 2);
    NTSTATUS connecting = kit_connect_start(a, &connect, &source, &p.listener.address, caller, sizeof caller);
    s->connector = kit_next_request(&p.listener);
    check_data(s->connector, sizeof caller, 1, 8, 8);
    NTSTATUS accepting = s->connector->Dispatch->NdkAccept(s->connector, s->qp, 4, 2, callee, sizeof callee,
                                                           kit_on_disconnect, s, kit_request_done, &accept);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    check_data(a->connector, sizeof callee, 2, 2, 4);
    check_peer_is(a->connector, &p.listener.address);
    CHECK_STATUS(kit_complete_connect(a), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    check_data(s->connector, sizeof caller, 1, 4, 2);
    check_ends(a->connector, s->connector);
    check_ends(s->connector, a->connector);
    move_data(a, s);
    kit_pair_disconnect(&p);
    CHECK_EQ(atomic_load(&a->disconnected), 0);
    CHECK_EQ(atomic_load(&s->disconnected), 1);
    CHECK_STATUS(kit_post_send(a, 9, 0, 1), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_disconnect(a), STATUS_CONNECTION_INVALID);
    check_ends(a->connector, s->connector);
    kit_pair_close(&p);
}

CASE(connect_both_disconnect_at_once, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call one = { 0 }, other = { 0 };

    kit_pair_open(&p);
    NDK_CONNECTOR *a = p.active.connector, *s = p.passive.connector;
    NTSTATUS first = a->Dispatch->NdkDisconnect(a, kit_request_done, &one);
    NTSTATUS second = s->Dispatch->NdkDisconnect(s, kit_request_done, &other);
    CHECK_STATUS(kit_final(&one, first), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&other, second), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    kit_pair_close(&p);
}

/* ---- closing ---- */

enum { HANDLES = 5, CONNECTOR = 0, QP = 1, MR = 2, CQ = 3, PD = 4 };

static struct kit_call closes[HANDLES];
static atomic_int close_order;
/* The earliest and the latest possible time of each close's completion, which is observed only by polling. */
static struct {
    int from, to;
} ended[HANDLES];

static void count_close(struct kit_call *call)
{
    int now = 2 * atomic_fetch_add(&close_order, 1) + 1;

    ended[call - closes].from = ended[call - closes].to = now;
}

static bool may_have_ended_first(int one, int other)
{
    return ended[one].from <= ended[other].to;
}

/* Closes all handles of a side in one order, waiting for none, then waits for all. */
static void close_in_order(struct kit_side *s, const int *order)
{
    void *objects[HANDLES] = { s->connector, s->qp, s->mr, s->cq, s->pd };
    NTSTATUS status[HANDLES];

    memset(closes, 0, sizeof closes);
    for (int i = 0; i < HANDLES; i++) {
        struct any {
            NDK_OBJECT_HEADER header;
            const NDK_FN_CLOSE_OBJECT *dispatch;
        } *any = objects[order[i]];

        int before = 2 * atomic_load(&close_order);

        closes[order[i]].inside = count_close;
        status[order[i]] = any->dispatch[0](&any->header, kit_close_done, &closes[order[i]]);
        if (status[order[i]] == STATUS_SUCCESS) {
            ended[order[i]].from = before;
            ended[order[i]].to = 2 * atomic_load(&close_order);
        }
    }
    for (int i = 0; i < HANDLES; i++)
        CHECK_STATUS(kit_final(&closes[i], status[i]), STATUS_SUCCESS);
    CHECK(may_have_ended_first(CONNECTOR, QP));
    CHECK(may_have_ended_first(QP, CQ));
    CHECK(may_have_ended_first(QP, PD));
    CHECK(may_have_ended_first(MR, PD));
    free(s->memory);
}

static bool next_permutation(int *order)
{
    int i = HANDLES - 2, j = HANDLES - 1;

    while (i >= 0 && order[i] > order[i + 1])
        i--;
    if (i < 0)
        return false;
    while (order[j] < order[i])
        j--;
    int held = order[i];
    order[i] = order[j];
    order[j] = held;
    for (int low = i + 1, high = HANDLES - 1; low < high; low++, high--) {
        held = order[low];
        order[low] = order[high];
        order[high] = held;
    }
    return true;
}

CASE(connect_closed_in_every_order, 0)
{
    static struct kit_pair p;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    int order[HANDLES] = { 0, 1, 2, 3, 4 }, orders = 0;

    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    do {
        kit_side_open(&p.active, adapter);
        kit_establish(&p.active, &p.passive, &p.listener);
        CHECK_STATUS(kit_post_receive(&p.active, 1, 0, 100), STATUS_SUCCESS);
        close_in_order(&p.active, order);
        kit_wait_count(&p.passive.disconnected, 1);
        renew(&p.passive);
        orders++;
    } while (next_permutation(order));
    CHECK_EQ(orders, 120);
    memset(&p.active, 0, sizeof p.active);
    kit_close_adapter(adapter);
    CHECK_STATUS(kit_close(p.listener.listener), STATUS_SUCCESS);
    kit_side_close(&p.passive);
}

/* A pending request of a connector completes with STATUS_CANCELLED, and before the close. */
static void close_cancels(NDK_CONNECTOR *c, struct kit_call *pending, NTSTATUS status)
{
    struct kit_call call = { 0 };

    CHECK_STATUS(status, STATUS_PENDING);
    CHECK_EQ(atomic_load(&pending->calls), 0);
    CHECK_STATUS(kit_final(&call, c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &call)), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&pending->calls), 1);
    CHECK_STATUS(pending->status, STATUS_CANCELLED);
}

CASE(connect_closed_while_idle, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_CONNECTOR *c = kit_connector(adapter);
    struct kit_call call = { 0 };

    CHECK_STATUS(c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &call), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&call.calls), 0);
    kit_close_adapter(adapter);
}

CASE(connect_closed_while_connecting, KIT_FAMILIES)
{
    static struct kit_side a;
    struct sockaddr_storage source = kit_host(0), peer = kit_host(0);
    struct kit_call connect = { 0 };
    int listener = raw_listen(&peer);

    kit_side_open(&a, NULL);
    NTSTATUS connecting = kit_connect_start(&a, &connect, &source, &peer, NULL, 0);
    int s = raw_accept(listener); /* and never a reply */
    close_cancels(a.connector, &connect, connecting);
    a.connector = NULL;
    raw_close(s, false);
    raw_close(listener, false);
    kit_side_close(&a);
}

/* The queue pair of a cancelled NdkConnect is free again. */
CASE(connect_with_the_queue_pair_of_a_cancelled_one, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0), silent = kit_host(0);
    struct kit_call connect = { 0 };
    int listener = raw_listen(&silent);

    pair_without_connection(&p);
    close_cancels((kit_connect_start(&p.active, &connect, &source, &silent, NULL, 0), p.active.connector), &connect,
                  STATUS_PENDING);
    p.active.connector = NULL;
    kit_establish(&p.active, &p.passive, &p.listener);
    raw_close(listener, false);
    kit_pair_close(&p);
}

CASE(connect_closed_before_complete, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };

    pair_without_connection(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(p.active.connector), STATUS_SUCCESS);
    p.active.connector = NULL;
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(atomic_load(&p.passive.disconnected), 0);
    kit_pair_close(&p);
}

CASE(connect_closed_while_accepting, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };

    pair_without_connection(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    close_cancels(p.passive.connector, &accept, accepting);
    p.passive.connector = NULL;
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(atomic_load(&p.active.disconnected), 0);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_INVALID);
    kit_pair_close(&p);
}

CASE(connect_closed_unanswered, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 };

    pair_without_connection(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    CHECK_STATUS(kit_close(kit_next_request(&p.listener)), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CONNECTION_REFUSED);
    kit_establish(&p.active, &p.passive, &p.listener); /* the same connector and queue pair */
    kit_pair_close(&p);
}

CASE(connect_closed_while_disconnecting, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };

    kit_pair_open(&p);
    NDK_CONNECTOR *a = p.active.connector;
    NTSTATUS status = a->Dispatch->NdkDisconnect(a, kit_request_done, &call);
    kit_wait_count(&p.passive.disconnected, 1); /* whose consumer does not answer */
    close_cancels(a, &call, status);
    p.active.connector = NULL;
    CHECK_EQ(atomic_load(&p.passive.disconnected), 1);
    kit_pair_close(&p);
}

/* ---- refusals ---- */

CASE(connect_rejected_with_data, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 };
    uint8_t no[33], data[64];
    ULONG len = sizeof data;

    pair_without_connection(&p);
    kit_pattern(no, sizeof no, 7);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    NDK_CONNECTOR *c = kit_next_request(&p.listener);
    CHECK_STATUS(c->Dispatch->NdkReject(c, no, sizeof no), STATUS_SUCCESS);
    CHECK_STATUS(c->Dispatch->NdkReject(c, no, sizeof no), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CONNECTION_REFUSED);
    NDK_CONNECTOR *a = p.active.connector;
    CHECK_STATUS(a->Dispatch->NdkGetConnectionData(a, NULL, NULL, data, &len), STATUS_SUCCESS);
    CHECK_EQ(len, sizeof no);
    CHECK(kit_pattern_is(data, sizeof no, 7));
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_pair_close(&p);
}

CASE(connect_rejected_by_the_active_side, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 }, accept = { 0 };

    pair_without_connection(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    NDK_CONNECTOR *a = p.active.connector;
    CHECK_STATUS(a->Dispatch->NdkReject(a, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_INVALID);
    kit_pair_close(&p);
}

CASE(connect_calls_in_wrong_phases, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);
    ULONG len = 0;

    kit_side_open(&p.active, NULL);
    NDK_CONNECTOR *c = p.active.connector = kit_connector(p.active.adapter);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_disconnect(&p.active), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_accept(&p.active, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(c->Dispatch->NdkGetConnectionData(c, NULL, NULL, NULL, &len), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(c->Dispatch->NdkGetLocalAddress(c, NULL, &len), STATUS_INVALID_DEVICE_STATE);
    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener); /* all of this had no effect on it */
    CHECK_STATUS(kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_complete_connect(&p.passive), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    CHECK_EQ(atomic_load(&call.calls), 0);
    kit_pair_close(&p);
}

/* A queue pair has one connection: neither another connector nor another request can use it. */
CASE(connect_with_a_queue_pair_in_use, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call connect = { 0 };

    kit_pair_open(&p);
    NDK_CONNECTOR *first = p.active.connector, *first_passive = p.passive.connector;
    NDK_QP *used = p.active.qp;
    p.active.connector = NULL;
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    p.active.qp = kit_qp(&p.active, KIT_DEPTH);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    CHECK_STATUS(accept_into(&p.passive, kit_next_request(&p.listener)), STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(kit_close(p.passive.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CONNECTION_REFUSED);
    p.passive.connector = first_passive;
    CHECK_STATUS(kit_close(first), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(used), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* ---- inside callbacks ---- */

struct inside {
    struct kit_pair pair;
    struct kit_call connect, complete, disconnect, close, accept;
    struct sockaddr_storage source, nobody;
    int failures;
};
static struct inside in;

static void close_inside(struct kit_call *call)
{
    NDK_CONNECTOR *c = in.pair.active.connector;

    (void)call;
    CHECK_STATUS(c->Dispatch->NdkCloseConnector(&c->Header, kit_close_done, &in.close), STATUS_PENDING);
}

static void disconnect_inside(struct kit_call *call)
{
    NDK_CONNECTOR *c = in.pair.active.connector;

    CHECK_STATUS(call->status, STATUS_SUCCESS);
    in.disconnect.inside = close_inside;
    CHECK_STATUS(c->Dispatch->NdkDisconnect(c, kit_request_done, &in.disconnect), STATUS_PENDING);
}

static void complete_inside(struct kit_call *call)
{
    NDK_CONNECTOR *c = in.pair.active.connector;

    if (call->status == STATUS_CONNECTION_REFUSED && in.failures++ < 3) {
        /*
         * Nobody listened: connects again, twice to nobody, then to the listener. The call is counted when it succeeds.
         */
        bool right = in.failures == 3;

        atomic_fetch_sub(&call->calls, 1);
        CHECK_STATUS(kit_connect_start(&in.pair.active, call, &in.source,
                                       right ? &in.pair.listener.address : &in.nobody, NULL, 0),
                     STATUS_PENDING);
        return;
    }
    CHECK_STATUS(call->status, STATUS_SUCCESS);
    in.complete.inside = disconnect_inside;
    CHECK_STATUS(c->Dispatch->NdkCompleteConnect(c, kit_on_disconnect, &in.pair.active, kit_request_done, &in.complete),
                 STATUS_PENDING);
}

static void accept_inside(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    (void)l;
    in.pair.passive.connector = connector;
    CHECK_STATUS(kit_accept_start(&in.pair.passive, &in.accept, NULL, 0), STATUS_PENDING);
}

CASE(connect_everything_inside_callbacks, KIT_FAMILIES)
{
    int freed = raw_listen((in.nobody = kit_host(0), &in.nobody));

    raw_close(freed, false); /* nobody listens there */
    in.source = kit_host(0);
    pair_without_connection(&in.pair);
    in.pair.listener.inside = accept_inside;
    in.connect.inside = complete_inside;
    CHECK_STATUS(kit_connect_start(&in.pair.active, &in.connect, &in.source, &in.nobody, NULL, 0), STATUS_PENDING);
    kit_wait_calls(&in.accept, 1);
    CHECK_STATUS(in.accept.status, STATUS_SUCCESS);
    kit_wait_count(&in.pair.passive.disconnected, 1);
    CHECK_STATUS(kit_disconnect(&in.pair.passive), STATUS_SUCCESS);
    kit_wait_calls(&in.close, 1);
    CHECK_EQ(in.failures, 3);
    CHECK_STATUS(in.disconnect.status, STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&in.pair.active.disconnected), 0);
    in.pair.active.connector = NULL;
    kit_pair_close(&in.pair);
}

/* ---- the disconnect callback ---- */

struct notice {
    atomic_int calls;
    ULONG reason;
};

static void on_notice(void *context, ULONG reason)
{
    struct notice *n = context;

    n->reason = reason;
    atomic_fetch_add(&n->calls, 1);
}

static void establish_ex(struct kit_pair *p, struct notice *active, struct notice *passive)
{
    struct kit_call connect = { 0 }, accept = { 0 }, complete = { 0 };
    struct sockaddr_storage source = kit_host(0);

    pair_without_connection(p);
    NTSTATUS connecting = kit_connect_start(&p->active, &connect, &source, &p->listener.address, NULL, 0);
    NDK_CONNECTOR *s = p->passive.connector = kit_next_request(&p->listener);
    NTSTATUS accepting = s->Dispatch->NdkAcceptEx(s, p->passive.qp, 1, 1, NULL, 0, on_notice, passive, kit_request_done,
                                                  &accept);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    NDK_CONNECTOR *a = p->active.connector;
    CHECK_STATUS(
        kit_final(&complete, a->Dispatch->NdkCompleteConnectEx(a, on_notice, active, kit_request_done, &complete)),
        STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
}

CASE(connect_tells_why_the_peer_disconnected, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct notice active = { 0 }, passive = { 0 };
    struct kit_call call = { 0 };

    establish_ex(&p, &active, &passive);
    NDK_CONNECTOR *a = p.active.connector;
    NTSTATUS status = a->Dispatch->NdkDisconnect(a, kit_request_done, &call);
    while (atomic_load(&passive.calls) == 0)
        kit_pause();
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_pause();
    CHECK_EQ(atomic_load(&active.calls), 0);
    CHECK_EQ(atomic_load(&passive.calls), 1);
    CHECK(passive.reason != 0);
    kit_pair_close(&p);
}

CASE(connect_tells_an_abrupt_end_too, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct notice active = { 0 }, passive = { 0 };
    establish_ex(&p, &active, &passive);
    CHECK_STATUS(kit_close(p.active.connector), STATUS_SUCCESS);
    p.active.connector = NULL;
    while (atomic_load(&passive.calls) == 0)
        kit_pause();
    CHECK_EQ(atomic_load(&active.calls), 0);
    CHECK_EQ(atomic_load(&passive.calls), 1);
    CHECK(passive.reason != 0);
    kit_pair_close(&p);
}
