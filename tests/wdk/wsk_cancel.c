/* SPDX-License-Identifier: MIT */
/*
 * Pending requests of Winsock Kernel's sockets that do not complete normally: cancelled, closed, left open, used
 * afterwards.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "wsk_kit.h"

enum { LARGE = 24 << 20 };

/* ---- IoCancelIrp ------------------------------------------------------------------------------------------------- */

/* The result does not depend on whether the request has reached its socket already. */
static void cancel(struct kit_call *c)
{
    assert_false(kit_is_over(c, 20));
    (void)IoCancelIrp(c->irp);
    assert_int_equal(kit_end(c, STATUS_PENDING, NULL), STATUS_CANCELLED);
}

/* A cancelled receive consumes no data: the next one gets it. */
static void test_accept_and_receive(void **state)
{
    kit_address at;
    PWSK_SOCKET listener, client, server;
    struct kit_memory m;
    struct kit_call c, second;
    ULONG_PTR socket = 0, n = 0;
    WSK_BUF buf;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    kit_start_accept(listener, &c);
    kit_start_accept(listener, &second);
    cancel(&c);
    client = kit_connect(&at, NULL, NULL);
    assert_int_equal(kit_end(&second, STATUS_PENDING, &socket), STATUS_SUCCESS);
    server = (PWSK_SOCKET)socket;
    buf = kit_buffer(&m, 100);
    kit_start_receive(server, &buf, 0, &c);
    kit_start_receive(server, &buf, 0, &second);
    cancel(&c);
    kit_send(client, 100, 0);
    assert_int_equal(kit_end(&second, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 100);
    kit_verify(&m, 0, 100, 0);
    kit_memory_free(&m);
    kit_stop(&(struct kit_pair){ listener, client, server });
}

/* A cancelled receive with WAITALL returns the number of received bytes. */
static void test_half_a_receive(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR n = 0;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 100);
    kit_start_receive(p.server, &buf, WSK_FLAG_WAITALL, &c);
    kit_send(p.client, 40, 0);
    /* Each request makes the socket read, in order, so the 40 bytes have been received. */
    assert_int_equal(kit_send_buf(p.server, (WSK_BUF){ NULL, 0, 0 }, 0, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_send_buf(p.server, (WSK_BUF){ NULL, 0, 0 }, 0, NULL), STATUS_SUCCESS);
    (void)IoCancelIrp(c.irp);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_CANCELLED);
    assert_int_equal(n, 40);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* Cancelling a send that has not begun affects only the send. Cancelling a partial send resets the connection. */
static void test_send(void **state)
{
    struct kit_pair p;
    struct kit_memory m, one;
    struct kit_call first, second, end;
    ULONG_PTR n = 0;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_one(&m, LARGE);
    kit_memory_one(&one, 1);
    buf = (WSK_BUF){ m.mdl, 0, LARGE };
    kit_start_send(p.client, &buf, 0, &first);
    kit_start_send(p.client, &buf, 0, &second);
    assert_int_equal(KIT_CONNECTION(p.client)->WskDisconnect(p.client, NULL, 0, kit_irp(&end)), STATUS_PENDING);
    cancel(&second);
    assert_int_equal(kit_receive_buf(p.server, (WSK_BUF){ one.mdl, 0, 1 }, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 1); /* so the first has begun */
    cancel(&first);
    kit_memory_free(&one);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_CONNECTION_ABORTED);
    assert_int_equal(kit_send_buf(p.client, buf, 0, NULL), STATUS_CONNECTION_ABORTED);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* A full backlog delays a connect: both kinds of it can be cancelled, and WskConnect's socket can still be used. */
static void test_connect(void **state)
{
    enum { MOST = 300 };
    static struct kit_call calls[MOST];
    struct kit_call c;
    kit_address at, any = { .any = { AF_INET, { 0 } } }, local, again;
    PWSK_SOCKET listener, s;
    ULONG_PTR socket = 0;
    int made;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    made = kit_fill_backlog(calls, MOST, listener, &at);
    cancel(&calls[made]);
    s = kit_socket(AF_INET, WSK_FLAG_CONNECTION_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(s, &any), STATUS_SUCCESS);
    local = kit_local_by(s, KIT_CONNECTION(s)->WskGetLocalAddress);
    assert_int_equal(KIT_CONNECTION(s)->WskConnect(s, &at.any, 0, kit_irp(&c)), STATUS_PENDING);
    assert_int_equal(kit_connect_socket(s, &at), STATUS_INVALID_DEVICE_STATE);
    cancel(&c);
    for (int i = 0; i < made; i++) {
        assert_int_equal(kit_end(&calls[i], STATUS_PENDING, &socket), STATUS_SUCCESS);
        assert_int_equal(kit_close((PWSK_SOCKET)socket), STATUS_SUCCESS);
        assert_int_equal(kit_close(kit_accept(listener, NULL, NULL)), STATUS_SUCCESS);
    }
    assert_int_equal(kit_connect_socket(s, &at), STATUS_SUCCESS);
    again = kit_local_by(s, KIT_CONNECTION(s)->WskGetLocalAddress);
    assert_int_equal(again.v4.sin_port, local.v4.sin_port);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* An IRP that is cancelled before it reaches the socket does not begin. */
static void test_cancelled_before(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 100);
    (void)kit_irp(&c);
    assert_false(IoCancelIrp(c.irp));
    assert_int_equal(kit_end(&c, KIT_CONNECTION(p.server)->WskReceive(p.server, &buf, 0, c.irp), NULL),
                     STATUS_CANCELLED);
    kit_send(p.client, 100, 0);
    kit_receive(p.server, 100, 0);
    kit_memory_free(&m);
    kit_stop(&p);
}

enum { ROUNDS = 150 };

struct canceller {
    pthread_t thread;
    struct kit_call call;
    atomic_int go, done;
};

static void *cancel_many(void *argument)
{
    struct canceller *x = argument;

    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&x->go) < round)
            sched_yield();
        (void)IoCancelIrp(x->call.irp);
        atomic_store(&x->done, round);
    }
    return NULL;
}

