/* SPDX-License-Identifier: MIT */
/* Events of Winsock Kernel's sockets: indicated data, kept and refused data, enabling and disabling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"
#include "wsk_record.h"

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static void test_receive(void **state)
{
    struct report *r = report_start();
    struct kit_pair p;

    (void)state;
    p = record_start(0);
    kit_send(p.client, 100, 0);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.receives), 0);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.bytes) == 100);
    kit_send(p.client, 3 << 20, 100);
    KIT_UNTIL(atomic_load(&record.bytes) == 100 + (3 << 20));
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.disconnects) == 1);
    assert_int_equal(atomic_load(&record.flags), WSK_FLAG_AT_DISPATCH_LEVEL);
    assert_int_equal(atomic_load(&record.wrong), 0);
    kit_pair_close(&p);
    assert_int_equal(atomic_load(&record.disconnects), 1);
    kit_detach();
    report_is_empty(r);
}

/* Refused data remains, and nothing more is indicated until WskReceive was called. */
static void test_refused_data(void **state)
{
    struct kit_pair p;
    WSK_BUF none = { NULL, 0, 0 };

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.status, STATUS_DATA_NOT_ACCEPTED);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.receives) == 1);
    kit_send(p.client, 100, 100);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.receives), 1);
    atomic_store(&record.blocks, 1);
    kit_receive(p.server, 50, 0);
    KIT_UNTIL(atomic_load(&record.blocked));
    atomic_store(&record.bytes, 50);
    atomic_store(&record.blocks, 0);
    KIT_UNTIL(atomic_load(&record.receives) == 2);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.receives), 2);
    atomic_store(&record.status, STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.server, none, 0, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.bytes) == 200);
    assert_int_equal(atomic_load(&record.wrong), 0);
    kit_stop(&p);
}

/* An accepted part is consumed; the rest is for WskReceive, or is indicated again. */
static void test_part_of_the_data(void **state)
{
    struct kit_pair p;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.accept, 7);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.receives) == 1);
    assert_int_equal(atomic_load(&record.bytes), 7);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.receives), 1);
    kit_receive(p.server, 93, 7);
    atomic_store(&record.bytes, 100);
    atomic_store(&record.accept, 0);
    kit_send(p.client, 30, 100);
    KIT_UNTIL(atomic_load(&record.bytes) == 130);
    assert_int_equal(atomic_load(&record.wrong), 0);
    kit_stop(&p);
}

/* Kept data does not change until it is released, while more arrives. */
static void test_kept_data(void **state)
{
    struct report *r = report_start();
    struct kit_pair p;
    PWSK_DATA_INDICATION list;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.status, STATUS_PENDING);
    kit_send(p.client, 40000, 0);
    KIT_UNTIL(atomic_load(&record.bytes) > 0);
    list = atomic_load(&record.kept);
    KIT_UNTIL(atomic_load(&record.bytes) == 40000);
    kit_send(p.client, 1000, 40000);
    KIT_UNTIL(atomic_load(&record.bytes) == 41000);
    atomic_store(&record.bytes, 0);
    record_data(&record, list, 40000);
    assert_int_equal(atomic_load(&record.wrong), 0);
    assert_int_equal(KIT_CONNECTION(p.server)->WskRelease(p.server, list), STATUS_SUCCESS);
    report_is_empty(r);
    r = report_start();
    assert_int_equal(KIT_CONNECTION(p.server)->WskRelease(p.server, list), STATUS_INVALID_PARAMETER);
    report_is(r, "wsk-indication in WskRelease");
    kit_stop(&p);
}

static void test_kept_at_the_close(void **state)
{
    struct kit_pair p;
    struct report *r;
    char *text = NULL;
    size_t length = 0;
    FILE *out;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.status, STATUS_PENDING);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.bytes) == 100);
    r = report_start();
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    report_is(r, "wsk-indication in WskCloseSocket");
    out = open_memstream(&text, &length);
    live_report(out);
    fclose(out);
    assert_non_null(strstr(text, "(WSK_DATA_INDICATION)"));
    free(text);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    assert_true(live_remove(LIVE_WSK_INDICATION, atomic_load(&record.kept)));
    kit_detach();
}

/* Calls of WskReceive get data before the event. */
static void test_receive_goes_first(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR n = 0;
    WSK_BUF buf;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    buf = kit_buffer(&m, 100);
    kit_start_receive(p.server, &buf, WSK_FLAG_WAITALL, &c);
    kit_send(p.client, 150, 0);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 100);
    kit_verify(&m, 0, 100, 0);
    atomic_store(&record.wrong, 0);
    KIT_UNTIL(atomic_load(&record.bytes) == 50);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* A disconnect, abortive or graceful, is indicated once, and returned to later receives. */
