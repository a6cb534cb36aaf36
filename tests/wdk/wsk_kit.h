/* SPDX-License-Identifier: MIT */
/*
 * For tests of Winsock Kernel's sockets: a client, IRPs with counted completions, memory with MDLs, and a waiting
 * function for each call. Only the length of a backlog is read from the host, everything else uses the driver's
 * interface.
 */
#ifndef TESTS_WDK_WSK_KIT_H
#define TESTS_WDK_WSK_KIT_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wdm.h"
#include "mstcpip.h"
#include "ws2ipdef.h"
#include "wsk.h"

#include "live_count.h"
#include "report.h"
#include "wdk/wsk/socket.h"

/* Less than ctest's limit for a test, so that a failure names its place. */
enum { KIT_PATIENCE_SECONDS = 250 };

static inline void kit_pause(long milliseconds)
{
    const struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

static inline time_t kit_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

#define KIT_UNTIL(condition)                                                                                           \
    do {                                                                                                               \
        const time_t end_ = kit_seconds() + KIT_PATIENCE_SECONDS;                                                      \
        bool holds_;                                                                                                   \
        while (!(holds_ = (condition)) && kit_seconds() < end_)                                                        \
            kit_pause(1);                                                                                              \
        _assert_true(holds_, #condition, __FILE__, __LINE__);                                                          \
    } while (0)

/* ---- The client ---- */

static WSK_REGISTRATION kit_registration;
static WSK_PROVIDER_NPI kit_npi;

/*
 * Registers the client and captures the provider. From then on the first failure ends the program, because open objects
 * would block the following tests.
 */
static inline void kit_attach(void)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI client = { NULL, &dispatch };

    (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    assert_int_equal(WskRegister(&client, &kit_registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(&kit_registration, WSK_NO_WAIT, &kit_npi), STATUS_SUCCESS);
}

/* Checks that nothing leaked. */
static inline void kit_detach(void)
{
    WskReleaseProviderNPI(&kit_registration);
    WskDeregister(&kit_registration);
    if (live_count())
        live_report(stderr);
    assert_int_equal(live_count(), 0);
}

/* ---- IRPs ---- */

struct kit_call {
    PIRP irp;
    KEVENT over;
    atomic_int completions;
    KIRQL irql;
};

static inline NTSTATUS kit_completed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct kit_call *c = context;

    (void)device, (void)irp;
    c->irql = KeGetCurrentIrql();
    atomic_fetch_add(&c->completions, 1);
    KeSetEvent(&c->over, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static inline PIRP kit_irp(struct kit_call *c)
{
    c->irp = IoAllocateIrp(1, FALSE);
    assert_non_null(c->irp);
    atomic_store(&c->completions, 0);
    KeInitializeEvent(&c->over, NotificationEvent, FALSE);
    IoSetCompletionRoutine(c->irp, kit_completed, c, TRUE, TRUE, TRUE);
    return c->irp;
}

static inline bool kit_is_over(struct kit_call *c, int milliseconds)
{
    LARGE_INTEGER timeout = { .QuadPart = -10000LL * milliseconds };

    return KeWaitForSingleObject(&c->over, Executive, KernelMode, FALSE, &timeout) == STATUS_SUCCESS;
}

/*
 * Returns the IRP's status. Checks that it has completed once, with the status that the call returned unless that was
 * STATUS_PENDING.
 */
static inline NTSTATUS kit_end(struct kit_call *c, NTSTATUS returned, ULONG_PTR *information)
{
    NTSTATUS status;

    if (!kit_is_over(c, returned == STATUS_PENDING ? KIT_PATIENCE_SECONDS * 1000 : 0))
        fail_msg("the IRP is not completed");
    assert_int_equal(atomic_load(&c->completions), 1);
    status = c->irp->IoStatus.Status;
    if (returned != STATUS_PENDING)
        assert_int_equal(returned, status);
    if (information)
        *information = c->irp->IoStatus.Information;
    IoFreeIrp(c->irp);
    return status;
}

/* ---- Memory ---- */

/* A chain of pieces of memory. kit_memory_make allocates the pieces; its list of sizes ends with 0. */
struct kit_memory {
    PMDL mdl;
    UCHAR *pieces[16];
    SIZE_T sizes[16], total;
    int count;
};

static inline void kit_memory_make(struct kit_memory *m, const SIZE_T *sizes)
{
    PMDL *at = &m->mdl;

    memset(m, 0, sizeof *m);
    for (; sizes[m->count]; m->count++) {
        int i = m->count;

        m->sizes[i] = sizes[i];
        m->total += sizes[i];
        m->pieces[i] = ExAllocatePoolWithTag(NonPagedPoolNx, sizes[i], 'tset');
        assert_non_null(m->pieces[i]);
        memset(m->pieces[i], 0xee, sizes[i]);
        *at = IoAllocateMdl(m->pieces[i], (ULONG)sizes[i], FALSE, FALSE, NULL);
        assert_non_null(*at);
        MmBuildMdlForNonPagedPool(*at);
        at = &(*at)->Next;
    }
}

static inline void kit_memory_one(struct kit_memory *m, SIZE_T size)
{
    const SIZE_T sizes[] = { size, 0 };

    kit_memory_make(m, sizes);
}

/* Allocates one piece and returns it as a buffer. */
static inline WSK_BUF kit_buffer(struct kit_memory *m, SIZE_T size)
{
    kit_memory_one(m, size);
    return (WSK_BUF){ m->mdl, 0, size };
}

static inline void kit_memory_free(struct kit_memory *m)
{
    for (PMDL mdl = m->mdl, next; mdl; mdl = next) {
        next = mdl->Next;
        IoFreeMdl(mdl);
    }
    for (int i = 0; i < m->count; i++)
        ExFreePoolWithTag(m->pieces[i], 'tset');
}

static inline UCHAR *kit_octet(struct kit_memory *m, SIZE_T at)
{
    int i = 0;

    while (at >= m->sizes[i])
        at -= m->sizes[i++];
    return m->pieces[i] + at;
}

static inline UCHAR kit_pattern(SIZE_T at)
{
    return (UCHAR)(at * 31 + (at >> 8));
}

/* Writes `size` bytes of the pattern, from its position `from` on, to the memory at offset `at`. */
static inline void kit_fill(struct kit_memory *m, SIZE_T at, SIZE_T size, SIZE_T from)
{
    for (SIZE_T i = 0; i < size; i++)
        *kit_octet(m, at + i) = kit_pattern(from + i);
}

static inline void kit_verify(struct kit_memory *m, SIZE_T at, SIZE_T size, SIZE_T from)
{
    for (SIZE_T i = 0; i < size; i++)
        if (*kit_octet(m, at + i) != kit_pattern(from + i))
            fail_msg("byte %zu is wrong", (size_t)i);
}

/* ---- Addresses ---- */

typedef union kit_address {
    SOCKADDR any;
    SOCKADDR_IN v4;
    SOCKADDR_IN6 v6;
    SOCKADDR_STORAGE room;
} kit_address;

static inline kit_address kit_loopback(ADDRESS_FAMILY family, USHORT port)
{
    kit_address a;

    memset(&a, 0, sizeof a);
    a.any.sa_family = family;
    a.v4.sin_port = port;
    if (family == AF_INET)
        a.v4.sin_addr.S_un.S_addr = RtlUlongByteSwap(INADDR_LOOPBACK);
    else
        a.v6.sin6_addr.u.Byte[15] = 1;
    return a;
}

/* ---- Calls that wait ---- */

#define KIT_LISTEN(s) ((const WSK_PROVIDER_LISTEN_DISPATCH *)(s)->Dispatch)
#define KIT_CONNECTION(s) ((const WSK_PROVIDER_CONNECTION_DISPATCH *)(s)->Dispatch)
#define KIT_DATAGRAM(s) ((const WSK_PROVIDER_DATAGRAM_DISPATCH *)(s)->Dispatch)
#define KIT_STREAM(s) ((const WSK_PROVIDER_STREAM_DISPATCH *)(s)->Dispatch)

static inline PWSK_SOCKET kit_socket(ADDRESS_FAMILY family, ULONG category, PVOID context, const VOID *dispatch)
{
    const bool datagram = category == WSK_FLAG_DATAGRAM_SOCKET;
    struct kit_call c;
    ULONG_PTR socket = 0;

    assert_int_equal(kit_end(&c,
                             kit_npi.Dispatch->WskSocket(kit_npi.Client, family, datagram ? SOCK_DGRAM : SOCK_STREAM,
                                                         datagram ? IPPROTO_UDP : IPPROTO_TCP, category, context,
                                                         dispatch, NULL, NULL, NULL, kit_irp(&c)),
                             &socket),
                     STATUS_SUCCESS);
    assert_true(socket);
    return (PWSK_SOCKET)socket;
}

static inline NTSTATUS kit_close(PWSK_SOCKET s)
{
    struct kit_call c;

    return kit_end(&c, KIT_LISTEN(s)->WskCloseSocket(s, kit_irp(&c)), NULL);
}

/* The slot has the same position in every table. */
static inline NTSTATUS kit_bind(PWSK_SOCKET s, const kit_address *a)
{
    struct kit_call c;

    return kit_end(&c, KIT_LISTEN(s)->WskBind(s, (PSOCKADDR)&a->any, 0, kit_irp(&c)), NULL);
}

static inline kit_address kit_local_by(PWSK_SOCKET s, PFN_WSK_GET_LOCAL_ADDRESS query)
{
    struct kit_call c;
    kit_address a;

    memset(&a, 0xee, sizeof a);
    assert_int_equal(kit_end(&c, query(s, &a.any, kit_irp(&c)), NULL), STATUS_SUCCESS);
    return a;
}

/* Listens on any port of the loopback interface and stores the address in *at. */
static inline PWSK_SOCKET kit_listener(ADDRESS_FAMILY family, PVOID context, const WSK_CLIENT_LISTEN_DISPATCH *dispatch,
                                       kit_address *at)
{
    PWSK_SOCKET s = kit_socket(family, WSK_FLAG_LISTEN_SOCKET, context, dispatch);

    *at = kit_loopback(family, 0);
    assert_int_equal(kit_bind(s, at), STATUS_SUCCESS);
    *at = kit_local_by(s, KIT_LISTEN(s)->WskGetLocalAddress);
    return s;
}

static inline PWSK_SOCKET kit_accept(PWSK_SOCKET listener, PVOID context,
                                     const WSK_CLIENT_CONNECTION_DISPATCH *dispatch)
{
    struct kit_call c;
    ULONG_PTR socket = 0;

    assert_int_equal(
        kit_end(&c, KIT_LISTEN(listener)->WskAccept(listener, 0, context, dispatch, NULL, NULL, kit_irp(&c)), &socket),
        STATUS_SUCCESS);
    return (PWSK_SOCKET)socket;
}

static inline NTSTATUS kit_start_connect(struct kit_call *c, const kit_address *to, PVOID context,
                                         const WSK_CLIENT_CONNECTION_DISPATCH *dispatch)
{
    kit_address any;

    memset(&any, 0, sizeof any);
    any.any.sa_family = to->any.sa_family;
    return kit_npi.Dispatch->WskSocketConnect(kit_npi.Client, SOCK_STREAM, IPPROTO_TCP, &any.any, (PSOCKADDR)&to->any,
                                              0, context, dispatch, NULL, NULL, NULL, kit_irp(c));
}

static inline PWSK_SOCKET kit_connect(const kit_address *to, PVOID context,
                                      const WSK_CLIENT_CONNECTION_DISPATCH *dispatch)
{
    struct kit_call c;
    ULONG_PTR socket = 0;

    assert_int_equal(kit_end(&c, kit_start_connect(&c, to, context, dispatch), &socket), STATUS_SUCCESS);
    return (PWSK_SOCKET)socket;
}

static inline NTSTATUS kit_connect_socket(PWSK_SOCKET s, const kit_address *to)
{
    struct kit_call c;

    return kit_end(&c, KIT_CONNECTION(s)->WskConnect(s, (PSOCKADDR)&to->any, 0, kit_irp(&c)), NULL);
}

/*
 * Returns how many connections wait in the host's backlog of the listener. *most receives the backlog's limit; the host
 * accepts one connection more than this limit.
 */
static inline int kit_backlog(PWSK_SOCKET listener, int *most)
{
    enum { TCP = 6, INFO = 11 };
    struct {
        UCHAR states[8];
        uint32_t times[4], unacked, sacked;
    } info; /* of a listener: waiting, limit */
    uint32_t size = sizeof info;

    assert_int_equal(syscall(SYS_getsockopt, ((struct wsk_socket *)listener)->fd, TCP, INFO, &info, &size), 0);
    *most = (int)info.sacked;
    return (int)info.unacked;
}

/* Connects until a connect stays pending because the backlog is full. Returns the number of completed connects. */
static inline int kit_fill_backlog(struct kit_call *calls, int calls_most, PWSK_SOCKET listener, const kit_address *to)
{
    int most, made = 0;

    for (;;) {
        assert_in_range(made, 0, calls_most - 1);
        KIT_UNTIL(kit_backlog(listener, &most) == made);
        assert_int_equal(kit_start_connect(&calls[made], to, NULL, NULL), STATUS_PENDING);
        if (made > most)
            return made;
        assert_true(kit_is_over(&calls[made++], KIT_PATIENCE_SECONDS * 1000));
    }
}

struct kit_pair {
    PWSK_SOCKET listener, client, server;
};

static inline struct kit_pair kit_pair_make(ADDRESS_FAMILY family, PVOID context,
                                            const WSK_CLIENT_CONNECTION_DISPATCH *of_server)
{
    struct kit_pair p;
    kit_address at;

    p.listener = kit_listener(family, NULL, NULL, &at);
    p.client = kit_connect(&at, NULL, NULL);
    p.server = kit_accept(p.listener, context, of_server);
    return p;
}

static inline void kit_pair_close(struct kit_pair *p)
{
    assert_int_equal(kit_close(p->client), STATUS_SUCCESS);
    assert_int_equal(kit_close(p->server), STATUS_SUCCESS);
    assert_int_equal(kit_close(p->listener), STATUS_SUCCESS);
}

/* A client and its first connection. kit_stop() closes both and checks that nothing else is open. */
static inline struct kit_pair kit_start(ADDRESS_FAMILY family, PVOID context,
                                        const WSK_CLIENT_CONNECTION_DISPATCH *of_server)
{
    kit_attach();
    return kit_pair_make(family, context, of_server);
}

static inline void kit_stop(struct kit_pair *p)
{
    kit_pair_close(p);
    kit_detach();
}

/* These calls do not wait: kit_end() waits for their completion. */
static inline void kit_start_accept(PWSK_SOCKET listener, struct kit_call *c)
{
    assert_int_equal(KIT_LISTEN(listener)->WskAccept(listener, 0, NULL, NULL, NULL, NULL, kit_irp(c)), STATUS_PENDING);
}

static inline void kit_start_send(PWSK_SOCKET s, PWSK_BUF buf, ULONG flags, struct kit_call *c)
{
    assert_int_equal(KIT_CONNECTION(s)->WskSend(s, buf, flags, kit_irp(c)), STATUS_PENDING);
}

static inline void kit_start_receive(PWSK_SOCKET s, PWSK_BUF buf, ULONG flags, struct kit_call *c)
{
    assert_int_equal(KIT_CONNECTION(s)->WskReceive(s, buf, flags, kit_irp(c)), STATUS_PENDING);
}

static inline NTSTATUS kit_send_buf(PWSK_SOCKET s, WSK_BUF buf, ULONG flags, ULONG_PTR *sent)
{
    struct kit_call c;

    return kit_end(&c, KIT_CONNECTION(s)->WskSend(s, &buf, flags, kit_irp(&c)), sent);
}

static inline NTSTATUS kit_receive_buf(PWSK_SOCKET s, WSK_BUF buf, ULONG flags, ULONG_PTR *got)
{
    struct kit_call c;

    return kit_end(&c, KIT_CONNECTION(s)->WskReceive(s, &buf, flags, kit_irp(&c)), got);
}

/* kit_send sends `size` bytes of the pattern, from its position `from` on. kit_receive receives and checks them. */
static inline void kit_send(PWSK_SOCKET s, SIZE_T size, SIZE_T from)
{
    struct kit_memory m;
    ULONG_PTR sent = 0;

    kit_memory_one(&m, size);
    kit_fill(&m, 0, size, from);
    assert_int_equal(kit_send_buf(s, (WSK_BUF){ m.mdl, 0, size }, 0, &sent), STATUS_SUCCESS);
    assert_int_equal(sent, size);
    kit_memory_free(&m);
}

static inline void kit_receive(PWSK_SOCKET s, SIZE_T size, SIZE_T from)
{
    struct kit_memory m;
    ULONG_PTR got = 0;

    kit_memory_one(&m, size);
    assert_int_equal(kit_receive_buf(s, (WSK_BUF){ m.mdl, 0, size }, WSK_FLAG_WAITALL, &got), STATUS_SUCCESS);
    assert_int_equal(got, size);
    kit_verify(&m, 0, size, from);
    kit_memory_free(&m);
}

static inline NTSTATUS kit_disconnect(PWSK_SOCKET s, ULONG flags)
{
    struct kit_call c;

    return kit_end(&c, KIT_CONNECTION(s)->WskDisconnect(s, NULL, flags, kit_irp(&c)), NULL);
}

static inline NTSTATUS kit_control(PWSK_SOCKET s, WSK_CONTROL_SOCKET_TYPE type, ULONG level, ULONG code, PVOID in,
                                   SIZE_T size)
{
    struct kit_call c;

    return kit_end(&c, KIT_LISTEN(s)->WskControlSocket(s, type, code, level, size, in, 0, NULL, NULL, kit_irp(&c)),
                   NULL);
}

static inline NTSTATUS kit_events(PWSK_SOCKET s, ULONG mask, PIRP irp)
{
    WSK_EVENT_CALLBACK_CONTROL control = { &NPI_WSK_INTERFACE_ID, mask };

    return KIT_LISTEN(s)->WskControlSocket(s, WskSetOption, SO_WSK_EVENT_CALLBACK, SOL_SOCKET, sizeof control, &control,
                                           0, NULL, NULL, irp);
}

/* Sends `count` datagrams from a new socket. Each has 100 bytes of the pattern; the first begins at position `from`. */
static inline void kit_send_datagrams(const kit_address *to, int count, SIZE_T from)
{
    PWSK_SOCKET s = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    kit_address any = { .any = { AF_INET, { 0 } } };
    struct kit_memory m;
    struct kit_call c;
    WSK_BUF buf;

    buf = kit_buffer(&m, 100);
    assert_int_equal(kit_bind(s, &any), STATUS_SUCCESS);
    for (int i = 0; i < count; i++) {
        kit_fill(&m, 0, 100, from + (SIZE_T)i * 100);
        assert_int_equal(
            kit_end(&c, KIT_DATAGRAM(s)->WskSendTo(s, &buf, 0, (PSOCKADDR)&to->any, 0, NULL, kit_irp(&c)), NULL),
            STATUS_SUCCESS);
    }
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_memory_free(&m);
}

/* Waits until the library's thread has handled all earlier events: makes a later event, and waits for its handling. */
static inline void kit_wait_host_events(void)
{
    struct kit_pair p = kit_pair_make(AF_INET, NULL, NULL);
    struct kit_memory m;
    struct kit_call c;
    WSK_BUF buf;

    buf = kit_buffer(&m, 10);
    kit_start_receive(p.server, &buf, 0, &c);
    kit_send(p.client, 10, 0);
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_SUCCESS);
    kit_memory_free(&m);
    kit_pair_close(&p);
}

#endif