/* Data arrives while the receive is cancelled: it completes once, and the data is neither lost nor duplicated. */
static void test_cancel_against_data(void **state)
{
    static struct canceller x;
    struct kit_pair p;
    struct kit_memory m;
    SIZE_T received = 0;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 10);
    assert_int_equal(pthread_create(&x.thread, NULL, cancel_many, &x), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        ULONG_PTR n = 0;
        NTSTATUS status;

        kit_start_receive(p.server, &buf, 0, &x.call);
        if (round % 2)
            atomic_store(&x.go, round);
        kit_send(p.client, 10, (SIZE_T)(round - 1) * 10);
        atomic_store(&x.go, round);
        while (atomic_load(&x.done) < round)
            sched_yield();
        assert_true(kit_is_over(&x.call, KIT_PATIENCE_SECONDS * 1000));
        status = kit_end(&x.call, STATUS_PENDING, &n);
        if (status == STATUS_SUCCESS)
            kit_verify(&m, 0, n, received);
        else
            assert_int_equal(status, STATUS_CANCELLED);
        received += n;
        if (received < (SIZE_T)round * 10)
            kit_receive(p.server, (SIZE_T)round * 10 - received, received);
        received = (SIZE_T)round * 10;
    }
    pthread_join(x.thread, NULL);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* ---- WskCloseSocket ---------------------------------------------------------------------------------------------- */

