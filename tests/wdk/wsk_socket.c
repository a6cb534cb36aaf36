/* SPDX-License-Identifier: MIT */
/* TCP over Winsock Kernel's sockets: connections, data, disconnects, and failures. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "wsk_kit.h"

/* ---- Connections and data ---- */

static void exchange(ADDRESS_FAMILY family)
{
    struct kit_pair p = kit_pair_make(family, NULL, NULL);

    kit_send(p.client, 1, 0);
    kit_receive(p.server, 1, 0);
    kit_send(p.server, 100000, 7);
    kit_receive(p.client, 100000, 7);
    kit_pair_close(&p);
}

static void test_exchange(void **state)
{
    struct report *r = report_start();

    (void)state;
    kit_attach();
    exchange(AF_INET);
    exchange(AF_INET6);
    kit_detach();
    report_is_empty(r);
}

/* WskSocket, WskBind, WskConnect, and the addresses at both ends. */
static void test_addresses(void **state)
{
    static const ADDRESS_FAMILY families[] = { AF_INET, AF_INET6 };

    (void)state;
    kit_attach();
    for (int i = 0; i < 2; i++) {
        const SIZE_T size = families[i] == AF_INET ? sizeof(SOCKADDR_IN) : sizeof(SOCKADDR_IN6);
        kit_address at, any = { .any = { families[i], { 0 } } }, local, remote, here, there;
        PWSK_SOCKET listener = kit_listener(families[i], NULL, NULL, &at);
        PWSK_SOCKET client = kit_socket(families[i], WSK_FLAG_CONNECTION_SOCKET, NULL, NULL), server;
        struct kit_call c, a;
        ULONG_PTR socket = 0;

        assert_int_equal(at.any.sa_family, families[i]);
        memset(&local, 0, sizeof local);
        memset(&remote, 0, sizeof remote);
        assert_int_equal(KIT_LISTEN(listener)->WskAccept(listener, 0, NULL, NULL, &local.any, &remote.any, kit_irp(&a)),
                         STATUS_PENDING);
        assert_int_equal(kit_connect_socket(client, &at), STATUS_INVALID_DEVICE_STATE);
        assert_int_equal(kit_bind(client, &any), STATUS_SUCCESS);
        assert_int_equal(kit_bind(client, &any), STATUS_INVALID_DEVICE_STATE);
        assert_int_equal(
            kit_end(&c, KIT_CONNECTION(client)->WskGetRemoteAddress(client, &there.any, kit_irp(&c)), NULL),
            STATUS_INVALID_DEVICE_STATE);
        assert_int_equal(kit_connect_socket(client, &at), STATUS_SUCCESS);
        assert_int_equal(kit_end(&a, STATUS_PENDING, &socket), STATUS_SUCCESS);
        server = (PWSK_SOCKET)socket;
        here = kit_local_by(client, KIT_CONNECTION(client)->WskGetLocalAddress);
        there = kit_local_by(client, KIT_CONNECTION(client)->WskGetRemoteAddress);
        assert_memory_equal(&local, &at, size);
        assert_memory_equal(&there, &at, size);
        assert_memory_equal(&remote, &here, size);
        here = kit_local_by(server, KIT_CONNECTION(server)->WskGetRemoteAddress);
        assert_memory_equal(&remote, &here, size);
        kit_pair_close(&(struct kit_pair){ listener, client, server });
    }
    kit_detach();
}