static void test_disconnects(void **state)
{
    struct kit_pair p;

    (void)state;
    p = record_start(WSK_EVENT_DISCONNECT);
    assert_int_equal(kit_disconnect(p.client, WSK_FLAG_ABORTIVE), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.disconnects) == 1);
    assert_int_equal(atomic_load(&record.flags), WSK_FLAG_AT_DISPATCH_LEVEL | WSK_FLAG_ABORTIVE);
    kit_pair_close(&p);
    p = kit_pair_make(AF_INET6, &record, &record_dispatch);
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_SUCCESS);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.disconnects), 1);
    assert_int_equal(kit_events(p.server, WSK_EVENT_DISCONNECT, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.disconnects) == 2);
    assert_int_equal(atomic_load(&record.flags), WSK_FLAG_AT_DISPATCH_LEVEL);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.disconnects), 2);
    kit_stop(&p);
}

/* Data before the disconnect is indicated before it. */
static void test_end_after_data(void **state)
{
    struct kit_pair p;
    WSK_BUF none = { NULL, 0, 0 };

    (void)state;
    p = record_start(WSK_EVENT_DISCONNECT | WSK_EVENT_RECEIVE);
    atomic_store(&record.status, STATUS_DATA_NOT_ACCEPTED);
    kit_send(p.client, 100, 0);
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.receives) == 1);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.disconnects), 0);
    atomic_store(&record.status, STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.server, none, 0, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.disconnects) == 1);
    assert_int_equal(atomic_load(&record.bytes), 100);
    kit_stop(&p);
}

/* ---- Backlog ----------------------------------------------------------------------------------------------------- */

static void test_backlogs(void **state)
{
    struct kit_pair p;
    SIZE_T ideal = 0, waiting = 0, returned = 0;
    int room = 100000, narrow = 0;

    (void)state;
    p = record_start(0);
    assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskSetOption, SO_SNDBUF, SOL_SOCKET,
                                                                sizeof room, &room, 0, NULL, NULL, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(kit_events(p.server, WSK_EVENT_SEND_BACKLOG, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.backlogs) == 1);
    assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskIoctl, SIO_WSK_QUERY_IDEAL_SEND_BACKLOG, 0,
                                                                0, NULL, sizeof ideal, &ideal, &returned, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(returned, sizeof ideal);
    assert_int_equal(atomic_load(&record.backlog), ideal);
    room = 150000;
    assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskSetOption, SO_SNDBUF, SOL_SOCKET,
                                                                sizeof room, &room, 0, NULL, NULL, NULL),
                     STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.backlogs) == 2);
    assert_true(atomic_load(&record.backlog) > ideal);
    kit_send(p.client, 100, 0);
    kit_send(p.client, 100, 100);
    do
        assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskIoctl, SIO_WSK_QUERY_RECEIVE_BACKLOG,
                                                                    0, 0, NULL, sizeof waiting, &waiting, NULL, NULL),
                         STATUS_SUCCESS);
    while (waiting < 200);
    assert_int_equal(waiting, 200);
    assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskIoctl, SIO_WSK_QUERY_RECEIVE_BACKLOG, 0, 0,
                                                                NULL, sizeof narrow, &narrow, NULL, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(narrow, 200);
    kit_stop(&p);
}

/* ---- Incoming connections ---------------------------------------------------------------------------------------- */

struct incoming {
    atomic_int calls, refuse, wrong;
    _Atomic(PWSK_SOCKET) socket;
    struct record *record;
};

