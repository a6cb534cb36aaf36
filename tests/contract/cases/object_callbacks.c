/* SPDX-License-Identifier: MIT */
/* OBJ: completions and callbacks: their number, calls inside them, none after the close, and many threads. */
#include <unistd.h>

#include "contract/kit/peer.h"

/* ---- OBJ-07 ---- */

/* covers: OBJ-07 */
CASE(obj_07_each_request_is_answered_once, KIT_FAMILIES)
{
    enum { CONNECT, ACCEPT, COMPLETE, REFUSED, DISCONNECT, ANSWER, DEREGISTER, REQUESTS };
    static struct kit_pair p;
    struct kit_call calls[REQUESTS] = { 0 };
    NTSTATUS statuses[REQUESTS];
    struct sockaddr_storage source = kit_host(0), nobody = kit_host(1);
    NDK_CONNECTOR *a, *b;

    kit_pair_open_idle(&p);
    statuses[REFUSED] = kit_connect_start(&p.active, &calls[REFUSED], &source, &nobody, NULL, 0);
    CHECK_STATUS(kit_final(&calls[REFUSED], statuses[REFUSED]), STATUS_CONNECTION_REFUSED);
    statuses[CONNECT] = kit_connect_start(&p.active, &calls[CONNECT], &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    a = p.active.connector, b = p.passive.connector;
    statuses[ACCEPT] = kit_accept_start(&p.passive, &calls[ACCEPT], NULL, 0);
    CHECK_STATUS(kit_final(&calls[CONNECT], statuses[CONNECT]), STATUS_SUCCESS);
    statuses[COMPLETE] = a->Dispatch->NdkCompleteConnect(a, NULL, NULL, kit_request_done, &calls[COMPLETE]);
    CHECK_STATUS(kit_final(&calls[COMPLETE], statuses[COMPLETE]), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&calls[ACCEPT], statuses[ACCEPT]), STATUS_SUCCESS);
    statuses[DISCONNECT] = a->Dispatch->NdkDisconnect(a, kit_request_done, &calls[DISCONNECT]);
    statuses[ANSWER] = b->Dispatch->NdkDisconnect(b, kit_request_done, &calls[ANSWER]);
    CHECK_STATUS(kit_final(&calls[DISCONNECT], statuses[DISCONNECT]), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&calls[ANSWER], statuses[ANSWER]), STATUS_SUCCESS);
    statuses[DEREGISTER] = p.active.mr->Dispatch->NdkDeregisterMr(p.active.mr, kit_request_done, &calls[DEREGISTER]);
    CHECK_STATUS(kit_final(&calls[DEREGISTER], statuses[DEREGISTER]), STATUS_SUCCESS);
    kit_pause();
    kit_pair_close(&p);
    for (int i = 0; i < REQUESTS; i++)
        CHECK_EQ(atomic_load(&calls[i].calls), statuses[i] == STATUS_PENDING);
}