/* A stream socket, which can listen or connect. */
static void test_stream_sockets(void **state)
{
    kit_address at = kit_loopback(AF_INET, 0), any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET listener, client, server;
    struct kit_call c;
    ULONG_PTR socket = 0;

    (void)state;
    kit_attach();
    listener = kit_socket(AF_INET, WSK_FLAG_STREAM_SOCKET, NULL, NULL);
    client = kit_socket(AF_INET, WSK_FLAG_STREAM_SOCKET, NULL, NULL);
    assert_int_equal(kit_end(&c, KIT_STREAM(listener)->WskListen(listener, kit_irp(&c)), NULL),
                     STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(kit_bind(listener, &at), STATUS_SUCCESS);
    assert_int_equal(kit_end(&c, KIT_STREAM(listener)->WskListen(listener, kit_irp(&c)), NULL), STATUS_SUCCESS);
    at = kit_local_by(listener, KIT_STREAM(listener)->WskGetLocalAddress);
    assert_int_equal(kit_bind(client, &any), STATUS_SUCCESS);
    assert_int_equal(kit_end(&c, KIT_STREAM(client)->WskConnect(client, &at.any, 0, kit_irp(&c)), NULL),
                     STATUS_SUCCESS);
    assert_int_equal(kit_end(&c, KIT_STREAM(client)->WskListen(client, kit_irp(&c)), NULL),
                     STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(
        kit_end(&c, KIT_STREAM(listener)->WskAccept(listener, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), &socket),
        STATUS_SUCCESS);
    server = (PWSK_SOCKET)socket;
    kit_send(server, 1000, 1);
    {
        struct kit_memory m;
        WSK_BUF buf;
        ULONG_PTR got = 0;

        kit_memory_one(&m, 1000);
        buf = (WSK_BUF){ m.mdl, 0, 1000 };
        assert_int_equal(kit_end(&c, KIT_STREAM(client)->WskReceive(client, &buf, WSK_FLAG_WAITALL, kit_irp(&c)), &got),
                         STATUS_SUCCESS);
        assert_int_equal(got, 1000);
        kit_verify(&m, 0, 1000, 1);
        kit_memory_free(&m);
    }
    kit_stop(&(struct kit_pair){ listener, client, server });
}

/* Chains of odd sizes with an offset on both sides, with guards around the writable bytes. */
static void test_chains(void **state)
{
    static const SIZE_T from[] = { 13, 1, 4097, 3, 70001, 5, 0 }, to[] = { 7, 8191, 2, 60000, 20000, 31, 0 };
    enum { FROM_OFFSET = 11, TO_OFFSET = 5, SIZE = 70000 };
    struct kit_pair p;
    struct kit_memory out, in;
    struct kit_call c;
    ULONG_PTR n = 0;
    SIZE_T done = 0;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_make(&out, from);
    kit_memory_make(&in, to);
    kit_fill(&out, FROM_OFFSET, SIZE, 99);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ out.mdl, FROM_OFFSET, SIZE }, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, SIZE);
    assert_int_equal(kit_receive_buf(p.server, (WSK_BUF){ in.mdl, TO_OFFSET, SIZE }, WSK_FLAG_WAITALL, &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, SIZE);
    kit_verify(&in, TO_OFFSET, SIZE, 99);
    for (SIZE_T i = 0; i < in.total; i++)
        if (i < TO_OFFSET || i >= TO_OFFSET + SIZE)
            assert_int_equal(*kit_octet(&in, i), 0xee);
    /* In two parts; the first one ends in the middle of a piece. */
    buf = (WSK_BUF){ in.mdl, TO_OFFSET, SIZE };
    kit_start_receive(p.server, &buf, WSK_FLAG_WAITALL, &c);
    kit_send(p.client, 5000, 0);
    assert_int_equal(kit_send_buf(p.server, (WSK_BUF){ NULL, 0, 0 }, 0, NULL), STATUS_SUCCESS);
    assert_int_equal(kit_send_buf(p.server, (WSK_BUF){ NULL, 0, 0 }, 0, NULL), STATUS_SUCCESS);
    kit_send(p.client, SIZE - 5000, 5000);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_SUCCESS);
    kit_verify(&in, TO_OFFSET, SIZE, 0);
    /* Without WAITALL a receive returns at least one byte, from the first one. */
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ out.mdl, FROM_OFFSET, SIZE }, WSK_FLAG_NODELAY, &n),
                     STATUS_SUCCESS);
    while (done < SIZE) {
        assert_int_equal(kit_receive_buf(p.server, (WSK_BUF){ in.mdl, TO_OFFSET, SIZE - done }, 0, &n), STATUS_SUCCESS);
        assert_true(n > 0 && n <= SIZE - done);
        kit_verify(&in, TO_OFFSET, n, 99 + done);
        done += n;
    }
    kit_memory_free(&out);
    kit_memory_free(&in);
    kit_stop(&p);
}

