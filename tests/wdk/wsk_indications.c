/* SPDX-License-Identifier: MIT */
/*
 * The indications of Winsock Kernel's sockets: complete despite urgent data, and counted correctly although the driver
 * writes into them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"
#include "wsk_peer.h"

struct record {
    atomic_size_t bytes; /* all in the pattern's order */
    atomic_int wrong;
    atomic_int status; /* of the next events */
    _Atomic(PVOID) kept[16];
    atomic_int kept_count;
};

static void until(const atomic_size_t *bytes, SIZE_T wanted)
{
    KIT_UNTIL(atomic_load(bytes) >= wanted);
    assert_int_equal(atomic_load(bytes), wanted);
}

/* Checks the bytes of the pattern from `at`. */
static void check_pattern(struct record *s, const WSK_BUF *buffer, SIZE_T at)
{
    const UCHAR *data = (const UCHAR *)MmGetSystemAddressForMdlSafe(buffer->Mdl, NormalPagePriority) + buffer->Offset;

    for (SIZE_T i = 0; i < buffer->Length; i++)
        if (data[i] != kit_pattern(at + i))
            atomic_fetch_add(&s->wrong, 1);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* The driver may write to kept data. */
static NTSTATUS WSKAPI on_receive(PVOID context, ULONG flags, PWSK_DATA_INDICATION list, SIZE_T bytes, SIZE_T *accepted)
{
    struct record *s = context;
    NTSTATUS status = atomic_load(&s->status);
    SIZE_T before = atomic_load(&s->bytes), at = before;

    (void)flags, (void)accepted;
    if (status == STATUS_PENDING)
        atomic_store(&s->kept[atomic_fetch_add(&s->kept_count, 1) % 16], list);
    for (PWSK_DATA_INDICATION d = list, next; d; d = next) {
        check_pattern(s, &d->Buffer, at);
        at += d->Buffer.Length;
        next = d->Next;
        d->Buffer.Length = 1;
        d->Next = NULL;
    }
    if (at - before != bytes)
        atomic_fetch_add(&s->wrong, 1);
    atomic_store(&s->bytes, at); /* now it may be released */
    return status;
}

static const WSK_CLIENT_CONNECTION_DISPATCH on_connection = { on_receive, NULL, NULL };

/* The urgent byte is delivered in order like any other. */
static void test_urgent(void **state)
{
    enum { BEFORE = 40000, AFTER = 100 };
    static struct record record;
    PWSK_SOCKET listener, server;
    UCHAR data[BEFORE + AFTER];
    struct kit_call c;
    kit_address at;
    int peer;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    peer = peer_connect(at.v4.sin_port);
    assert_true(peer >= 0);
    server = kit_accept(listener, &record, &on_connection);
    for (SIZE_T i = 0; i < sizeof data; i++)
        data[i] = kit_pattern(i);
    assert_true(peer_send(peer, data, 1, true));
    assert_true(peer_send(peer, data + 1, BEFORE - 1, true));
    assert_true(peer_send(peer, data + BEFORE, AFTER, false));
    assert_int_equal(kit_events(server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    until(&record.bytes, BEFORE + AFTER);
    assert_int_equal(atomic_load(&record.wrong), 0);
    assert_int_equal(kit_end(&c, kit_events(server, WSK_EVENT_RECEIVE | WSK_EVENT_DISABLE, kit_irp(&c)), NULL),
                     STATUS_SUCCESS);
    assert_true(peer_send(peer, data, AFTER, true));
    assert_true(peer_send(peer, data + AFTER, AFTER, false));
    kit_receive(server, 2 * AFTER, 0);
    peer_close(peer);
    assert_int_equal(kit_close(server), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

/* Releasing the list releases all of it, so the close succeeds. */
static void test_written_to(void **state)
{
    static struct record record;
    struct report *r = report_start();
    struct kit_pair p;

    (void)state;
    p = kit_start(AF_INET, &record, &on_connection);
    atomic_store(&record.status, STATUS_PENDING);
    kit_send(p.client, 40000, 0);
    assert_int_equal(kit_events(p.server, WSK_EVENT_RECEIVE, NULL), STATUS_SUCCESS);
    until(&record.bytes, 40000);
    assert_int_equal(atomic_load(&record.wrong), 0);
    for (int i = 0; i < atomic_load(&record.kept_count); i++)
        assert_int_equal(KIT_CONNECTION(p.server)->WskRelease(p.server, atomic_load(&record.kept[i])), STATUS_SUCCESS);
    kit_stop(&p);
    report_is_empty(r);
}

/* ---- Datagrams --------------------------------------------------------------------------------------------------- */

static NTSTATUS WSKAPI on_receive_from(PVOID context, ULONG flags, PWSK_DATAGRAM_INDICATION list)
{
    struct record *s = context;
    NTSTATUS status = atomic_load(&s->status);
    SIZE_T at = atomic_load(&s->bytes);

    (void)flags;
    if (status == STATUS_PENDING)
        atomic_store(&s->kept[atomic_fetch_add(&s->kept_count, 1) % 16], list);
    for (PWSK_DATAGRAM_INDICATION d = list, next; d; d = next) {
        check_pattern(s, &d->Buffer, at);
        at += d->Buffer.Length;
        next = d->Next;
        d->Buffer.Length = 1 << 20;
        d->Buffer.Offset = 0;
        d->Next = NULL;
    }
    atomic_store(&s->bytes, at);
    return status;
}

static void receive_datagram(PWSK_SOCKET s, SIZE_T from)
{
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR n = 0;
    WSK_BUF buf;

    buf = kit_buffer(&m, 1000);
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(s)->WskReceiveFrom(s, &buf, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, 100);
    kit_verify(&m, 0, 100, from);
    kit_memory_free(&m);
}

/* Refused data is indicated again unchanged, in both ways; kept data is completely released. */
static void test_datagrams_written_to(void **state)
{
    static const WSK_CLIENT_DATAGRAM_DISPATCH dispatch = { on_receive_from };
    static struct record record;
    struct report *r = report_start();
    kit_address at = kit_loopback(AF_INET, 0);
    struct kit_call c;
    PWSK_SOCKET s;

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, &record, &dispatch);
    assert_int_equal(kit_bind(s, &at), STATUS_SUCCESS);
    at = kit_local_by(s, KIT_DATAGRAM(s)->WskGetLocalAddress);
    kit_send_datagrams(&at, 3, 0);
    atomic_store(&record.status, STATUS_DATA_NOT_ACCEPTED);
    assert_int_equal(kit_events(s, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
    until(&record.bytes, 300);
    assert_int_equal(kit_end(&c, kit_events(s, WSK_EVENT_RECEIVE_FROM | WSK_EVENT_DISABLE, kit_irp(&c)), NULL),
                     STATUS_SUCCESS);
    receive_datagram(s, 0);
    atomic_store(&record.bytes, 100);
    atomic_store(&record.status, STATUS_PENDING);
    assert_int_equal(kit_events(s, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
    until(&record.bytes, 300);
    assert_int_equal(atomic_load(&record.wrong), 0);
    for (int i = 0; i < atomic_load(&record.kept_count); i++)
        assert_int_equal(KIT_DATAGRAM(s)->WskRelease(s, atomic_load(&record.kept[i])), STATUS_SUCCESS);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_detach();
    report_is_empty(r);
}

/* ---- Too early --------------------------------------------------------------------------------------------------- */

static void enable_for_all(ULONG events)
{
    WSK_EVENT_CALLBACK_CONTROL control = { &NPI_WSK_INTERFACE_ID, events };

    assert_int_equal(kit_npi.Dispatch->WskControlClient(kit_npi.Client, WSK_SET_STATIC_EVENT_CALLBACKS, sizeof control,
                                                        &control, 0, NULL, NULL, NULL),
                     STATUS_SUCCESS);
}

/*
 * IoCancelIrp in two steps. Between them the cancelled accept succeeds, but cannot complete yet. The driver does not
 * have the socket before the completion, so nothing is indicated.
 */
static void test_before_the_socket(void **state)
{
    static struct record record;
    PWSK_SOCKET listener;
    UCHAR data[100];
    struct kit_call c;
    ULONG_PTR socket = 0;
    PDRIVER_CANCEL routine;
    kit_address at;
    int peer;

    (void)state;
    kit_attach();
    enable_for_all(WSK_EVENT_RECEIVE);
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    assert_int_equal(KIT_LISTEN(listener)->WskAccept(listener, 0, &record, &on_connection, NULL, NULL, kit_irp(&c)),
                     STATUS_PENDING);
    assert_int_equal(kit_close(kit_socket(AF_INET, WSK_FLAG_BASIC_SOCKET, NULL, NULL)), STATUS_SUCCESS);
    routine = IoSetCancelRoutine(c.irp, NULL); /* executed now, because the close follows it */
    assert_non_null(routine);
    peer = peer_connect(at.v4.sin_port);
    assert_true(peer >= 0);
    for (SIZE_T i = 0; i < sizeof data; i++)
        data[i] = kit_pattern(i);
    assert_true(peer_send(peer, data, sizeof data, false));
    kit_wait_host_events();
    assert_int_equal(atomic_load(&c.completions), 0);
    assert_int_equal(atomic_load(&record.bytes), 0);
    IoAcquireCancelSpinLock(&c.irp->CancelIrql);
    routine(NULL, c.irp);
    assert_int_equal(kit_end(&c, STATUS_PENDING, &socket), STATUS_SUCCESS);
    until(&record.bytes, sizeof data);
    assert_int_equal(atomic_load(&record.wrong), 0);
    peer_close(peer);
    assert_int_equal(kit_close((PWSK_SOCKET)socket), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urgent),
        cmocka_unit_test(test_written_to),
        cmocka_unit_test(test_datagrams_written_to),
        cmocka_unit_test(test_before_the_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