static NTSTATUS WSKAPI on_accept(PVOID context, ULONG flags, PSOCKADDR local, PSOCKADDR remote, PWSK_SOCKET socket,
                                 PVOID *socket_context, const WSK_CLIENT_CONNECTION_DISPATCH **socket_dispatch)
{
    struct incoming *i = context;
    int n = atomic_fetch_add(&i->calls, 1);

    if (!(flags & WSK_FLAG_AT_DISPATCH_LEVEL) || !socket || local->sa_family != AF_INET ||
        remote->sa_family != AF_INET || SS_PORT(remote) == 0)
        atomic_fetch_add(&i->wrong, 1);
    (void)n;
    if (atomic_load(&i->refuse))
        return STATUS_REQUEST_NOT_ACCEPTED;
    *socket_context = i->record;
    *socket_dispatch = &record_dispatch;
    atomic_store(&i->socket, socket);
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_LISTEN_DISPATCH on_listen = { on_accept, NULL, NULL };

/* Accepted sockets have the enabled connection events from the start. */
static void test_accept_event(void **state)
{
    static struct incoming in;
    kit_address at;
    PWSK_SOCKET listener, client, other;
    struct kit_call c, receiving;
    struct kit_memory m;
    WSK_BUF buf;

    (void)state;
    record_init();
    memset(&in, 0, sizeof in);
    in.record = &record;
    kit_attach();
    listener = kit_listener(AF_INET, &in, &on_listen, &at);
    client = kit_connect(&at, NULL, NULL);
    kit_pause(20);
    assert_int_equal(atomic_load(&in.calls), 0);
    assert_int_equal(kit_events(listener, WSK_EVENT_ACCEPT | WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&in.socket));
    kit_send(client, 100, 0);
    KIT_UNTIL(atomic_load(&record.bytes) == 100);
    /* A waiting WskAccept precedes the event, and its socket's events are disabled. */
    assert_int_equal(KIT_LISTEN(listener)->WskAccept(listener, 0, &record, &record_dispatch, NULL, NULL, kit_irp(&c)),
                     STATUS_PENDING);
    other = kit_connect(&at, NULL, NULL);
    {
        ULONG_PTR socket = 0;

        assert_int_equal(kit_end(&c, STATUS_PENDING, &socket), STATUS_SUCCESS);
        assert_int_equal(atomic_load(&in.calls), 1);
        kit_send(other, 10, 0);
        kit_receive((PWSK_SOCKET)socket, 10, 0);
        assert_int_equal(atomic_load(&record.bytes), 100);
        assert_int_equal(kit_close((PWSK_SOCKET)socket), STATUS_SUCCESS);
    }
    assert_int_equal(kit_close(other), STATUS_SUCCESS);
    /* A refused connection is closed. */
    atomic_store(&in.refuse, 1);
    other = kit_connect(&at, NULL, NULL);
    buf = kit_buffer(&m, 10);
    assert_int_equal(kit_end(&receiving, KIT_CONNECTION(other)->WskReceive(other, &buf, 0, kit_irp(&receiving)), NULL),
                     STATUS_CONNECTION_RESET);
    kit_memory_free(&m);
    assert_int_equal(kit_close(other), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&in.calls), 2);
    assert_int_equal(atomic_load(&in.wrong), 0);
    assert_int_equal(kit_close(client), STATUS_SUCCESS);
    assert_int_equal(kit_close(atomic_load(&in.socket)), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* WSK_SET_STATIC_EVENT_CALLBACKS: enabled for every socket, and cannot be disabled. */
static void test_static_events(void **state)
{
    struct kit_pair p;
    WSK_EVENT_CALLBACK_CONTROL control = { &NPI_WSK_INTERFACE_ID, WSK_EVENT_RECEIVE | WSK_EVENT_RECEIVE_FROM };

    (void)state;
    record_init();
    kit_attach();
    assert_int_equal(kit_npi.Dispatch->WskControlClient(kit_npi.Client, WSK_SET_STATIC_EVENT_CALLBACKS, sizeof control,
                                                        &control, 0, NULL, NULL, NULL),
                     STATUS_SUCCESS);
    p = kit_pair_make(AF_INET, &record, &record_dispatch);
    assert_int_equal(kit_npi.Dispatch->WskControlClient(kit_npi.Client, WSK_SET_STATIC_EVENT_CALLBACKS, sizeof control,
                                                        &control, 0, NULL, NULL, NULL),
                     STATUS_INVALID_DEVICE_STATE);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.bytes) == 100);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, NULL), STATUS_INVALID_PARAMETER);
    kit_stop(&p);
}

/* ---- Enabling and disabling -------------------------------------------------------------------------------------- */

static void test_masks(void **state)
{
    struct kit_pair p;
    kit_address any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET s;
    static const NPIID other = { 1, 2, 3, { 4 } };
    WSK_EVENT_CALLBACK_CONTROL foreign = { &other, WSK_EVENT_RECEIVE };

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    s = kit_socket(AF_INET, WSK_FLAG_CONNECTION_SOCKET, NULL, NULL);
    assert_int_equal(kit_events(s, WSK_EVENT_RECEIVE, NULL), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(kit_bind(s, &any), STATUS_SUCCESS);
    assert_int_equal(kit_events(s, WSK_EVENT_RECEIVE, NULL), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    assert_int_equal(kit_events(p.server, WSK_EVENT_ACCEPT, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_events(p.server, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT | WSK_EVENT_DISABLE, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_events(p.listener, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_events(p.listener, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(KIT_CONNECTION(p.server)->WskControlSocket(p.server, WskSetOption, SO_WSK_EVENT_CALLBACK,
                                                                SOL_SOCKET, sizeof foreign, &foreign, 0, NULL, NULL,
                                                                NULL),
                     STATUS_INVALID_PARAMETER);
    kit_stop(&p);
}

/* Disabling pends while the event runs. Afterwards it is not called any more. */
static void test_disable(void **state)
{
    struct kit_pair p;
    struct kit_call c;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.blocks, 1);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.blocked));
    assert_int_equal(kit_events(p.server, WSK_EVENT_DISCONNECT | WSK_EVENT_DISABLE, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, NULL), STATUS_EVENT_PENDING);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, kit_irp(&c)), STATUS_PENDING);
    kit_pause(20);
    assert_int_equal(atomic_load(&c.completions), 0);
    atomic_store(&record.blocks, 0);
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&record.receives), 1);
    kit_send(p.client, 100, 100);
    kit_pause(20);
    assert_int_equal(atomic_load(&record.receives), 1);
    assert_int_equal(kit_end(&c, kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, kit_irp(&c)), NULL),
                     STATUS_SUCCESS);
    kit_receive(p.server, 100, 100);
    kit_stop(&p);
}