static void test_bad_buffers(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    ULONG_PTR n = 0;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_one(&m, 100);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ m.mdl, 0, 101 }, 0, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ m.mdl, 1, 100 }, 0, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ m.mdl, 101, 1 }, 0, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ m.mdl, 16, (SIZE_T)0 - 16 }, 0, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ NULL, 0, 1 }, 0, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ m.mdl, 0, 1 }, 0x100, &n), STATUS_NOT_SUPPORTED);
    assert_int_equal(kit_send_buf(p.client, (WSK_BUF){ NULL, 0, 0 }, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    assert_int_equal(kit_receive_buf(p.client, (WSK_BUF){ NULL, 0, 0 }, 0, &n), STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.client, (WSK_BUF){ m.mdl, 0, 1 }, WSK_FLAG_DRAIN, &n), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_receive_buf(p.client, (WSK_BUF){ NULL, 0, 0 }, WSK_FLAG_DRAIN | WSK_FLAG_WAITALL, &n),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(KIT_CONNECTION(p.client)->WskSend(p.client, &(WSK_BUF){ NULL, 0, 0 }, 0, NULL),
                     STATUS_INVALID_PARAMETER);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* Without WAITALL a receive returns the available bytes; with it, it waits for the rest. */
static void test_wait_all(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR n = 0;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 3000);
    kit_send(p.client, 1000, 0);
    assert_int_equal(kit_receive_buf(p.server, buf, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 1000);
    kit_start_receive(p.server, &buf, WSK_FLAG_WAITALL, &c);
    kit_send(p.client, 1000, 0);
    assert_false(kit_is_over(&c, 30));
    kit_send(p.client, 2500, 1000);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 3000);
    kit_verify(&m, 0, 3000, 0);
    kit_receive(p.server, 500, 3000);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* More data than the host accepts at once: the send waits for the receiver, and the next send waits for it. */
static void test_large_sends_in_order(void **state)
{
    enum { SIZE = 24 << 20, PIECE = 1 << 20 };
    struct kit_pair p;
    struct kit_memory m, second;
    struct kit_call first, next;
    WSK_BUF buf, other;
    ULONG_PTR n = 0;

    (void)state;
    p = kit_start(AF_INET6, NULL, NULL);
    kit_memory_one(&m, SIZE);
    kit_memory_one(&second, PIECE);
    kit_fill(&m, 0, SIZE, 0);
    kit_fill(&second, 0, PIECE, SIZE);
    buf = (WSK_BUF){ m.mdl, 0, SIZE };
    other = (WSK_BUF){ second.mdl, 0, PIECE };
    kit_start_send(p.client, &buf, 0, &first);
    kit_start_send(p.client, &other, 0, &next);
    assert_false(kit_is_over(&next, 30));
    for (SIZE_T at = 0; at < SIZE + PIECE; at += PIECE)
        kit_receive(p.server, PIECE, at);
    assert_int_equal(kit_end(&first, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, SIZE);
    assert_int_equal(kit_end(&next, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, PIECE);
    kit_memory_free(&m);
    kit_memory_free(&second);
    kit_stop(&p);
}

/* ---- The end of a connection ---- */

/* The data of the disconnect arrives, then the end; the other direction remains open. */
static void test_graceful_disconnect(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR n = 99;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    kit_memory_one(&m, 500);
    kit_fill(&m, 0, 500, 1000);
    buf = (WSK_BUF){ m.mdl, 0, 500 };
    kit_send(p.client, 1000, 0);
    assert_int_equal(kit_end(&c, KIT_CONNECTION(p.client)->WskDisconnect(p.client, &buf, 0, kit_irp(&c)), NULL),
                     STATUS_SUCCESS);
    assert_int_equal(kit_send_buf(p.client, buf, 0, NULL), STATUS_CONNECTION_DISCONNECTED);
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_CONNECTION_DISCONNECTED);
    kit_receive(p.server, 1500, 0);
    assert_int_equal(kit_receive_buf(p.server, buf, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    assert_int_equal(kit_receive_buf(p.server, buf, WSK_FLAG_WAITALL, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    kit_send(p.server, 2000, 5);
    kit_receive(p.client, 2000, 5);
    assert_int_equal(kit_disconnect(p.server, 0), STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.client, buf, 0, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    kit_memory_free(&m);
    kit_stop(&p);
}

/*
 * The peer's disconnect completes a receive with WAITALL with the available bytes, and a drain, which drops the data.
 */
static void test_end_completes_receives(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call all, drain;
    ULONG_PTR n = 99;
    WSK_BUF buf, none = { NULL, 0, 0 };

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, 500);
    kit_start_receive(p.server, &buf, WSK_FLAG_WAITALL, &all);
    kit_start_receive(p.client, &none, WSK_FLAG_DRAIN, &drain);
    kit_send(p.client, 300, 3);
    kit_send(p.server, 200000, 3);
    assert_false(kit_is_over(&all, 20));
    assert_false(kit_is_over(&drain, 20));
    assert_int_equal(kit_disconnect(p.client, 0), STATUS_SUCCESS);
    assert_int_equal(kit_end(&all, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 300);
    kit_verify(&m, 0, 300, 3);
    assert_int_equal(kit_disconnect(p.server, 0), STATUS_SUCCESS);
    assert_int_equal(kit_end(&drain, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 0);
    kit_memory_free(&m);
    kit_stop(&p);
}

static void reset(bool by_close)
{
    struct kit_pair p = kit_pair_make(AF_INET, NULL, NULL);
    struct kit_memory m;
    struct kit_call c;
    WSK_BUF buf;

    buf = kit_buffer(&m, 500);
    kit_start_receive(p.server, &buf, 0, &c);
    if (by_close) {
        assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    } else {
        assert_int_equal(kit_disconnect(p.client, WSK_FLAG_ABORTIVE), STATUS_SUCCESS);
        assert_int_equal(kit_send_buf(p.client, buf, 0, NULL), STATUS_CONNECTION_ABORTED);
        assert_int_equal(kit_receive_buf(p.client, buf, 0, NULL), STATUS_CONNECTION_ABORTED);
        assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    }
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_CONNECTION_RESET);
    assert_int_equal(kit_send_buf(p.server, buf, 0, NULL), STATUS_CONNECTION_RESET);
    assert_int_equal(kit_receive_buf(p.server, buf, 0, NULL), STATUS_CONNECTION_RESET);
    kit_memory_free(&m);
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
}

/* A socket that is closed without a disconnect resets its connection, as an abortive disconnect does. */
static void test_reset(void **state)
{
    (void)state;
    kit_attach();
    reset(false);
    reset(true);
    kit_detach();
}

/* An abortive disconnect cancels pending requests of its own side, too. */
static void test_abort_ends_what_is_pending(void **state)
{
    enum { SIZE = 24 << 20 };
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call sending, graceful, receiving;
    WSK_BUF buf;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    buf = kit_buffer(&m, SIZE);
    kit_start_receive(p.client, &buf, 0, &receiving);
    kit_start_send(p.client, &buf, 0, &sending);
    assert_int_equal(KIT_CONNECTION(p.client)->WskDisconnect(p.client, NULL, 0, kit_irp(&graceful)), STATUS_PENDING);
    assert_false(kit_is_over(&graceful, 20));
    assert_int_equal(kit_disconnect(p.client, WSK_FLAG_ABORTIVE), STATUS_SUCCESS);
    assert_int_equal(kit_end(&sending, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_end(&graceful, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_end(&receiving, STATUS_PENDING, NULL), STATUS_CANCELLED);
    kit_memory_free(&m);
    kit_stop(&p);
}

/* ---- What goes wrong ---- */

static void test_refused(void **state)
{
    kit_address at, any = { .any = { AF_INET, { 0 } } }, local, again;
    struct kit_call c;
    PWSK_SOCKET s, listener;
    ULONG_PTR socket = 99;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    assert_int_equal(kit_end(&c, kit_start_connect(&c, &at, NULL, NULL), &socket), STATUS_CONNECTION_REFUSED);
    assert_int_equal(socket, 0);
    /* The socket of WskConnect remains bound, and can connect again. */
    s = kit_socket(AF_INET, WSK_FLAG_CONNECTION_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(s, &any), STATUS_SUCCESS);
    local = kit_local_by(s, KIT_CONNECTION(s)->WskGetLocalAddress);
    assert_int_not_equal(local.v4.sin_port, 0);
    assert_int_equal(kit_connect_socket(s, &at), STATUS_CONNECTION_REFUSED);
    listener = kit_socket(AF_INET, WSK_FLAG_LISTEN_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(listener, &at), STATUS_SUCCESS);
    assert_int_equal(kit_connect_socket(s, &at), STATUS_SUCCESS);
    again = kit_local_by(s, KIT_CONNECTION(s)->WskGetLocalAddress);
    assert_int_equal(again.v4.sin_port, local.v4.sin_port);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* An unreachable network: the test has only the route of its loopback interface. */
static void test_unreachable(void **state)
{
    kit_address to = { .v4 = { AF_INET, 0x1234, { { { 203, 0, 113, 7 } } }, { 0 } } };
    struct kit_call c;
    NTSTATUS status;

    (void)state;
    kit_attach();
    status = kit_end(&c, kit_start_connect(&c, &to, NULL, NULL), NULL);
    assert_int_equal(status, STATUS_NETWORK_UNREACHABLE);
    kit_detach();
}

static void test_addresses_in_use(void **state)
{
    kit_address at, elsewhere = { .v4 = { AF_INET, 0, { { { 203, 0, 113, 7 } } }, { 0 } } };
    PWSK_SOCKET listener, s;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    s = kit_socket(AF_INET, WSK_FLAG_LISTEN_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(s, &at), STATUS_ADDRESS_ALREADY_EXISTS);
    assert_int_equal(kit_bind(s, &elsewhere), STATUS_INVALID_ADDRESS_COMPONENT);
    at.any.sa_family = AF_INET6;
    assert_int_equal(kit_bind(s, &at), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* Connections that are not accepted wait in the backlog. One more than the limit waits until there is room. */
static void test_full_backlog(void **state)
{
    enum { MOST = 300 };
    static struct kit_call calls[MOST];
    static PWSK_SOCKET sockets[MOST];
    kit_address at;
    PWSK_SOCKET listener;
    int made, accepted = 0;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    made = kit_fill_backlog(calls, MOST, listener, &at);
    for (; accepted < made; accepted++) {
        PWSK_SOCKET s = kit_accept(listener, NULL, NULL);

        assert_int_equal(kit_close(s), STATUS_SUCCESS);
    }
    for (int i = 0; i <= made; i++) {
        ULONG_PTR socket = 0;

        assert_int_equal(kit_end(&calls[i], STATUS_PENDING, &socket), STATUS_SUCCESS);
        sockets[i] = (PWSK_SOCKET)socket;
        assert_int_equal(kit_close(sockets[i]), STATUS_SUCCESS);
    }
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* Without a free descriptor calls fail with a documented status, and succeed when there is one again. */
static void test_no_descriptors(void **state)
{
    enum { MOST = 256 };
    PWSK_SOCKET sockets[MOST], listener, client;
    struct rlimit before, few;
    struct kit_call c;
    kit_address at;
    ULONG_PTR socket = 0;
    NTSTATUS status = STATUS_SUCCESS;
    int n = 0;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    client = kit_connect(&at, NULL, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 64;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < MOST) {
        status = kit_end(&c,
                         kit_npi.Dispatch->WskSocket(kit_npi.Client, AF_INET, SOCK_STREAM, IPPROTO_TCP,
                                                     WSK_FLAG_CONNECTION_SOCKET, NULL, NULL, NULL, NULL, NULL,
                                                     kit_irp(&c)),
                         &socket);
        if (!NT_SUCCESS(status))
            break;
        sockets[n++] = (PWSK_SOCKET)socket;
    }
    assert_int_equal(status, STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(
        kit_end(&c, KIT_LISTEN(listener)->WskAccept(listener, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), NULL),
        STATUS_INSUFFICIENT_RESOURCES);
    while (n > 0)
        assert_int_equal(kit_close(sockets[--n]), STATUS_SUCCESS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    sockets[0] = kit_accept(listener, NULL, NULL);
    kit_send(client, 10, 0);
    kit_receive(sockets[0], 10, 0);
    assert_int_equal(kit_close(sockets[0]), STATUS_SUCCESS);
    assert_int_equal(kit_close(client), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* ---- Mapped addresses ---- */

/* A mapped address: the driver connects and binds to it, and sees no other. */
static void test_mapped_addresses(void **state)
{
    kit_address wired = { .v4 = { AF_INET, 0, { { { 10, 77, 0, 1 } } }, { 0 } } }, told;
    PWSK_SOCKET listener, client, server;

    (void)state;
    assert_true(ondk_wdk_map_address("10.77.0.1", "127.0.0.77"));
    kit_attach();
    listener = kit_socket(AF_INET, WSK_FLAG_LISTEN_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(listener, &wired), STATUS_SUCCESS);
    told = kit_local_by(listener, KIT_LISTEN(listener)->WskGetLocalAddress);
    assert_memory_equal(&told.v4.sin_addr, &wired.v4.sin_addr, 4);
    wired.v4.sin_port = told.v4.sin_port;
    client = kit_connect(&wired, NULL, NULL);
    server = kit_accept(listener, NULL, NULL);
    told = kit_local_by(client, KIT_CONNECTION(client)->WskGetRemoteAddress);
    assert_memory_equal(&told, &wired, sizeof(SOCKADDR_IN));
    kit_stop(&(struct kit_pair){ listener, client, server });
}

/* ---- Sockets that there are not ---- */

static void test_bad_sockets(void **state)
{
    static const struct {
        ADDRESS_FAMILY family;
        USHORT type;
        ULONG protocol, category;
    } rows[] = {
        { AF_UNIX, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_CONNECTION_SOCKET },
        { AF_INET, SOCK_DGRAM, IPPROTO_UDP, WSK_FLAG_CONNECTION_SOCKET },
        { AF_INET, SOCK_STREAM, IPPROTO_UDP, WSK_FLAG_CONNECTION_SOCKET },
        { AF_INET, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_DATAGRAM_SOCKET },
        { AF_INET, SOCK_RAW, IPPROTO_ICMP, WSK_FLAG_DATAGRAM_SOCKET },
        { AF_INET, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_LISTEN_SOCKET | WSK_FLAG_CONNECTION_SOCKET },
    };
    struct kit_call c;
    PWSK_SOCKET s;

    (void)state;
    kit_attach();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            kit_end(&c,
                    kit_npi.Dispatch->WskSocket(kit_npi.Client, rows[i].family, rows[i].type, rows[i].protocol,
                                                rows[i].category, NULL, NULL, NULL, NULL, NULL, kit_irp(&c)),
                    NULL),
            STATUS_INVALID_PARAMETER);
    s = kit_socket(AF_INET, WSK_FLAG_BASIC_SOCKET, NULL, NULL);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_stream_sockets),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_bad_buffers),
        cmocka_unit_test(test_wait_all),
        cmocka_unit_test(test_large_sends_in_order),
        cmocka_unit_test(test_graceful_disconnect),
        cmocka_unit_test(test_end_completes_receives),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_abort_ends_what_is_pending),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_addresses_in_use),
        cmocka_unit_test(test_full_backlog),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_mapped_addresses),
        cmocka_unit_test(test_bad_sockets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
