/* SPDX-License-Identifier: MIT */
/* Graceful disconnects of Winsock Kernel's sockets that are interrupted by a close, a cancel or a reset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

enum { LARGE = 24 << 20, TAIL = 100000 };

static NTSTATUS start_disconnect(PWSK_SOCKET s, struct kit_call *c)
{
    return KIT_CONNECTION(s)->WskDisconnect(s, NULL, 0, kit_irp(c));
}

/* A disconnect that is cancelled before earlier data was sent does not change the socket. */
static void test_cancelled(void **state)
{
    enum { PIECE = 1 << 20 };
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call sending, end;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_one(&m, LARGE);
    kit_fill(&m, 0, LARGE, 0);
    buf = (WSK_BUF){ m.mdl, 0, LARGE };
    kit_start_send(p.client, &buf, 0, &sending);
    assert_int_equal(start_disconnect(p.client, &end), STATUS_PENDING);
    assert_false(kit_is_over(&end, 20));
    (void)IoCancelIrp(end.irp);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_CANCELLED);
    for (SIZE_T at = 0; at < LARGE; at += PIECE)
        kit_receive(p.server, PIECE, at);
    assert_int_equal(kit_end(&sending, STATUS_PENDING, NULL), STATUS_SUCCESS);
    kit_send(p.client, 10, 3);
    kit_receive(p.server, 10, 3);
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_SUCCESS);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* A close drops data that was not sent yet: the peer must not get a graceful end. */
static void test_cut_stream_is_reset(void **state)
{
    struct kit_pair p;
    struct kit_memory m, part;
    struct kit_call sending, end;
    NTSTATUS status;
    WSK_BUF buf;
    ULONG_PTR n = 99;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_one(&m, LARGE);
    kit_memory_one(&part, TAIL);
    buf = (WSK_BUF){ m.mdl, 0, 1 };
    assert_int_equal(kit_disconnect(p.server, 0), STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.client, buf, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    buf = (WSK_BUF){ m.mdl, 0, LARGE };
    kit_start_send(p.client, &buf, 0, &sending);
    assert_int_equal(start_disconnect(p.client, &end), STATUS_PENDING);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    assert_int_equal(kit_end(&sending, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_CANCELLED);
    do
        status = kit_receive_buf(p.server, (WSK_BUF){ part.mdl, 0, TAIL }, 0, &n);
    while (status == STATUS_SUCCESS && n);
    assert_int_equal(status, STATUS_CONNECTION_RESET);
    kit_memory_free(&m);
    kit_memory_free(&part);
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    kit_detach();
}

static NTSTATUS set_int(PWSK_SOCKET s, ULONG name, int value)
{
    return KIT_LISTEN(s)->WskControlSocket(s, WskSetOption, name, SOL_SOCKET, sizeof value, &value, 0, NULL, NULL,
                                           NULL);
}

/* The client's host has accepted all data, for which the server's host has no room. */
static struct kit_pair start_with_tail(void)
{
    struct kit_pair p;
    kit_address at;

    kit_attach();
    p.listener = kit_listener(AF_INET, NULL, NULL, &at);
    assert_int_equal(set_int(p.listener, SO_RCVBUF, 4096), STATUS_SUCCESS);
    p.client = kit_connect(&at, NULL, NULL);
    assert_int_equal(set_int(p.client, SO_SNDBUF, 2 * TAIL), STATUS_SUCCESS);
    p.server = kit_accept(p.listener, NULL, NULL);
    kit_send(p.client, TAIL, 0);
    return p;
}

static void disconnect_waits(PWSK_SOCKET s, struct kit_call *c)
{
    assert_int_equal(start_disconnect(s, c), STATUS_PENDING);
    assert_false(kit_is_over(c, 50));
}

static void receive_tail(PWSK_SOCKET s)
{
    struct kit_memory m;
    ULONG_PTR n = 99;

    kit_receive(s, TAIL, 0);
    kit_memory_one(&m, 1);
    assert_int_equal(kit_receive_buf(s, (WSK_BUF){ m.mdl, 0, 1 }, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    kit_memory_free(&m);
}

/* A close after the disconnect does not drop data that the host has accepted. */
static void test_closed(void **state)
{
    struct kit_pair p;
    struct kit_call end;

    (void)state;
    p = start_with_tail();
    assert_int_equal(start_disconnect(p.client, &end), STATUS_PENDING);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    assert_true(kit_is_over(&end, 0));
    IoFreeIrp(end.irp);
    receive_tail(p.server);
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    kit_detach();
}

static void wait_for_peer(bool peer_has_ended)
{
    struct kit_pair p;
    struct kit_call end;

    p = start_with_tail();
    if (peer_has_ended)
        assert_int_equal(kit_disconnect(p.server, 0), STATUS_SUCCESS);
    disconnect_waits(p.client, &end);
    receive_tail(p.server);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_SUCCESS);
    kit_stop(&p);
}

/* The disconnect completes when the peer's host has all data, not before the server reads. */
static void test_waits_for_peer(void **state)
{
    (void)state;
    wait_for_peer(false);
}

/* The same if the peer has disconnected before. */
static void test_waits_for_peer_that_has_ended(void **state)
{
    (void)state;
    wait_for_peer(true);
}

/* Both disconnect at the same time, and each has unread data of the other. */
static void test_both_wait(void **state)
{
    struct kit_pair p;
    struct kit_call ends[2];

    (void)state;
    p = start_with_tail();
    kit_send(p.server, 10, 5);
    assert_int_equal(start_disconnect(p.client, &ends[0]), STATUS_PENDING);
    assert_int_equal(start_disconnect(p.server, &ends[1]), STATUS_PENDING);
    assert_false(kit_is_over(&ends[0], 50));
    kit_receive(p.client, 10, 5);
    receive_tail(p.server);
    assert_int_equal(kit_end(&ends[0], STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_end(&ends[1], STATUS_PENDING, NULL), STATUS_SUCCESS);
    kit_stop(&p);
}

/* The disconnect was sent already: the peer gets it, and nothing can follow. */
static void test_cancelled_while_it_waits(void **state)
{
    struct kit_pair p;
    struct kit_call end;

    (void)state;
    p = start_with_tail();
    disconnect_waits(p.client, &end);
    (void)IoCancelIrp(end.irp);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_CONNECTION_DISCONNECTED);
    receive_tail(p.server);
    kit_stop(&p);
}

static void test_reset_while_it_waits(void **state)
{
    struct kit_pair p;
    struct kit_call end;

    (void)state;
    p = start_with_tail();
    disconnect_waits(p.client, &end);
    assert_int_equal(kit_disconnect(p.server, WSK_FLAG_ABORTIVE), STATUS_SUCCESS);
    assert_int_equal(kit_end(&end, STATUS_PENDING, NULL), STATUS_CONNECTION_RESET);
    kit_stop(&p);
}

struct both {
    struct kit_pair p;
    struct kit_call abort, end;
};

static NTSTATUS reset_and_disconnect(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct both *b = context;

    (void)device, (void)irp;
    (void)KIT_CONNECTION(b->p.server)->WskDisconnect(b->p.server, NULL, WSK_FLAG_ABORTIVE, b->abort.irp);
    (void)KIT_CONNECTION(b->p.client)->WskDisconnect(b->p.client, NULL, 0, b->end.irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* The reset has arrived, but was not reported yet, because the request is made on the sockets' thread. */
static void test_meets_reset(void **state)
{
    WSK_BUF none = { NULL, 0, 0 };
    struct both b;
    PIRP irp;

    (void)state;
    kit_attach();
    b.p = kit_pair_make(AF_INET, NULL, NULL);
    (void)kit_irp(&b.abort);
    (void)kit_irp(&b.end);
    irp = IoAllocateIrp(1, FALSE);
    assert_non_null(irp);
    IoSetCompletionRoutine(irp, reset_and_disconnect, &b, TRUE, TRUE, TRUE);
    assert_int_equal(KIT_CONNECTION(b.p.client)->WskSend(b.p.client, &none, 0, irp), STATUS_PENDING);
    assert_int_equal(kit_end(&b.abort, STATUS_PENDING, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_end(&b.end, STATUS_PENDING, NULL), STATUS_CONNECTION_RESET);
    assert_int_equal(kit_send_buf(b.p.client, none, 0, NULL), STATUS_CONNECTION_RESET);
    IoFreeIrp(irp);
    kit_pair_close(&b.p);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cut_stream_is_reset),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_waits_for_peer),
        cmocka_unit_test(test_waits_for_peer_that_has_ended),
        cmocka_unit_test(test_both_wait),
        cmocka_unit_test(test_cancelled_while_it_waits),
        cmocka_unit_test(test_reset_while_it_waits),
        cmocka_unit_test(test_meets_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
