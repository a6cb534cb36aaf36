/* SPDX-License-Identifier: MIT */
/*
 * Close in another thread while a call on the same object is between the connector's step and the fabric: the fabric's
 * connection must still exist. Each place is tested once in order, with wrappers of the fabric's functions in which
 * another thread closes first, and then all of them many times by chance.
 */
#include <errno.h>
#include <sched.h>

#include "contract/kit/kit.h"
#include "provider/adapter.h"
#include "provider/object.h"

/* ---- one close, by order ---- */

static struct fabric_ops ordered;
static const struct fabric_ops *real;
static NDK_OBJECT_HEADER *victim; /* closed when the next wrapped function is entered; then NULL */
static struct kit_call closing;
static NTSTATUS close_status;
static atomic_bool inside, fails;

static void *close_victim(void *arg)
{
    (void)arg;
    close_status = object_ndk_close(victim, kit_close_done, &closing);
    return NULL;
}

/* When this returns, the close has returned, and the call is still inside. */
static void wrapped_call_begin(void)
{
    pthread_t thread;

    if (!victim)
        return;
    atomic_store(&inside, true);
    CHECK_EQ(pthread_create(&thread, NULL, close_victim, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    victim = NULL;
    CHECK_STATUS(close_status, STATUS_PENDING);
    CHECK_EQ(atomic_load(&closing.calls), 0);
}

static void wrapped_call_end(void)
{
    atomic_store(&inside, false);
}

static int ordered_create(struct fabric *f, const struct fabric_conn_events *events, void *owner,
                          struct fabric_conn **out)
{
    wrapped_call_begin();
    int error = atomic_exchange(&fails, false) ? ENOMEM : real->conn_create(f, events, owner, out);
    wrapped_call_end();
    return error;
}

static int ordered_connect(struct fabric_conn *c, const struct fabric_connect *p)
{
    wrapped_call_begin();
    int error = atomic_exchange(&fails, false) ? ENOMEM : real->conn_connect(c, p);
    wrapped_call_end();
    return error;
}

static void ordered_complete(struct fabric_conn *c)
{
    wrapped_call_begin();
    real->conn_complete(c);
    wrapped_call_end();
}

static int ordered_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p)
{
    wrapped_call_begin();
    int error = atomic_exchange(&fails, false) ? ENOMEM : real->conn_accept(c, events, p);
    wrapped_call_end();
    return error;
}

static enum fabric_reason ordered_reject(struct fabric_conn *c, const void *data, size_t len)
{
    wrapped_call_begin();
    enum fabric_reason why = real->conn_reject(c, data, len);
    wrapped_call_end();
    return why;
}

static void ordered_disconnect(struct fabric_conn *c)
{
    wrapped_call_begin();
    real->conn_disconnect(c);
    wrapped_call_end();
}

static void ordered_close(struct fabric_conn *c)
{
    CHECK(c != NULL);
    CHECK(!atomic_load(&inside));
    real->conn_close(c);
}

static void ordered_listen(struct fabric_listener *l, const struct addr *local)
{
    wrapped_call_begin();
    real->listener_listen(l, local);
    wrapped_call_end();
}

static void ordered_pause(struct fabric_listener *l, bool paused)
{
    wrapped_call_begin();
    real->listener_pause(l, paused);
    wrapped_call_end();
}

static void ordered_listener_close(struct fabric_listener *l)
{
    CHECK(!atomic_load(&inside));
    real->listener_close(l);
}

/* Before any object is created on it. */
static void wrap(NDK_ADAPTER *adapter)
{
    struct fabric *fabric = adapter_of(adapter)->fabric;

    real = fabric->ops;
    ordered = *real;
    ordered.conn_close = ordered_close;
    ordered.listener_close = ordered_listener_close;
    fabric->ops = &ordered;
}

/* A request that a cancelled connect may have sent before. Only the listener's close waits for this close. */
static void close_arrival(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    static struct kit_call closed;

    (void)l;
    (void)connector->Dispatch->NdkCloseConnector(&connector->Header, kit_close_done, &closed);
}

static void open_wrapped(struct kit_pair *p, bool active)
{
    kit_side_open(&p->active, NULL);
    kit_side_open(&p->passive, NULL);
    wrap(active ? p->active.adapter : p->passive.adapter);
    kit_listen(&p->listener, p->passive.adapter);
}

/* The call has returned: its pending request completes because of the close, and before it. */
static void check_closed(struct kit_call *call, NTSTATUS answer, NTSTATUS final)
{
    CHECK_STATUS(kit_final(call, answer), final);
    CHECK_STATUS(kit_final(&closing, close_status), STATUS_SUCCESS);
    CHECK(answer != STATUS_PENDING || call->order < closing.order);
    CHECK(victim == NULL);
}

static NTSTATUS connect_of(struct kit_pair *p, struct kit_call *call)
{
    struct sockaddr_storage source = kit_host(0);

    return kit_connect_start(&p->active, call, &source, &p->listener.address, NULL, 0);
}

static void connect_and_close(struct kit_pair *p, NTSTATUS final)
{
    struct kit_call connect = { 0 };

    p->active.connector = kit_connector(p->active.adapter);
    victim = &p->active.connector->Header;
    check_closed(&connect, connect_of(p, &connect), final);
    p->active.connector = NULL;
}

/* The queue pair of the cancelled connect connects to a listener that has not received its request. */
static void check_free_again(struct kit_pair *p)
{
    static struct kit_listener other;

    kit_listen(&other, p->passive.adapter);
    kit_establish(&p->active, &p->passive, &other);
    kit_close_connector(&p->active);
    kit_close_connector(&p->passive);
    CHECK_STATUS(kit_close(other.listener), STATUS_SUCCESS);
}

/* covers: OBJ-07, OBJ-11 */
CASE(close_inside_connect_before_its_connection, 0)
{
    static struct kit_pair p;

    p.listener.inside = close_arrival;
    open_wrapped(&p, true);
    ordered.conn_create = ordered_create;
    connect_and_close(&p, STATUS_CANCELLED);
    check_free_again(&p);
    kit_pair_close(&p);
}

CASE(close_inside_connect_without_memory, 0)
{
    static struct kit_pair p;

    open_wrapped(&p, true);
    ordered.conn_create = ordered_create;
    atomic_store(&fails, true);
    connect_and_close(&p, STATUS_INSUFFICIENT_RESOURCES);
    ordered.conn_create = real->conn_create;
    ordered.conn_connect = ordered_connect;
    closing = (struct kit_call){ 0 };
    atomic_store(&fails, true);
    connect_and_close(&p, STATUS_CANCELLED);
    check_free_again(&p);
    kit_pair_close(&p);
}

/* covers: OBJ-07, OBJ-11 */
CASE(close_inside_connect, 0)
{
    static struct kit_pair p;

    p.listener.inside = close_arrival;
    open_wrapped(&p, true);
    ordered.conn_connect = ordered_connect;
    connect_and_close(&p, STATUS_CANCELLED);
    check_free_again(&p);
    kit_pair_close(&p);
}

/* Until the active side may complete or reject. */
static NTSTATUS reply(struct kit_pair *p, struct kit_call *accept)
{
    struct kit_call connect = { 0 };
    NTSTATUS connecting = connect_of(p, &connect);

    p->passive.connector = kit_next_request(&p->listener);
    NTSTATUS accepting = kit_accept_start(&p->passive, accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    return accepting;
}

/* covers: OBJ-07, OBJ-11 */
CASE(close_inside_complete, 0)
{
    static struct kit_pair p;
    struct kit_call accept = { 0 }, complete = { 0 };

    open_wrapped(&p, true);
    ordered.conn_complete = ordered_complete;
    NTSTATUS accepting = reply(&p, &accept);
    NDK_CONNECTOR *c = p.active.connector;
    victim = &c->Header;
    check_closed(&complete, c->Dispatch->NdkCompleteConnect(c, NULL, NULL, kit_request_done, &complete),
                 STATUS_CANCELLED);
    p.active.connector = NULL;
    (void)kit_final(&accept, accepting);
    kit_pair_close(&p);
}

CASE(close_inside_reject_by_the_active_side, 0)
{
    static struct kit_pair p;
    struct kit_call accept = { 0 }, none = { 0 };

    open_wrapped(&p, true);
    ordered.conn_reject = ordered_reject;
    NTSTATUS accepting = reply(&p, &accept);
    NDK_CONNECTOR *c = p.active.connector;
    victim = &c->Header;
    check_closed(&none, c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    p.active.connector = NULL;
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_CONNECTION_ABORTED);
    kit_pair_close(&p);
}

CASE(close_inside_disconnect, 0)
{
    static struct kit_pair p;
    struct kit_call disconnect = { 0 };

    open_wrapped(&p, true);
    ordered.conn_disconnect = ordered_disconnect;
    kit_establish(&p.active, &p.passive, &p.listener);
    NDK_CONNECTOR *c = p.active.connector;
    victim = &c->Header;
    NTSTATUS answer = c->Dispatch->NdkDisconnect(c, kit_request_done, &disconnect);
    CHECK_STATUS(answer, STATUS_PENDING);
    /* The peer may have answered before the close reached the fabric. */
    kit_wait_calls(&disconnect, 1);
    check_closed(&disconnect, answer, disconnect.status == STATUS_SUCCESS ? STATUS_SUCCESS : STATUS_CANCELLED);
    p.active.connector = NULL;
    kit_pair_close(&p);
}

/* covers: OBJ-07, OBJ-11 */
static void accept_and_close(bool without_memory)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };

    open_wrapped(&p, false);
    ordered.conn_accept = ordered_accept;
    atomic_store(&fails, without_memory);
    NTSTATUS connecting = connect_of(&p, &connect);
    p.passive.connector = kit_next_request(&p.listener);
    victim = &p.passive.connector->Header;
    check_closed(&accept, kit_accept_start(&p.passive, &accept, NULL, 0),
                 without_memory ? STATUS_INSUFFICIENT_RESOURCES : STATUS_CANCELLED);
    p.passive.connector = NULL;
    (void)kit_final(&connect, connecting);
    kit_pair_close(&p);
}

