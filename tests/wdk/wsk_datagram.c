/* SPDX-License-Identifier: MIT */
/* UDP over Winsock Kernel's sockets: datagrams, their addresses, events. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

static PWSK_SOCKET bound(ADDRESS_FAMILY family, PVOID context, const WSK_CLIENT_DATAGRAM_DISPATCH *dispatch,
                         kit_address *at)
{
    PWSK_SOCKET s = kit_socket(family, WSK_FLAG_DATAGRAM_SOCKET, context, dispatch);

    *at = kit_loopback(family, 0);
    assert_int_equal(kit_bind(s, at), STATUS_SUCCESS);
    *at = kit_local_by(s, KIT_DATAGRAM(s)->WskGetLocalAddress);
    return s;
}

static NTSTATUS send_to(PWSK_SOCKET s, SIZE_T size, SIZE_T from, const kit_address *to)
{
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR sent = 0;
    NTSTATUS status;
    WSK_BUF buf;

    kit_memory_one(&m, size ? size : 1);
    kit_fill(&m, 0, size, from);
    buf = (WSK_BUF){ m.mdl, 0, size };
    status = kit_end(&c, KIT_DATAGRAM(s)->WskSendTo(s, &buf, 0, to ? (PSOCKADDR)&to->any : NULL, 0, NULL, kit_irp(&c)),
                     &sent);
    if (NT_SUCCESS(status))
        assert_int_equal(sent, size);
    kit_memory_free(&m);
    return status;
}

/* Receives a datagram. Returns its length and the sender's address. */
static SIZE_T receive_from(PWSK_SOCKET s, SIZE_T room, SIZE_T from, kit_address *sender, NTSTATUS expected,
                           ULONG *flags)
{
    struct kit_memory m;
    struct kit_call c;
    ULONG_PTR got = 0;
    ULONG control = 0;
    WSK_BUF buf;

    buf = kit_buffer(&m, room);
    memset(sender, 0, sizeof *sender);
    assert_int_equal(
        kit_end(&c, KIT_DATAGRAM(s)->WskReceiveFrom(s, &buf, 0, &sender->any, &control, NULL, flags, kit_irp(&c)),
                &got),
        expected);
    kit_verify(&m, 0, got, from);
    kit_memory_free(&m);
    return got;
}

static void test_exchange(void **state)
{
    static const ADDRESS_FAMILY families[] = { AF_INET, AF_INET6 };

    (void)state;
    kit_attach();
    for (int i = 0; i < 2; i++) {
        const SIZE_T size = families[i] == AF_INET ? sizeof(SOCKADDR_IN) : sizeof(SOCKADDR_IN6);
        kit_address a_at, b_at, sender;
        PWSK_SOCKET a = bound(families[i], NULL, NULL, &a_at), b = bound(families[i], NULL, NULL, &b_at);
        ULONG flags = 99;

        assert_int_equal(send_to(a, 1000, 5, &b_at), STATUS_SUCCESS);
        assert_int_equal(send_to(a, 0, 0, &b_at), STATUS_SUCCESS);
        assert_int_equal(send_to(a, 200, 6, &b_at), STATUS_SUCCESS);
        assert_int_equal(receive_from(b, 2000, 5, &sender, STATUS_SUCCESS, &flags), 1000);
        assert_memory_equal(&sender, &a_at, size);
        assert_int_equal(flags, 0);
        assert_int_equal(receive_from(b, 2000, 0, &sender, STATUS_SUCCESS, NULL), 0);
        assert_int_equal(receive_from(b, 100, 6, &sender, STATUS_BUFFER_OVERFLOW, &flags), 100);
        assert_int_equal(flags, MSG_TRUNC);
        assert_int_equal(send_to(b, 65507 - (families[i] == AF_INET6 ? 20 : 0), 1, &a_at), STATUS_SUCCESS);
        assert_int_equal(receive_from(a, 70000, 1, &sender, STATUS_SUCCESS, NULL),
                         65507 - (families[i] == AF_INET6 ? 20 : 0));
        assert_int_equal(send_to(b, 70000, 1, &a_at), STATUS_INVALID_BUFFER_SIZE);
        assert_int_equal(kit_close(a), STATUS_SUCCESS);
        assert_int_equal(kit_close(b), STATUS_SUCCESS);
    }
    kit_detach();
}