/* Pending requests complete before the close does. */
static void test_close_with_pending(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call accepting, sending, receiving, closing;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, LARGE);
    kit_start_accept(p.listener, &accepting);
    kit_start_send(p.client, &buf, 0, &sending);
    kit_start_receive(p.client, &buf, 0, &receiving);
    assert_int_equal(KIT_CONNECTION(p.client)->WskCloseSocket(p.client, kit_irp(&closing)), STATUS_PENDING);
    assert_int_equal(kit_end(&closing, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_true(kit_is_over(&sending, 0));
    assert_true(kit_is_over(&receiving, 0));
    assert_int_equal(kit_end(&sending, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_end(&receiving, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    assert_true(kit_is_over(&accepting, 0));
    assert_int_equal(kit_end(&accepting, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    kit_memory_free(&m);
    kit_detach();
}

/* ---- Left open --------------------------------------------------------------------------------------------------- */

struct deregistration {
    pthread_t thread;
    atomic_int done;
};

static void *deregister(void *argument)
{
    struct deregistration *l = argument;

    WskDeregister(&kit_registration);
    atomic_store(&l->done, 1);
    return NULL;
}

/* covers: WSK-02 */
static void test_deregister_waits_for_sockets(void **state)
{
    static struct deregistration l;
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    PWSK_SOCKET s;

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_CONNECTION_SOCKET, NULL, NULL);
    WskReleaseProviderNPI(&kit_registration);
    assert_int_equal(pthread_create(&l.thread, NULL, deregister, &l), 0);
    nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&l.done), 0);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    pthread_join(l.thread, NULL);
    assert_int_equal(live_count(), 0);
}

/* The report has the socket and the stack that opened or accepted it. */
static void test_what_is_left(void **state)
{
    struct kit_pair p;
    char *text = NULL;
    size_t length = 0;
    FILE *out;
    int found = 0;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    out = open_memstream(&text, &length);
    live_report(out);
    fclose(out);
    for (const char *at = text; (at = strstr(at, "(WSK_SOCKET)\n    #0")); at++)
        found++;
    assert_int_equal(found, 3);
    free(text);
    kit_stop(&p);
}

/* ---- What is reported -------------------------------------------------------------------------------------------- */

static void test_used_after_close(void **state)
{
    struct kit_pair p;
    struct report *r;
    struct kit_call c;
    WSK_BUF none = { NULL, 0, 0 };

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(kit_send_buf(p.client, none, 0, NULL), STATUS_INVALID_HANDLE);
    report_is(r, "wsk-closed-used in WskSend");
    r = report_start();
    assert_int_equal(kit_close(p.client), STATUS_INVALID_HANDLE);
    report_is(r, "wsk-closed-used in WskCloseSocket");
    r = report_start();
    assert_int_equal(kit_events(p.client, WSK_EVENT_RECEIVE, NULL), STATUS_INVALID_HANDLE);
    report_is(r, "wsk-closed-used in WskControlSocket");
    assert_int_equal(KIT_CONNECTION(p.server)->WskCloseSocket(p.server, kit_irp(&c)), STATUS_PENDING);
    r = report_start();
    assert_int_equal(kit_disconnect(p.server, 0), STATUS_INVALID_HANDLE);
    report_is(r, "wsk-closed-used in WskDisconnect");
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    kit_detach();
}

/* All calls are permitted at DISPATCH_LEVEL, where completion routines run; name resolution requires PASSIVE_LEVEL. */
static void test_irql(void **state)
{
    struct report *r = report_start();
    struct kit_pair p;
    struct kit_call c;
    struct kit_memory m;
    ULONG_PTR n = 0;
    WSK_BUF buf;
    KIRQL old;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 100);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    kit_start_send(p.client, &buf, 0, &c);
    KeLowerIrql(old);
    assert_true(kit_is_over(&c, KIT_PATIENCE_SECONDS * 1000));
    assert_int_equal(c.irql, DISPATCH_LEVEL);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 100);
    report_is_empty(r);
    (void)kit_irp(&c);
    r = report_start();
    KeRaiseIrql(DISPATCH_LEVEL + 1, &old);
    assert_int_equal(KIT_CONNECTION(p.client)->WskSend(p.client, &buf, 0, c.irp), STATUS_PENDING);
    KeLowerIrql(old);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_SUCCESS);
    report_is(r, "irql-too-high in WskSend");
    kit_memory_free(&m);
    kit_stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept_and_receive),
        cmocka_unit_test(test_half_a_receive),
        cmocka_unit_test(test_send),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_cancelled_before),
        cmocka_unit_test(test_cancel_against_data),
        cmocka_unit_test(test_close_with_pending),
        cmocka_unit_test(test_deregister_waits_for_sockets),
        cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_used_after_close),
        cmocka_unit_test(test_irql),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