/* covers: OBJ-07 */
CASE(obj_07_refused_calls_are_answered_inline, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);
    NDK_CONNECTOR *c;

    kit_pair_open(&p);
    c = p.active.connector;
    CHECK_STATUS(kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0),
                 STATUS_INVALID_DEVICE_STATE);
    CHECK_STATUS(c->Dispatch->NdkCompleteConnect(c, NULL, NULL, kit_request_done, &call), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_accept_start(&p.active, &call, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
    kit_pair_close(&p);
}

/* ---- OBJ-08 ---- */

/* An object that a completion routine closes. */
struct closer {
    void *object;
    struct kit_call closing;
    NTSTATUS status;
};

static void close_it(struct closer *c)
{
    struct any {
        NDK_OBJECT_HEADER header;
        const NDK_FN_CLOSE_OBJECT *dispatch;
    } *any = c->object;

    c->status = any->dispatch[0](&any->header, kit_close_done, &c->closing);
}

static void close_in_call(struct kit_call *call)
{
    close_it(call->arg);
}

static void close_connector_in_call(struct kit_call *call)
{
    struct closer *c = call->arg;

    c->object = ((struct kit_side *)c->object)->connector;
    close_it(c);
}

static void check_closed(struct kit_call *call, struct closer *c)
{
    kit_wait_calls(call, 1);
    CHECK_STATUS(kit_final(&c->closing, c->status), STATUS_SUCCESS);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_connect_completion, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct closer c = { .object = &p.side };
    struct raw_frame reply = peer_frame(PEER_WRITE);

    p.connect.arg = &c;
    p.connect.inside = close_connector_in_call;
    peer_acceptor_open(&p);
    raw_send_frame(p.s, true, &reply);
    check_closed(&p.connect, &c);
    CHECK_STATUS(p.connect.status, STATUS_SUCCESS);
    CHECK(raw_wait_end(p.s));
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_failed_connect_completion, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_host(1);

    kit_side_open(&s, NULL);
    for (int i = 0; i < 50; i++) { /* the completion may run before the call returns */
        struct closer c = { .object = kit_connector(s.adapter) };
        struct kit_call call = { .inside = close_in_call, .arg = &c };

        s.connector = c.object;
        CHECK_STATUS(kit_connect_start(&s, &call, &source, &nobody, NULL, 0), STATUS_PENDING);
        check_closed(&call, &c);
        CHECK_STATUS(call.status, STATUS_CONNECTION_REFUSED);
        s.connector = NULL;
    }
    kit_side_close(&s);
}

struct retry {
    struct kit_side *side;
    struct sockaddr_storage source, there;
    struct kit_call again;
    NTSTATUS status;
};

static void connect_again(struct kit_call *call)
{
    struct retry *r = call->arg;

    r->status = kit_connect_start(r->side, &r->again, &r->source, &r->there, NULL, 0);
}

/* covers: OBJ-08 */
CASE(obj_08_connect_again_inside_failed_connect_completion, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct retry r = { .side = &p.active };
    struct kit_call call = { .inside = connect_again, .arg = &r };
    struct sockaddr_storage nobody = kit_host(1);

    kit_pair_open_idle(&p);
    r.source = kit_host(0);
    r.there = p.listener.address;
    CHECK_STATUS(kit_connect_start(&p.active, &call, &r.source, &nobody, NULL, 0), STATUS_PENDING);
    p.passive.connector = kit_next_request(&p.listener);
    struct kit_call accept = { 0 };
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    kit_wait_calls(&call, 1);
    CHECK_STATUS(kit_final(&r.again, r.status), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_complete_and_disconnect, KIT_FAMILIES)
{
    static struct peer_acceptor p;

    for (int disconnect = 0; disconnect < 2; disconnect++) {
        struct closer c = { 0 };
        struct kit_call call = { .inside = close_in_call, .arg = &c };
        NDK_CONNECTOR *n;

        peer_acceptor_open(&p);
        c.object = n = p.side.connector;
        if (disconnect) {
            peer_acceptor_connect(&p, PEER_FPDU);
            CHECK(shutdown(p.s, SHUT_WR) == 0);
            CHECK_STATUS(n->Dispatch->NdkDisconnect(n, kit_request_done, &call), STATUS_PENDING);
        } else {
            peer_acceptor_reply(&p, PEER_FPDU);
            CHECK_STATUS(n->Dispatch->NdkCompleteConnect(n, NULL, NULL, kit_request_done, &call), STATUS_PENDING);
        }
        check_closed(&call, &c);
        CHECK_STATUS(call.status, STATUS_SUCCESS);
        p.side.connector = NULL;
        peer_acceptor_close(&p);
    }
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_accept_completion, KIT_FAMILIES)
{
    static struct peer_initiator p;
    struct raw_frame request = peer_frame(PEER_FPDU);
    struct closer c = { 0 };

    peer_initiator_open(&p, &request);
    c.object = p.side.connector;
    p.accept.inside = close_in_call;
    p.accept.arg = &c;
    peer_initiator_accept(&p);
    peer_initiator_ready(&p, PEER_FPDU);
    check_closed(&p.accept, &c);
    p.side.connector = NULL;
    peer_initiator_close(&p);
}

static void close_in_event(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct closer *c = l->arg;

    c->object = connector;
    close_it(c);
}

/* covers: OBJ-08, ACC-08 */
CASE(obj_08_close_inside_connect_event, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct closer c = { 0 };
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(&p);
    p.listener.inside = close_in_event;
    p.listener.arg = &c;
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    kit_wait_count(&p.listener.requests, 1);
    CHECK_STATUS(kit_final(&c.closing, c.status), STATUS_SUCCESS);
    kit_pair_close(&p);
}

static void close_in_disconnect(struct kit_side *s)
{
    close_it(s->arg);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_disconnect_callback, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct closer c = { 0 };

    peer_acceptor_open(&p);
    c.object = p.side.connector;
    p.side.arg = &c;
    p.side.inside_disconnected = close_in_disconnect;
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK(shutdown(p.s, SHUT_WR) == 0);
    kit_wait_count(&p.side.disconnected, 1);
    CHECK_STATUS(kit_final(&c.closing, c.status), STATUS_SUCCESS);
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

/* Closes connector, queue pair and completion queue inside the queue's notification. */
struct closers {
    struct closer each[3];
};

static void close_all_in_notification(struct kit_side *s)
{
    struct closers *all = s->arg;

    for (int i = 0; i < 3; i++)
        close_it(&all->each[i]);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_notification, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct closers all = { 0 };

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    all.each[0].object = p.side.connector;
    all.each[1].object = p.side.qp;
    all.each[2].object = p.side.cq;
    p.side.arg = &all;
    p.side.inside_notified = close_all_in_notification;
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    p.side.cq->Dispatch->NdkArmCq(p.side.cq, NDK_CQ_NOTIFY_ANY);
    raw_send_message(p.s, 1, "now", 3);
    kit_wait_count(&p.side.notified, 1);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_final(&all.each[i].closing, all.each[i].status), STATUS_SUCCESS);
    p.side.connector = NULL, p.side.qp = NULL, p.side.cq = NULL;
    peer_acceptor_close(&p);
}

/* covers: OBJ-08 */
CASE(obj_08_close_inside_listen_completion, KIT_FAMILIES)
{
    static struct kit_listener l;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    struct sockaddr_storage here = kit_host(0);

    for (int i = 0; i < 50; i++) {
        struct closer c = { 0 };
        struct kit_call call = { .inside = close_in_call, .arg = &c };
        NTSTATUS status;

        kit_listener_create(&l, adapter);
        c.object = l.listener;
        status = l.listener->Dispatch->NdkListen(l.listener, (PSOCKADDR)&here, kit_address_len(&here), kit_request_done,
                                                 &call);
        if (status != STATUS_PENDING)
            close_it(&c);
        CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
        CHECK_STATUS(kit_final(&c.closing, c.status), STATUS_SUCCESS);
    }
    kit_close_adapter(adapter);
}

/* ---- OBJ-15 ---- */

/* covers: OBJ-15 */
CASE(obj_15_nothing_after_close, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call closing[3] = { 0 };
    NTSTATUS statuses[3];

    kit_pair_open(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 64), STATUS_SUCCESS);
    p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_ANY);
    void *objects[3] = { p.passive.connector, p.passive.qp, p.passive.cq };
    for (int i = 0; i < 3; i++) {
        struct any {
            NDK_OBJECT_HEADER header;
            const NDK_FN_CLOSE_OBJECT *dispatch;
        } *any = objects[i];

        statuses[i] = any->dispatch[0](&any->header, kit_close_done, &closing[i]);
    }
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_final(&closing[i], statuses[i]), STATUS_SUCCESS);
    int notified = atomic_load(&p.passive.notified); /* the flushed receive may have notified */
    p.passive.connector = NULL, p.passive.qp = NULL, p.passive.cq = NULL;
    kit_wait_count(&p.active.disconnected, 1);
    kit_pause();
    CHECK_EQ(atomic_load(&p.passive.notified), notified);
    CHECK_EQ(atomic_load(&p.passive.disconnected), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(atomic_load(&closing[i].calls), statuses[i] == STATUS_PENDING);
    kit_pair_close(&p);
}