/* A chain is sent as one datagram, and one datagram is received into a chain; WskSendMessages sends several. */
static void test_chains(void **state)
{
    static const SIZE_T from[] = { 7, 1, 500, 3, 0 }, to[] = { 2, 400, 1, 300, 0 };
    kit_address a_at, b_at, sender;
    PWSK_SOCKET a, b;
    struct kit_memory out, in;
    struct kit_call c;
    WSK_BUF_LIST list[2];
    WSK_BUF buf;
    ULONG_PTR n = 0;

    (void)state;
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = bound(AF_INET, NULL, NULL, &b_at);
    kit_memory_make(&out, from);
    kit_memory_make(&in, to);
    kit_fill(&out, 5, 500, 0);
    buf = (WSK_BUF){ out.mdl, 5, 500 };
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(a)->WskSendTo(a, &buf, 0, &b_at.any, 0, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, 500);
    buf = (WSK_BUF){ in.mdl, 1, 600 };
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(b)->WskReceiveFrom(b, &buf, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, 500);
    kit_verify(&in, 1, 500, 0);
    list[0] = (WSK_BUF_LIST){ &list[1], { out.mdl, 5, 300 } };
    list[1] = (WSK_BUF_LIST){ NULL, { out.mdl, 6, 200 } };
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(a)->WskSendMessages(a, list, 0, &b_at.any, 0, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, 500);
    assert_int_equal(receive_from(b, 1000, 0, &sender, STATUS_SUCCESS, NULL), 300);
    assert_int_equal(receive_from(b, 1000, 1, &sender, STATUS_SUCCESS, NULL), 200);
    kit_memory_free(&out);
    kit_memory_free(&in);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

/* A chain of `count` MDLs, each over one byte. */
static PMDL chain_over(UCHAR *bytes, int count)
{
    PMDL first = NULL, *at = &first;

    for (int i = 0; i < count; i++, at = &(*at)->Next) {
        *at = IoAllocateMdl(bytes + i, 1, FALSE, FALSE, NULL);
        assert_non_null(*at);
        MmBuildMdlForNonPagedPool(*at);
    }
    return first;
}

static void chain_free(PMDL mdl)
{
    for (PMDL next; mdl; mdl = next) {
        next = mdl->Next;
        IoFreeMdl(mdl);
    }
}

/* A datagram is sent completely or not at all: the host supports at most a thousand pieces. */
static void test_long_chains(void **state)
{
    enum { GOOD = 1000, BAD = 1100 };
    static UCHAR out[BAD], in[BAD];
    PMDL from = chain_over(out, BAD), to = chain_over(in, BAD);
    WSK_BUF buf = { from, 0, GOOD }, room = { to, 0, GOOD };
    WSK_BUF_LIST list = { NULL, { from, 0, BAD } };
    kit_address a_at, b_at;
    struct kit_call c;
    PWSK_SOCKET a, b;
    ULONG_PTR n = 0;

    (void)state;
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = bound(AF_INET, NULL, NULL, &b_at);
    for (SIZE_T i = 0; i < BAD; i++)
        out[i] = kit_pattern(i);
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(a)->WskSendTo(a, &buf, 0, &b_at.any, 0, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, GOOD);
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(b)->WskReceiveFrom(b, &room, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), &n),
                     STATUS_SUCCESS);
    assert_int_equal(n, GOOD);
    assert_memory_equal(in, out, GOOD);
    buf.Length = room.Length = BAD;
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(a)->WskSendTo(a, &buf, 0, &b_at.any, 0, NULL, kit_irp(&c)), NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_end(&c, KIT_DATAGRAM(a)->WskSendMessages(a, &list, 0, &b_at.any, 0, NULL, kit_irp(&c)), NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(
        kit_end(&c, KIT_DATAGRAM(b)->WskReceiveFrom(b, &room, 0, NULL, NULL, NULL, NULL, kit_irp(&c)), NULL),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    chain_free(from);
    chain_free(to);
    kit_detach();
}

/* A fixed remote address filters received datagrams, and is the destination of datagrams without one. */
static void test_fixed_addresses(void **state)
{
    kit_address a_at, b_at, c_at, sender;
    PWSK_SOCKET a, b, c;

    (void)state;
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = bound(AF_INET, NULL, NULL, &b_at);
    c = bound(AF_INET, NULL, NULL, &c_at);
    assert_int_equal(send_to(a, 10, 0, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_control(a, WskIoctl, 0, SIO_WSK_SET_REMOTE_ADDRESS, &b_at, sizeof(SOCKADDR_IN)),
                     STATUS_SUCCESS);
    assert_int_equal(send_to(a, 10, 0, NULL), STATUS_SUCCESS);
    assert_int_equal(receive_from(b, 100, 0, &sender, STATUS_SUCCESS, NULL), 10);
    assert_int_equal(send_to(c, 11, 0, &a_at), STATUS_SUCCESS);
    assert_int_equal(send_to(b, 12, 0, &a_at), STATUS_SUCCESS);
    assert_int_equal(receive_from(a, 100, 0, &sender, STATUS_SUCCESS, NULL), 12);
    assert_memory_equal(&sender, &b_at, sizeof(SOCKADDR_IN));
    assert_int_equal(kit_control(a, WskIoctl, 0, SIO_WSK_SET_SENDTO_ADDRESS, &c_at, sizeof(SOCKADDR_IN)),
                     STATUS_SUCCESS);
    assert_int_equal(send_to(a, 13, 0, NULL), STATUS_SUCCESS);
    assert_int_equal(receive_from(c, 100, 0, &sender, STATUS_SUCCESS, NULL), 13);
    assert_int_equal(kit_control(a, WskIoctl, 0, SIO_WSK_SET_REMOTE_ADDRESS, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(send_to(c, 14, 0, &a_at), STATUS_SUCCESS);
    assert_int_equal(receive_from(a, 100, 0, &sender, STATUS_SUCCESS, NULL), 14);
    assert_int_equal(kit_control(a, WskIoctl, 0, SIO_WSK_SET_REMOTE_ADDRESS, &b_at, 4), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    assert_int_equal(kit_close(c), STATUS_SUCCESS);
    kit_detach();
}

/* Receives the control message into `got`. *length is the room before, and the length afterwards. */
static void receive_info(PWSK_SOCKET s, PWSK_BUF buf, CMSGHDR *got, ULONG *length, ULONG *flags)
{
    struct kit_call c;

    assert_int_equal(
        kit_end(&c, KIT_DATAGRAM(s)->WskReceiveFrom(s, buf, 0, NULL, length, got, flags, kit_irp(&c)), NULL),
        STATUS_SUCCESS);
}

/* Checks that there is one control message, of that type. */
static NTSTATUS send_info(PWSK_SOCKET s, PWSK_BUF buf, const kit_address *to, INT type, const IN_PKTINFO *info)
{
    DECLSPEC_ALIGN(8) UCHAR space[64];
    CMSGHDR *out = (CMSGHDR *)(void *)space;
    struct kit_call c;

    *out = (CMSGHDR){ WSA_CMSG_LEN(sizeof *info), IPPROTO_IP, type };
    memcpy(WSA_CMSG_DATA(out), info, sizeof *info);
    return kit_end(
        &c, KIT_DATAGRAM(s)->WskSendTo(s, buf, 0, (PSOCKADDR)&to->any, WSA_CMSG_SPACE(sizeof *info), out, kit_irp(&c)),
        NULL);
}

/* The destination of a received datagram, on request; and the source of a sent one. */
static void test_packet_info(void **state)
{
    kit_address a_at, b_at, sender, any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET a, b;
    struct kit_memory m;
    DECLSPEC_ALIGN(8) UCHAR space[64];
    CMSGHDR *got = (CMSGHDR *)(void *)space;
    IN_PKTINFO info = { { { { 127, 0, 0, 9 } } }, 0 };
    ULONG length = sizeof space, flags = 0;
    int yes = 1;
    WSK_BUF buf;

    (void)state;
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(b, &any), STATUS_SUCCESS);
    b_at = kit_local_by(b, KIT_DATAGRAM(b)->WskGetLocalAddress);
    b_at.v4.sin_addr.S_un.S_addr = RtlUlongByteSwap(0x7f000005);
    assert_int_equal(kit_control(b, WskSetOption, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes), STATUS_SUCCESS);
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    buf = kit_buffer(&m, 100);
    receive_info(b, &buf, got, &length, &flags);
    assert_int_equal(length, WSA_CMSG_SPACE(sizeof(IN_PKTINFO)));
    assert_int_equal(got->cmsg_len, WSA_CMSG_LEN(sizeof(IN_PKTINFO)));
    assert_int_equal(got->cmsg_level, IPPROTO_IP);
    assert_int_equal(got->cmsg_type, IP_PKTINFO);
    assert_memory_equal(WSA_CMSG_DATA(got), &b_at.v4.sin_addr, 4);
    assert_int_equal(flags, 0);
    /* The room is too small for it. */
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    length = 8;
    receive_info(b, &buf, got, &length, &flags);
    assert_int_equal(flags, MSG_CTRUNC);
    /* Sent from the address in the control message. */
    kit_fill(&m, 0, 100, 0);
    assert_int_equal(send_info(b, &buf, &a_at, IP_PKTINFO, &info), STATUS_SUCCESS);
    assert_int_equal(receive_from(a, 100, 0, &sender, STATUS_SUCCESS, NULL), 100);
    assert_memory_equal(&sender.v4.sin_addr, &info.ipi_addr, 4);
    assert_int_equal(send_info(b, &buf, &a_at, 77, &info), STATUS_NOT_SUPPORTED);
    kit_memory_free(&m);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

static void test_cancel_and_close(void **state)
{
    kit_address at;
    PWSK_SOCKET s;
    struct kit_memory m;
    struct kit_call first, second;
    WSK_BUF buf;

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    buf = kit_buffer(&m, 100);
    assert_int_equal(
        kit_end(&first, KIT_DATAGRAM(s)->WskReceiveFrom(s, &buf, 0, NULL, NULL, NULL, NULL, kit_irp(&first)), NULL),
        STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    s = bound(AF_INET, NULL, NULL, &at);
    assert_int_equal(KIT_DATAGRAM(s)->WskReceiveFrom(s, &buf, 0, NULL, NULL, NULL, NULL, kit_irp(&first)),
                     STATUS_PENDING);
    assert_int_equal(KIT_DATAGRAM(s)->WskReceiveFrom(s, &buf, 0, NULL, NULL, NULL, NULL, kit_irp(&second)),
                     STATUS_PENDING);
    assert_false(kit_is_over(&first, 20));
    (void)IoCancelIrp(first.irp);
    assert_int_equal(kit_end(&first, STATUS_PENDING, NULL), STATUS_CANCELLED);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    assert_int_equal(kit_end(&second, STATUS_PENDING, NULL), STATUS_CANCELLED);
    kit_memory_free(&m);
    kit_detach();
}

/* Addresses in control messages and options have the driver's format, too. */
static void test_mapped_addresses(void **state)
{
    const UCHAR wired[] = { 10, 77, 0, 3 };
    kit_address a_at, b_at, sender, any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET a, b;
    struct kit_memory m;
    DECLSPEC_ALIGN(8) UCHAR space[64];
    CMSGHDR *got = (CMSGHDR *)(void *)space;
    IN_PKTINFO info = { { { { 10, 77, 0, 3 } } }, 0 };
    IP_MREQ join = { { { { 239, 1, 2, 3 } } }, { { { 10, 77, 0, 3 } } } };
    ULONG length = sizeof space;
    int yes = 1;
    WSK_BUF buf;

    (void)state;
    assert_true(ondk_wdk_map_address("10.77.0.3", "127.0.0.1"));
    kit_attach();
    a = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    b = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(a, &any), STATUS_SUCCESS);
    assert_int_equal(kit_bind(b, &any), STATUS_SUCCESS);
    a_at = kit_local_by(a, KIT_DATAGRAM(a)->WskGetLocalAddress);
    b_at = kit_local_by(b, KIT_DATAGRAM(b)->WskGetLocalAddress);
    memcpy(&a_at.v4.sin_addr, wired, sizeof wired);
    memcpy(&b_at.v4.sin_addr, wired, sizeof wired);
    assert_int_equal(kit_control(b, WskSetOption, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes), STATUS_SUCCESS);
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    buf = kit_buffer(&m, 10);
    receive_info(b, &buf, got, &length, NULL);
    assert_memory_equal(WSA_CMSG_DATA(got), wired, sizeof wired);
    assert_int_equal(send_info(b, &buf, &a_at, IP_PKTINFO, &info), STATUS_SUCCESS);
    assert_int_equal(receive_from(a, 10, 0, &sender, STATUS_SUCCESS, NULL), 10);
    assert_memory_equal(&sender, &b_at, sizeof(SOCKADDR_IN));
    assert_int_equal(kit_control(a, WskSetOption, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join), STATUS_SUCCESS);
    assert_int_equal(kit_control(a, WskSetOption, IPPROTO_IP, IP_DROP_MEMBERSHIP, &join, sizeof join), STATUS_SUCCESS);
    kit_memory_free(&m);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

struct seen {
    atomic_int datagrams, calls, wrong, status;
    _Atomic(PWSK_DATAGRAM_INDICATION) kept;
};

static NTSTATUS WSKAPI on_receive_from(PVOID context, ULONG flags, PWSK_DATAGRAM_INDICATION list)
{
    struct seen *s = context;
    NTSTATUS status = (NTSTATUS)atomic_load(&s->status);

    atomic_fetch_add(&s->calls, 1); /* before the datagrams, so their event shows that the call has executed */
    if (flags != WSK_FLAG_AT_DISPATCH_LEVEL || !list)
        atomic_fetch_add(&s->wrong, 1);
    if (status == STATUS_PENDING)
        atomic_store(&s->kept, list);
    for (PWSK_DATAGRAM_INDICATION d = list; d && status != STATUS_DATA_NOT_ACCEPTED; d = d->Next) {
        const UCHAR *data = (const UCHAR *)MmGetSystemAddressForMdlSafe(d->Buffer.Mdl, NormalPagePriority) +
                            d->Buffer.Offset;
        int n = atomic_fetch_add(&s->datagrams, 1);

        if (d->Buffer.Length != 10 + (SIZE_T)n % 50 || data[0] != kit_pattern((SIZE_T)n) ||
            d->RemoteAddress->sa_family != AF_INET || d->ControlInfo)
            atomic_fetch_add(&s->wrong, 1);
    }
    return status;
}

static const WSK_CLIENT_DATAGRAM_DISPATCH on_datagram = { on_receive_from };

static void until(atomic_int *count, int wanted)
{
    KIT_UNTIL(atomic_load(count) >= wanted);
    assert_int_equal(atomic_load(count), wanted);
}

static void send_numbered(PWSK_SOCKET s, const kit_address *to, int first, int count)
{
    for (int i = first; i < first + count; i++)
        assert_int_equal(send_to(s, 10 + (SIZE_T)i % 50, (SIZE_T)i, to), STATUS_SUCCESS);
}

/* Datagrams are indicated in order, in lists. A refused list disables the event and is delivered first afterwards. */
static void test_event(void **state)
{
    static struct seen seen;
    kit_address a_at, b_at, sender;
    PWSK_SOCKET a, b;
    PWSK_DATAGRAM_INDICATION kept;
    struct report *r = report_start();

    (void)state;
    memset(&seen, 0, sizeof seen);
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, &seen, &on_datagram);
    assert_int_equal(kit_events(b, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_INVALID_DEVICE_STATE);
    b_at = kit_loopback(AF_INET, 0);
    assert_int_equal(kit_bind(b, &b_at), STATUS_SUCCESS);
    b_at = kit_local_by(b, KIT_DATAGRAM(b)->WskGetLocalAddress);
    send_numbered(a, &b_at, 0, 40);
    assert_int_equal(atomic_load(&seen.calls), 0);
    assert_int_equal(kit_events(b, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
    until(&seen.datagrams, 40);
    assert_true(atomic_load(&seen.calls) < 40);
    atomic_store(&seen.status, STATUS_DATA_NOT_ACCEPTED);
    atomic_store(&seen.calls, 0);
    send_numbered(a, &b_at, 40, 3);
    until(&seen.calls, 1);
    kit_pause(20);
    assert_int_equal(atomic_load(&seen.calls), 1);
    assert_int_equal(receive_from(b, 30, 40, &sender, STATUS_BUFFER_OVERFLOW, NULL), 30);
    assert_memory_equal(&sender, &a_at, sizeof(SOCKADDR_IN));
    atomic_store(&seen.datagrams, 41);
    atomic_store(&seen.status, STATUS_SUCCESS);
    assert_int_equal(kit_events(b, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
    until(&seen.datagrams, 43);
    atomic_store(&seen.status, STATUS_PENDING);
    send_numbered(a, &b_at, 43, 1);
    until(&seen.datagrams, 44);
    kept = atomic_load(&seen.kept);
    atomic_store(&seen.status, STATUS_SUCCESS);
    send_numbered(a, &b_at, 44, 5);
    until(&seen.datagrams, 49);
    assert_int_equal(kept->Buffer.Length, 10 + 43);
    assert_int_equal(KIT_DATAGRAM(b)->WskRelease(b, kept), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&seen.wrong), 0);
    report_is_empty(r);
    r = report_start();
    assert_int_equal(KIT_DATAGRAM(b)->WskRelease(b, kept), STATUS_INVALID_PARAMETER);
    report_is(r, "wsk-indication in WskRelease");
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

struct kinds {
    atomic_int status, calls, one_to_one, to_all, wrong;
};

static NTSTATUS WSKAPI on_kinds(PVOID context, ULONG flags, PWSK_DATAGRAM_INDICATION list)
{
    struct kinds *k = context;
    NTSTATUS status = (NTSTATUS)atomic_load(&k->status);

    for (; list && status == STATUS_SUCCESS; list = list->Next) {
        const bool all = flags & MSG_BCAST;

        if (list->Buffer.Length != (all ? 20U : 10U))
            atomic_fetch_add(&k->wrong, 1);
        atomic_fetch_add(all ? &k->to_all : &k->one_to_one, 1);
    }
    atomic_fetch_add(&k->calls, 1);
    return status;
}

/* Two kinds make two lists, also if the first one is refused and indicated again with the second one. */
static void test_refused_kinds(void **state)
{
    static const WSK_CLIENT_DATAGRAM_DISPATCH dispatch = { on_kinds };
    static struct kinds k;
    kit_address a_at, b_at, all, any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET a, b;
    int yes = 1;

    (void)state;
    memset(&k, 0, sizeof k);
    atomic_store(&k.status, STATUS_DATA_NOT_ACCEPTED);
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    assert_int_equal(kit_control(a, WskSetOption, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes), STATUS_SUCCESS);
    b = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, &k, &dispatch);
    assert_int_equal(kit_bind(b, &any), STATUS_SUCCESS);
    b_at = kit_loopback(AF_INET, kit_local_by(b, KIT_DATAGRAM(b)->WskGetLocalAddress).v4.sin_port);
    all = b_at;
    all.v4.sin_addr.S_un.S_addr = RtlUlongByteSwap(0x7fffffff);
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    assert_int_equal(send_to(a, 20, 0, &all), STATUS_SUCCESS);
    assert_int_equal(send_to(a, 10, 0, &b_at), STATUS_SUCCESS);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(kit_events(b, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
        until(&k.calls, i);
        assert_int_equal(kit_bind(b, &any), STATUS_INVALID_DEVICE_STATE); /* after the call the event is disabled */
    }
    atomic_store(&k.status, STATUS_SUCCESS);
    assert_int_equal(kit_events(b, WSK_EVENT_RECEIVE_FROM, NULL), STATUS_SUCCESS);
    until(&k.one_to_one, 3);
    assert_int_equal(atomic_load(&k.to_all), 1);
    assert_int_equal(atomic_load(&k.wrong), 0);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

/* ---- Multicast --------------------------------------------------------------------------------------------------- */

static void test_multicast(void **state)
{
    kit_address a_at, b_at, group = { .v4 = { AF_INET, 0, { { { 239, 1, 2, 3 } } }, { 0 } } }, sender;
    PWSK_SOCKET a, b;
    IP_MREQ join = { { { { 239, 1, 2, 3 } } }, { { { 127, 0, 0, 1 } } } };
    ULONG flags = 0;

    (void)state;
    kit_attach();
    a = bound(AF_INET, NULL, NULL, &a_at);
    b = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    memset(&b_at, 0, sizeof b_at);
    b_at.any.sa_family = AF_INET;
    assert_int_equal(kit_bind(b, &b_at), STATUS_SUCCESS);
    group.v4.sin_port = kit_local_by(b, KIT_DATAGRAM(b)->WskGetLocalAddress).v4.sin_port;
    assert_int_equal(kit_control(b, WskSetOption, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join), STATUS_SUCCESS);
    assert_int_equal(kit_control(a, WskSetOption, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join), STATUS_SUCCESS);
    if (send_to(a, 10, 0, &group) == STATUS_SUCCESS) {
        assert_int_equal(receive_from(b, 100, 0, &sender, STATUS_SUCCESS, &flags), 10);
        assert_int_equal(flags, MSG_MCAST);
    } else {
        print_message("no route for multicasts here: only joining and leaving are tried\n");
    }
    assert_int_equal(kit_control(b, WskSetOption, IPPROTO_IP, IP_DROP_MEMBERSHIP, &join, sizeof join), STATUS_SUCCESS);
    assert_int_equal(kit_control(b, WskSetOption, IPPROTO_IP, IP_DROP_MEMBERSHIP, &join, sizeof join),
                     STATUS_INVALID_ADDRESS_COMPONENT);
    assert_int_equal(kit_close(a), STATUS_SUCCESS);
    assert_int_equal(kit_close(b), STATUS_SUCCESS);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_fixed_addresses),
        cmocka_unit_test(test_packet_info),
        cmocka_unit_test(test_cancel_and_close),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_refused_kinds),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_mapped_addresses), /* the last test, because the mapping remains */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
