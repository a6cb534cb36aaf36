/* SPDX-License-Identifier: MIT */
/*
 * Many threads with Winsock Kernel's sockets: an echo service that uses only events, and clients that connect, send,
 * are cancelled, aborted and closed at any time. Every IRP completes once, every echoed byte is correct, and nothing
 * leaks.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

enum { THREADS = 4, ROUNDS = 60, LARGEST = 40000 };

/* ---- The service ---- */

struct peer {
    PWSK_SOCKET socket;
    atomic_int uses; /* echoes in flight, plus 1 until the disconnect */
    PIRP closing;
};

struct echo {
    struct peer *peer;
    PWSK_DATA_INDICATION list; /* to be released after its last buffer was sent */
};

static atomic_int peers;

static NTSTATUS closed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    (void)device;
    IoFreeIrp(irp);
    ExFreePoolWithTag(context, 'reep');
    atomic_fetch_sub(&peers, 1);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static void put(struct peer *p)
{
    if (atomic_fetch_sub(&p->uses, 1) != 1)
        return;
    IoSetCompletionRoutine(p->closing, closed, p, TRUE, TRUE, TRUE);
    (void)KIT_CONNECTION(p->socket)->WskCloseSocket(p->socket, p->closing);
}

static NTSTATUS echoed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct echo *e = context;

    (void)device;
    if (e->list)
        (void)KIT_CONNECTION(e->peer->socket)->WskRelease(e->peer->socket, e->list);
    IoFreeIrp(irp);
    put(e->peer);
    ExFreePoolWithTag(e, 'ohce');
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Sends each buffer back; the last one releases the list. */
static NTSTATUS WSKAPI on_receive(PVOID context, ULONG flags, PWSK_DATA_INDICATION list, SIZE_T bytes, SIZE_T *accepted)
{
    struct peer *p = context;

    (void)flags, (void)bytes, (void)accepted;
    for (PWSK_DATA_INDICATION d = list, next; d; d = next) {
        struct echo *e = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *e, 'ohce');
        PIRP irp = IoAllocateIrp(1, FALSE);

        next = d->Next;
        *e = (struct echo){ p, next ? NULL : list };
        atomic_fetch_add(&p->uses, 1);
        IoSetCompletionRoutine(irp, echoed, e, TRUE, TRUE, TRUE);
        (void)KIT_CONNECTION(p->socket)->WskSend(p->socket, &d->Buffer, 0, irp);
    }
    return STATUS_PENDING;
}

static NTSTATUS WSKAPI on_disconnect(PVOID context, ULONG flags)
{
    (void)flags;
    put(context);
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_CONNECTION_DISPATCH on_connection = { on_receive, on_disconnect, NULL };

static NTSTATUS WSKAPI on_accept(PVOID context, ULONG flags, PSOCKADDR local, PSOCKADDR remote, PWSK_SOCKET socket,
                                 PVOID *socket_context, const WSK_CLIENT_CONNECTION_DISPATCH **socket_dispatch)
{
    struct peer *p = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *p, 'reep');

    (void)context, (void)flags, (void)local, (void)remote;
    p->socket = socket;
    p->closing = IoAllocateIrp(1, FALSE);
    atomic_init(&p->uses, 1);
    atomic_fetch_add(&peers, 1);
    *socket_context = p;
    *socket_dispatch = &on_connection;
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_LISTEN_DISPATCH on_listen = { on_accept, NULL, NULL };

/* ---- Clients ----------------------------------------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    kit_address at;
    unsigned seed;
    int wrong, echoed;
};

static unsigned any(struct client *c, unsigned most)
{
    c->seed = c->seed * 1103515245u + 12345u;
    return (c->seed >> 8) % most;
}

/* cmocka's assertions work only in the main thread. */
static NTSTATUS wait_for(struct kit_call *c, ULONG_PTR *information)
{
    NTSTATUS status;

    (void)KeWaitForSingleObject(&c->over, Executive, KernelMode, FALSE, NULL);
    status = c->irp->IoStatus.Status;
    *information = c->irp->IoStatus.Information;
    IoFreeIrp(c->irp);
    return status;
}

static void talk(struct client *c, PWSK_SOCKET s, struct kit_memory *out, struct kit_memory *in)
{
    SIZE_T size = 1 + any(c, LARGEST), from = any(c, 256);
    unsigned fate = any(c, 8);
    WSK_BUF send = { out->mdl, 0, size }, receive = { in->mdl, 0, size };
    struct kit_call sending, receiving;
    ULONG_PTR sent = 0, got = 0;
    NTSTATUS status;

    kit_fill(out, 0, size, from);
    (void)KIT_CONNECTION(s)->WskReceive(s, &receive, WSK_FLAG_WAITALL, kit_irp(&receiving));
    (void)KIT_CONNECTION(s)->WskSend(s, &send, any(c, 2) ? WSK_FLAG_NODELAY : 0, kit_irp(&sending));
    if (fate == 0) {
        (void)IoCancelIrp(receiving.irp);
    } else if (fate == 1) {
        struct kit_call aborting;
        ULONG_PTR none;

        (void)KIT_CONNECTION(s)->WskDisconnect(s, NULL, WSK_FLAG_ABORTIVE, kit_irp(&aborting));
        (void)wait_for(&aborting, &none);
    }
    (void)wait_for(&sending, &sent);
    status = wait_for(&receiving, &got);
    if (status == STATUS_SUCCESS) {
        c->echoed++;
        for (SIZE_T i = 0; i < got; i++)
            c->wrong += *kit_octet(in, i) != kit_pattern(from + i);
        c->wrong += got != size;
    } else {
        c->wrong += fate > 1;
    }
}

static void *client(void *argument)
{
    struct client *c = argument;
    struct kit_memory out, in;
    static const SIZE_T sizes[] = { 1000, 17, 30000, LARGEST, 0 };

    kit_memory_make(&out, sizes);
    kit_memory_make(&in, sizes);
    for (int round = 0; round < ROUNDS; round++) {
        struct kit_call call;
        ULONG_PTR socket = 0, none;
        NTSTATUS status;
        PWSK_SOCKET s;

        (void)kit_start_connect(&call, &c->at, NULL, NULL);
        status = wait_for(&call, &socket);
        c->wrong += status != STATUS_SUCCESS;
        if (status != STATUS_SUCCESS)
            continue;
        s = (PWSK_SOCKET)socket;
        talk(c, s, &out, &in);
        if (any(c, 2)) {
            (void)KIT_CONNECTION(s)->WskDisconnect(s, NULL, 0, kit_irp(&call));
            (void)wait_for(&call, &none);
        }
        (void)KIT_CONNECTION(s)->WskCloseSocket(s, kit_irp(&call));
        c->wrong += wait_for(&call, &none) != STATUS_SUCCESS;
    }
    kit_memory_free(&out);
    kit_memory_free(&in);
    return NULL;
}

static void test_echo(void **state)
{
    static struct client clients[THREADS];
    struct report *r = report_start();
    PWSK_SOCKET listener;
    kit_address at;
    int echoed_all = 0;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, &on_listen, &at);
    assert_int_equal(kit_events(listener, WSK_EVENT_ACCEPT | WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT, NULL),
                     STATUS_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (struct client){ .at = at, .seed = (unsigned)i + 1 };
        assert_int_equal(pthread_create(&clients[i].thread, NULL, client, &clients[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].wrong, 0);
        echoed_all += clients[i].echoed;
    }
    assert_true(echoed_all > THREADS * ROUNDS / 2);
    while (atomic_load(&peers))
        sched_yield();
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
    report_is_empty(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