/* covers: OBJ-15 */
CASE(obj_15_no_event_after_the_listeners_close, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_close(p.listener.listener), STATUS_SUCCESS);
    p.listener.listener = NULL;
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    kit_pause();
    CHECK_EQ(atomic_load(&p.listener.requests), 0);
    kit_pair_close(&p);
}

/* ---- OBJ-16 ---- */

/*
 * A callback waits for another thread, which calls the provider. If the provider held a lock during the callback, the
 * calls would block.
 */
struct visitor {
    struct kit_side *side;
    NDK_CONNECTOR *connector;
    struct closer closer;
};

static void *call_all(void *arg)
{
    struct visitor *v = arg;
    NDK_ADAPTER *a = v->side->adapter;
    struct kit_call create = { 0 };
    ULONG ird, size = sizeof(NDK_ADAPTER_INFO);
    NDK_ADAPTER_INFO info;
    NDK_PD *pd = NULL;

    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, &info, &size), STATUS_SUCCESS);
    CHECK_STATUS(a->Dispatch->NdkCreatePd(a, kit_create_done, &create, &pd), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(pd), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(kit_connector(a)), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(v->side, 1, 0, 64), STATUS_SUCCESS);
    v->side->cq->Dispatch->NdkArmCq(v->side->cq, NDK_CQ_NOTIFY_ERRORS);
    (void)v->connector->Dispatch->NdkGetConnectionData(v->connector, &ird, NULL, NULL, NULL);
    CHECK_STATUS(kit_complete_connect(v->side), STATUS_CONNECTION_INVALID);
    close_it(&v->closer);
    return NULL;
}

