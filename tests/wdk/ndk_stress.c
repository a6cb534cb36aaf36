/* SPDX-License-Identifier: MIT */
/*
 * Many concurrent connections through the NDK filter: clients and servers that connect, are refused, send, disconnect
 * or only close, with one completion queue and one shared receive queue for all servers, results polled after the close
 * of their queue pair, and closes that wait. All of it is permitted, so nothing must be reported. The test is mainly
 * for the sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

#include "ndk_driver.h"
#include "openndk/config.h"
#include "threads.h"

enum { CLIENTS = 4, SERVERS = 4, POLLERS = 2, ROUNDS = 150, MESSAGES = 4, RING = 64, MESSAGE_SIZE = 64 };

static SOCKADDR_IN at; /* the servers' address */
static atomic_bool stopping;

static SOCKADDR_IN any_port(void)
{
    SOCKADDR_IN from = at;

    from.sin_port = 0;
    return from;
}

static VOID on_disconnect(PVOID context)
{
    KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

static VOID on_disconnect_ex(PVOID context, ULONG reason)
{
    (void)reason;
    KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

/* A close that has begun; close_wait ends it. */
static NTSTATUS close_begin(void *object, struct call *c)
{
    NDK_PD *any = object; /* every dispatch table begins with the close */

    call_init(c);
    return any->Dispatch->NdkClosePd(&any->Header, close_done, c);
}

/* ---- servers ---- */

struct served {
    NDK_CONNECTOR *connector;
    NDK_QP *qp;
    KEVENT gone;
};

static struct served connections[CLIENTS * ROUNDS * 2]; /* results refer to them until the end */
static atomic_uint asked_for, taken;
static KSEMAPHORE requests;
static NDK_CQ *server_cq;
static NDK_SRQ *srq;

static VOID request_came(PVOID context, NDK_CONNECTOR *connector)
{
    (void)context;
    connections[atomic_fetch_add(&asked_for, 1)].connector = connector;
    KeReleaseSemaphore(&requests, IO_NO_INCREMENT, 1, FALSE);
}

static NTSTATUS accept(struct served *s, bool ex)
{
    const NDK_CONNECTOR_DISPATCH *d = s->connector->Dispatch;
    struct call c;

    call_init(&c);
    return finish(&c,
                  ex ? d->NdkAcceptEx(s->connector, s->qp, 1, 1, NULL, 0, on_disconnect_ex, &s->gone, request_done, &c)
                     : d->NdkAccept(s->connector, s->qp, 1, 1, NULL, 0, on_disconnect, &s->gone, request_done, &c));
}

/* Until the client ends the connection. */
static void serve(struct served *s, bool ex)
{
    struct call c, closing;
    NTSTATUS status;

    KeInitializeEvent(&s->gone, NotificationEvent, FALSE);
    MADE(
        NDK_QP, s->qp,
        pd->Dispatch->NdkCreateQpWithSrq(pd, server_cq, server_cq, srq, s, MESSAGES, 1, 0, create_done, &c_, &inline_));
    if (NT_SUCCESS(accept(s, ex))) {
        for (uintptr_t i = 0; i < MESSAGES; i++)
            (void)s->qp->Dispatch->NdkSend(s->qp, s, NULL, 0, i ? 0 : NDK_OP_FLAG_SILENT_SUCCESS);
        (void)wait1(&s->gone, NULL);
        call_init(&c);
        (void)finish(&c, s->connector->Dispatch->NdkDisconnect(s->connector, request_done, &c));
    }
    status = close_begin(s->qp, &closing); /* which waits for the connector's */
    close_object(s->connector);
    assert_int_equal(finish(&closing, status), STATUS_SUCCESS);
}

static VOID server(PVOID context)
{
    (void)context;
    for (;;) {
        (void)wait1(&requests, NULL);
        if (atomic_load(&stopping))
            break;
        unsigned number = atomic_fetch_add(&taken, 1);
        struct served *s = &connections[number];
        if (number % 8 == 3)
            (void)s->connector->Dispatch->NdkReject(s->connector, NULL, 0);
        if (number % 8 == 3 || number % 8 == 6)
            close_object(s->connector);
        else
            serve(s, number % 2);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static UCHAR ring[RING];                /* contexts of the shared receives */
static KSPIN_LOCK poll_lock, post_lock; /* a consumer polls a completion queue, and posts to a queue, one at a time */

static void post_shared(void *context)
{
    KIRQL old;

    KeAcquireSpinLock(&post_lock, &old);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, context, NULL, 0), STATUS_SUCCESS);
    KeReleaseSpinLock(&post_lock, old);
}

static ULONG poll_servers(NDK_RESULT_EX *results, ULONG count)
{
    ULONG got;
    KIRQL old;

    KeAcquireSpinLock(&poll_lock, &old);
    got = server_cq->Dispatch->NdkGetCqResultsEx(server_cq, results, count);
    KeReleaseSpinLock(&poll_lock, old);
    return got;
}

static VOID poller(PVOID context)
{
    NDK_RESULT_EX results[3];

    (void)context;
    while (!atomic_load(&stopping)) {
        ULONG got = poll_servers(results, RTL_NUMBER_OF(results));

        for (ULONG i = 0; i < got; i++) {
            struct served *of = results[i].QPContext;
            UCHAR *of_ring = results[i].RequestContext;

            assert_true(of >= connections && of < connections + RTL_NUMBER_OF(connections));
            if (of_ring >= ring && of_ring < ring + RING)
                post_shared(of_ring);
            else
                assert_ptr_equal(of_ring, of);
        }
        if (got == 0)
            (void)KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- clients ---- */

struct round {
    NDK_CONNECTOR *connector;
    NDK_QP *qp;
    NDK_MR *mr;
    PMDL mdl;
    UCHAR *buffer;
    void *contexts[MESSAGES]; /* in pool */
    KEVENT gone;
};

struct client {
    NDK_CQ *cq;
    struct round rounds[ROUNDS]; /* results refer to them until the end */
};

static struct client clients[CLIENTS];
static atomic_int established;

static NTSTATUS connect_to(struct round *r, bool nobody)
{
    SOCKADDR_IN from = any_port(), to = at;
    struct call c;

    if (nobody)
        to.sin_port = 0x0100; /* 1 */
    call_init(&c);
    return finish(&c, r->connector->Dispatch->NdkConnect(r->connector, r->qp, (PSOCKADDR)&from, sizeof from,
                                                         (PSOCKADDR)&to, sizeof to, 1, 1, NULL, 0, request_done, &c));
}

static NTSTATUS connect_shared(struct round *r, NDK_SHARED_ENDPOINT **endpoint)
{
    SOCKADDR_IN from = any_port();
    struct call c;

    MADE(
        NDK_SHARED_ENDPOINT, *endpoint,
        adapter->Dispatch->NdkCreateSharedEndpoint(adapter, (PSOCKADDR)&from, sizeof from, create_done, &c_, &inline_));
    call_init(&c);
    return finish(&c, r->connector->Dispatch->NdkConnectWithSharedEndpoint(
                          r->connector, r->qp, *endpoint, (PSOCKADDR)&at, sizeof at, 1, 1, NULL, 0, request_done, &c));
}

static NTSTATUS complete(struct round *r, bool ex)
{
    const NDK_CONNECTOR_DISPATCH *d = r->connector->Dispatch;
    struct call c;

    call_init(&c);
    return finish(&c, ex ? d->NdkCompleteConnectEx(r->connector, on_disconnect_ex, &r->gone, request_done, &c)
                         : d->NdkCompleteConnect(r->connector, on_disconnect, &r->gone, request_done, &c));
}

static void open_round(struct client *own, struct round *r)
{
    KeInitializeEvent(&r->gone, NotificationEvent, FALSE);
    MADE(NDK_CONNECTOR, r->connector, adapter->Dispatch->NdkCreateConnector(adapter, create_done, &c_, &inline_));
    MADE(NDK_QP, r->qp,
         pd->Dispatch->NdkCreateQp(pd, own->cq, own->cq, r, MESSAGES, MESSAGES, 1, 1, 0, create_done, &c_, &inline_));
    r->buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    r->mr = register_buffer(r->buffer, &r->mdl);
    for (int i = 0; i < MESSAGES; i++) {
        r->contexts[i] = ExAllocatePoolWithTag(NonPagedPoolNx, 16, TAG);
        assert_int_equal(r->qp->Dispatch->NdkReceive(r->qp, r->contexts[i], NULL, 0), STATUS_SUCCESS);
    }
}

static void close_round(struct round *r)
{
    deregister(r->mr);
    IoFreeMdl(r->mdl);
    ExFreePoolWithTag(r->buffer, TAG);
    close_object(r->qp);
    for (int i = 0; i < MESSAGES; i++)
        ExFreePoolWithTag(r->contexts[i], TAG);
}

static void send_all(struct round *r)
{
    NDK_SGE sge = { .VirtualAddress = r->buffer, .Length = MESSAGE_SIZE };

    sge.MemoryRegionToken = r->mr->Dispatch->NdkGetLocalTokenFromMr(r->mr);
    for (int i = 0; i < MESSAGES; i++)
        (void)r->qp->Dispatch->NdkSend(r->qp, r->contexts[i], &sge, 1, 0); /* refused if the peer has disconnected */
}

/* Polls all results, of this round or of earlier ones. */
static ULONG drain(struct client *own)
{
    NDK_RESULT results[4];
    ULONG got = own->cq->Dispatch->NdkGetCqResults(own->cq, results, RTL_NUMBER_OF(results));

    for (ULONG i = 0; i < got; i++) {
        struct round *of = results[i].QPContext;

        assert_true(of >= own->rounds && of < own->rounds + ROUNDS);
        assert_true(results[i].RequestContext == of->contexts[0] || results[i].RequestContext == of->contexts[1] ||
                    results[i].RequestContext == of->contexts[2] || results[i].RequestContext == of->contexts[3]);
    }
    return got;
}

static void run_round(struct client *own, struct round *r, int number)
{
    NDK_SHARED_ENDPOINT *endpoint = NULL;
    struct call closing, c;
    NTSTATUS status, pending = STATUS_SUCCESS;

    open_round(own, r);
    if (number % 4 == 1)
        assert_false(NT_SUCCESS(connect_to(r, true)));
    status = number % 3 ? connect_to(r, false) : connect_shared(r, &endpoint);
    if (endpoint)
        pending = close_begin(endpoint, &closing); /* which waits for the connector's */
    if (NT_SUCCESS(status) && NT_SUCCESS(complete(r, number % 2))) {
        atomic_fetch_add(&established, 1);
        send_all(r);
        for (int i = 0; i < 100 && number % 5; i++)
            (void)drain(own);
        if (number % 3) {
            call_init(&c);
            (void)finish(&c, r->connector->Dispatch->NdkDisconnect(r->connector, request_done, &c));
        }
    }
    close_object(r->connector);
    if (endpoint)
        assert_int_equal(finish(&closing, pending), STATUS_SUCCESS);
    r->qp->Dispatch->NdkFlush(r->qp);
    close_round(r);
}

static VOID client(PVOID context)
{
    struct client *own = context;

    MADE(NDK_CQ, own->cq,
         adapter->Dispatch->NdkCreateCq(adapter, 2 * MESSAGES * ROUNDS, cq_notified, NULL, NULL, create_done, &c_,
                                        &inline_));
    for (int i = 0; i < ROUNDS; i++)
        run_round(own, &own->rounds[i], i);
    while (drain(own))
        ;
    close_object(own->cq);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- all together ---- */

static void open_servers(void)
{
    struct call c;

    KeInitializeSemaphore(&requests, 0, MAXLONG);
    KeInitializeSpinLock(&poll_lock);
    KeInitializeSpinLock(&post_lock);
    MADE(NDK_PD, pd, adapter->Dispatch->NdkCreatePd(adapter, create_done, &c_, &inline_));
    MADE(NDK_CQ, server_cq,
         adapter->Dispatch->NdkCreateCq(adapter, 1024, cq_notified, NULL, NULL, create_done, &c_, &inline_));
    MADE(NDK_SRQ, srq, pd->Dispatch->NdkCreateSrq(pd, RING, 1, 0, NULL, NULL, NULL, create_done, &c_, &inline_));
    for (int i = 0; i < RING; i++)
        post_shared(&ring[i]);
    at = (SOCKADDR_IN){ .sin_family = AF_INET, .sin_addr.S_un.S_addr = 0x0100007f };
    MADE(NDK_LISTENER, listener,
         adapter->Dispatch->NdkCreateListener(adapter, request_came, NULL, create_done, &c_, &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, listener->Dispatch->NdkListen(listener, (PSOCKADDR)&at, sizeof at, request_done, &c)),
                     STATUS_SUCCESS);
    assert_int_equal(listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)&at, &(ULONG){ sizeof at }),
                     STATUS_SUCCESS);
}

static void run_all(void)
{
    PVOID threads[CLIENTS + SERVERS + POLLERS];
    struct report *r = report_start();
    int n = 0;

    atomic_store(&stopping, false);
    atomic_store(&established, 0);
    atomic_store(&asked_for, 0);
    atomic_store(&taken, 0);
    open_adapter();
    open_servers();
    for (int i = 0; i < CLIENTS; i++)
        threads[n++] = thread_start(client, &clients[i]);
    for (int i = 0; i < SERVERS; i++)
        threads[n++] = thread_start(server, NULL);
    for (int i = 0; i < POLLERS; i++)
        threads[n++] = thread_start(poller, NULL);
    for (int i = 0; i < CLIENTS; i++)
        thread_join(threads[i]);
    close_object(listener);
    atomic_store(&stopping, true);
    KeReleaseSemaphore(&requests, IO_NO_INCREMENT, SERVERS, FALSE);
    for (int i = CLIENTS; i < n; i++)
        thread_join(threads[i]);
    close_object(srq);
    close_object(server_cq);
    close_object(pd);
    close_adapter();
    report_is_empty(r);
    assert_true(atomic_load(&established) > CLIENTS * ROUNDS / 2); /* of eight, the servers refuse two */
}

static void test_many_connections(void **state)
{
    (void)state;
    run_all();
}

static void test_whose_creates_pend(void **state)
{
    ondk_config_t config;

    (void)state;
    ondk_config_init(&config);
    config.pend_creates = 1;
    assert_int_equal(ondk_configure(&config), 0);
    run_all();
    assert_int_equal(ondk_configure(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_connections),
        cmocka_unit_test(test_whose_creates_pend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