/* The close waits until the event has returned. */
static void test_close_waits_for_the_event(void **state)
{
    struct kit_pair p;
    struct kit_call c;

    (void)state;
    p = record_start(WSK_EVENT_RECEIVE);
    atomic_store(&record.blocks, 1);
    kit_send(p.client, 100, 0);
    KIT_UNTIL(atomic_load(&record.blocked));
    assert_int_equal(KIT_CONNECTION(p.server)->WskCloseSocket(p.server, kit_irp(&c)), STATUS_PENDING);
    kit_pause(20);
    assert_int_equal(atomic_load(&c.completions), 0);
    atomic_store(&record.blocks, 0);
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&record.receives), 1);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    kit_detach();
}

/*
 * While an event blocks the thread, data is sent to a receive that is then cancelled: the data is handled first, the
 * receive succeeds, and the rest of the cancelling does nothing.
 */
static void test_cancelled_too_late(void **state)
{
    struct kit_pair p, q;
    struct kit_memory out, in;
    struct kit_call receiving, sending, looking;
    WSK_BUF data, room, none = { NULL, 0, 0 };
    ULONG_PTR n = 0;

    (void)state;
    p = record_start(0);
    q = kit_pair_make(AF_INET, NULL, NULL);
    kit_memory_one(&out, 10);
    kit_memory_one(&in, 10);
    kit_fill(&out, 0, 10, 0);
    data = (WSK_BUF){ out.mdl, 0, 10 };
    room = (WSK_BUF){ in.mdl, 0, 10 };
    kit_start_receive(q.server, &room, 0, &receiving);
    assert_int_equal(kit_send_buf(q.server, none, 0, NULL), STATUS_SUCCESS); /* the receive has reached the socket */
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    atomic_store(&record.blocks, 1);
    kit_send(p.client, 1, 0);
    KIT_UNTIL(atomic_load(&record.blocked));
    kit_start_send(q.client, &data, 0, &sending);
    kit_start_send(q.server, &none, 0, &looking);
    assert_true(IoCancelIrp(receiving.irp));
    atomic_store(&record.blocks, 0);
    assert_int_equal(kit_end(&receiving, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 10);
    kit_verify(&in, 0, 10, 0);
    assert_int_equal(kit_end(&sending, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_end(&looking, STATUS_PENDING, NULL), STATUS_SUCCESS);
    kit_memory_free(&out);
    kit_memory_free(&in);
    kit_pair_close(&p);
    kit_pair_close(&q);
    kit_detach();
}

/* Enabled and disabled while data arrives: the event does not run after it was disabled, and no byte is lost. */
static void test_disable_against_data(void **state)
{
    struct kit_pair p;

    (void)state;
    p = record_start(0);
    for (int round = 0; round < 100; round++) {
        struct kit_call c;
        int calls;

        assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
        kit_send(p.client, 10, (SIZE_T)round * 10);
        assert_int_equal(kit_end(&c, kit_events(p.server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, kit_irp(&c)), NULL),
                         STATUS_SUCCESS);
        calls = atomic_load(&record.receives);
        if (round % 16 == 0)
            kit_pause(1);
        assert_int_equal(atomic_load(&record.receives), calls);
    }
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    KIT_UNTIL(atomic_load(&record.bytes) == 1000);
    assert_int_equal(atomic_load(&record.wrong), 0);
    kit_stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receive),
        cmocka_unit_test(test_refused_data),
        cmocka_unit_test(test_part_of_the_data),
        cmocka_unit_test(test_kept_data),
        cmocka_unit_test(test_kept_at_the_close),
        cmocka_unit_test(test_receive_goes_first),
        cmocka_unit_test(test_disconnects),
        cmocka_unit_test(test_end_after_data),
        cmocka_unit_test(test_backlogs),
        cmocka_unit_test(test_accept_event),
        cmocka_unit_test(test_static_events),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_disable),
        cmocka_unit_test(test_close_waits_for_the_event),
        cmocka_unit_test(test_cancelled_too_late),
        cmocka_unit_test(test_disable_against_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