static void run_caller(struct visitor *v)
{
    pthread_t thread;

    CHECK_EQ(pthread_create(&thread, NULL, call_all, v), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void call_in_completion(struct kit_call *call)
{
    run_caller(call->arg);
}

static void call_in_disconnect(struct kit_side *s)
{
    run_caller(s->arg);
}

/* covers: OBJ-16 */
CASE(obj_16_no_lock_in_request_completion, KIT_FAMILIES)
{
    static struct kit_side s;
    struct visitor v = { .side = &s };
    struct kit_call call = { .inside = call_in_completion, .arg = &v };
    struct sockaddr_storage source = kit_host(0), nobody = kit_host(1);

    kit_side_open(&s, NULL);
    v.connector = v.closer.object = s.connector = kit_connector(s.adapter);
    CHECK_STATUS(kit_connect_start(&s, &call, &source, &nobody, NULL, 0), STATUS_PENDING);
    kit_wait_calls(&call, 1);
    CHECK_STATUS(kit_final(&v.closer.closing, v.closer.status), STATUS_SUCCESS);
    s.connector = NULL;
    kit_side_close(&s);
}

/* covers: OBJ-16 */
CASE(obj_16_no_lock_in_disconnect_callback, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct visitor v = { .side = &p.side };

    peer_acceptor_open(&p);
    v.connector = v.closer.object = p.side.connector;
    p.side.arg = &v;
    p.side.inside_disconnected = call_in_disconnect;
    peer_acceptor_connect(&p, PEER_WRITE);
    CHECK(shutdown(p.s, SHUT_WR) == 0);
    kit_wait_count(&p.side.disconnected, 1);
    CHECK_STATUS(kit_final(&v.closer.closing, v.closer.status), STATUS_SUCCESS);
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

/* covers: OBJ-16 */
CASE(obj_16_no_lock_in_notification, KIT_FAMILIES)
{
    static struct peer_acceptor p;
    struct visitor v = { .side = &p.side };

    peer_acceptor_open(&p);
    peer_acceptor_connect(&p, PEER_WRITE);
    v.connector = v.closer.object = p.side.connector;
    p.side.arg = &v;
    p.side.inside_notified = call_in_disconnect;
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    p.side.cq->Dispatch->NdkArmCq(p.side.cq, NDK_CQ_NOTIFY_ANY);
    raw_send_message(p.s, 1, "now", 3);
    kit_wait_count(&p.side.notified, 1);
    CHECK_STATUS(kit_final(&v.closer.closing, v.closer.status), STATUS_SUCCESS);
    p.side.connector = NULL;
    peer_acceptor_close(&p);
}

static void call_in_event(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct visitor *v = l->arg;

    v->connector = v->closer.object = v->side->connector = connector;
    run_caller(v);
}

/* covers: OBJ-16 */
CASE(obj_16_no_lock_in_connect_event, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct visitor v = { .side = &p.passive };
    struct sockaddr_storage source = kit_host(0);

    kit_pair_open_idle(&p);
    p.listener.inside = call_in_event;
    p.listener.arg = &v;
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    kit_wait_count(&p.listener.requests, 1);
    CHECK_STATUS(kit_final(&v.closer.closing, v.closer.status), STATUS_SUCCESS);
    p.passive.connector = NULL;
    kit_pair_close(&p);
}

/* A consumer that holds its lock during calls, and acquires it in the completion. */
static pthread_mutex_t own_lock;

static void lock_in_call(struct kit_call *call)
{
    (void)call;
    CHECK_EQ(pthread_mutex_lock(&own_lock), 0); /* EDEADLK: the completion ran inside the call */
    pthread_mutex_unlock(&own_lock);
}

/* covers: OBJ-16 */
CASE(obj_16_no_completion_inside_the_call, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_host(1);
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&own_lock, &kind);
    kit_side_open(&s, NULL);
    s.connector = kit_connector(s.adapter);
    for (int i = 0; i < 20; i++) {
        struct kit_call call = { .inside = lock_in_call };
        NTSTATUS status;

        pthread_mutex_lock(&own_lock);
        status = kit_connect_start(&s, &call, &source, &nobody, NULL, 0);
        pthread_mutex_unlock(&own_lock);
        CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    }
    kit_side_close(&s);
}

/* ---- many threads ---- */

enum { THREADS = 6, ROUNDS = 10 };
static NDK_ADAPTER *shared_active, *shared_passive;

static void *connect_often(void *arg)
{
    struct kit_pair *p = arg;

    for (int i = 0; i < ROUNDS; i++) {
        memset(p, 0, sizeof *p);
        kit_side_open(&p->active, shared_active);
        kit_side_open(&p->passive, shared_passive);
        kit_listen(&p->listener, shared_passive);
        kit_establish(&p->active, &p->passive, &p->listener);
        kit_exchange(&p->active, &p->passive);
        if (i % 2)
            kit_pair_disconnect(p);
        struct kit_call call = { 0 };
        NDK_LISTENER *l = p->listener.listener;
        NTSTATUS status = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &call);
        kit_side_close(&p->active);
        kit_side_close(&p->passive);
        CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    }
    return NULL;
}

/* covers: OBJ-07, OBJ-09 */
CASE(obj_07_many_threads_on_two_adapters, KIT_FAMILIES)
{
    static struct kit_pair pairs[THREADS];
    pthread_t threads[THREADS];

    shared_active = kit_open(2, 1);
    shared_passive = kit_open(2, 1);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, connect_often, &pairs[i]), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    kit_close_adapter(shared_active);
    kit_close_adapter(shared_passive);
}