CASE(close_inside_accept, 0)
{
    accept_and_close(false);
}

CASE(close_inside_accept_without_memory, 0)
{
    accept_and_close(true);
}

CASE(close_inside_reject_by_the_passive_side, 0)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, none = { 0 };

    open_wrapped(&p, false);
    ordered.conn_reject = ordered_reject;
    NTSTATUS connecting = connect_of(&p, &connect);
    NDK_CONNECTOR *c = p.passive.connector = kit_next_request(&p.listener);
    victim = &c->Header;
    check_closed(&none, c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    p.passive.connector = NULL;
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&p);
}

CASE(close_inside_listen_and_control, 0)
{
    static struct kit_listener one, two;
    struct kit_call listen = { 0 }, none = { 0 };
    struct sockaddr_storage address = kit_host(0);
    NDK_ADAPTER *adapter = kit_open(2, 1);

    wrap(adapter);
    ordered.listener_listen = ordered_listen;
    kit_listener_create(&one, adapter);
    victim = &one.listener->Header;
    NTSTATUS answer = one.listener->Dispatch->NdkListen(one.listener, (PSOCKADDR)&address, kit_address_len(&address),
                                                        kit_request_done, &listen);
    check_closed(&listen, answer, STATUS_SUCCESS);
    ordered.listener_listen = real->listener_listen;
    ordered.listener_pause = ordered_pause;
    closing = (struct kit_call){ 0 };
    kit_listen(&two, adapter);
    victim = &two.listener->Header;
    two.listener->Dispatch->NdkControlConnectEvents(two.listener, TRUE);
    check_closed(&none, STATUS_SUCCESS, STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

/* ---- many, by chance ---- */

enum step { CONNECT, COMPLETE, ACTIVE_REJECT, DISCONNECT, ACCEPT, PASSIVE_REJECT };
enum { ROUNDS = 80 };

/* The other thread: closes each round's connector after some turns. */
struct closer {
    atomic_int round; /* set by the caller, from 1 on; negative: the end */
    atomic_int done;
    NDK_CONNECTOR *connector;
    struct kit_call call;
    NTSTATUS status;
};

static void spin(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

static void *close_rounds(void *arg)
{
    struct closer *b = arg;
    int round;

    for (int last = 0; (round = atomic_load(&b->round)) >= 0;) {
        if (round == last) {
            sched_yield();
            continue;
        }
        last = round;
        spin(round * 37 % 1500);
        b->status = object_ndk_close(&b->connector->Header, kit_close_done, &b->call);
        atomic_store(&b->done, round);
    }
    return NULL;
}

static NTSTATUS run_step(struct kit_pair *p, enum step step, struct kit_call *call)
{
    NDK_CONNECTOR *a = p->active.connector, *b = p->passive.connector;

    switch (step) {
    case CONNECT:
        return connect_of(p, call);
    case COMPLETE:
        return a->Dispatch->NdkCompleteConnect(a, NULL, NULL, kit_request_done, call);
    case ACTIVE_REJECT:
        return a->Dispatch->NdkReject(a, NULL, 0);
    case DISCONNECT:
        return a->Dispatch->NdkDisconnect(a, kit_request_done, call);
    case ACCEPT:
        return kit_accept_start(&p->passive, call, NULL, 0);
    default:
        return b->Dispatch->NdkReject(b, NULL, 0);
    }
}

/* The step against the close. A reference keeps the memory, as an earlier call would. */
static void meet(struct kit_pair *p, struct closer *b, enum step step, int round)
{
    struct kit_side *s = step < ACCEPT ? &p->active : &p->passive;
    struct object *o = object_of(&s->connector->Header);
    struct kit_call call = { 0 };

    object_ref(o, REF_INTERNAL);
    b->connector = s->connector;
    b->call = (struct kit_call){ 0 };
    atomic_store(&b->round, round);
    spin(round * 101 % 1500);
    NTSTATUS answer = run_step(p, step, &call);
    while (atomic_load(&b->done) != round)
        sched_yield();
    object_unref(o, REF_INTERNAL);
    CHECK_STATUS(kit_final(&b->call, b->status), STATUS_SUCCESS);
    CHECK_EQ(atomic_load(&call.calls), answer == STATUS_PENDING);
    CHECK(answer != STATUS_PENDING || call.order < b->call.order);
    s->connector = NULL;
}

/* From the begin to the step, the step, and the end of the rest. */
static void one_round(struct kit_pair *p, struct closer *b, enum step step, int round)
{
    struct kit_call connect = { 0 }, accept = { 0 };
    NTSTATUS connecting = STATUS_SUCCESS, accepting = STATUS_SUCCESS;

    p->active.connector = kit_connector(p->active.adapter);
    if (step == COMPLETE || step == ACTIVE_REJECT) {
        accepting = reply(p, &accept);
    } else if (step == DISCONNECT) {
        kit_establish(&p->active, &p->passive, &p->listener);
    } else if (step != CONNECT) {
        connecting = connect_of(p, &connect);
        p->passive.connector = kit_next_request(&p->listener);
    }
    meet(p, b, step, round);
    (void)kit_final(&connect, connecting);
    (void)kit_final(&accept, accepting);
    kit_close_connector(&p->active);
    kit_close_connector(&p->passive);
}

static void renew(struct kit_side *s)
{
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    s->qp = kit_qp(s, KIT_DEPTH);
}

/* covers: OBJ-07, OBJ-09, OBJ-11 */
static void meet_often(enum step step)
{
    static struct kit_pair p;
    static struct closer b;
    pthread_t thread;

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    p.listener.inside = step == CONNECT ? close_arrival : NULL;
    kit_listen(&p.listener, p.passive.adapter);
    CHECK_EQ(pthread_create(&thread, NULL, close_rounds, &b), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        one_round(&p, &b, step, round);
        renew(&p.active);
        renew(&p.passive);
    }
    atomic_store(&b.round, -1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    kit_pair_close(&p);
}

CASE(close_meets_connect, 0)
{
    meet_often(CONNECT);
}

CASE(close_meets_complete, 0)
{
    meet_often(COMPLETE);
}

CASE(close_meets_reject_by_the_active_side, 0)
{
    meet_often(ACTIVE_REJECT);
}

CASE(close_meets_disconnect, 0)
{
    meet_often(DISCONNECT);
}

CASE(close_meets_accept, 0)
{
    meet_often(ACCEPT);
}

CASE(close_meets_reject_by_the_passive_side, 0)
{
    meet_often(PASSIVE_REJECT);
}
