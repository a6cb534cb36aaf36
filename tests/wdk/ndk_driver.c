/* SPDX-License-Identifier: MIT */
/* See ndk_driver.h. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wsk.h"
#include "wskndk.h"

#include "ndk_driver.h"

#include "live_count.h"
#include "openndk/wdk.h"
#include "openndk/verify.h"

enum { LOOPBACK = 1 };

static WSK_REGISTRATION registration;
static WSK_PROVIDER_NPI npi;
static WSK_PROVIDER_NDK_DISPATCH ndk;
NDK_ADAPTER *adapter;
NDK_PD *pd;
NDK_LISTENER *listener;
struct end near, far;
static SOCKADDR_IN address;
static UINT32 token;

void call_init(struct call *c)
{
    memset(c, 0, sizeof *c);
    KeInitializeEvent(&c->event, NotificationEvent, FALSE);
}

VOID request_done(PVOID context, NTSTATUS status)
{
    struct call *c = context;

    c->status = status;
    KeSetEvent(&c->event, IO_NO_INCREMENT, FALSE);
}

VOID create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    ((struct call *)context)->object = object;
    request_done(context, status);
}

VOID close_done(PVOID context)
{
    request_done(context, STATUS_SUCCESS);
}

NTSTATUS finish(struct call *c, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    assert_int_equal(KeWaitForSingleObject(&c->event, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    return c->status;
}

void *made(struct call *c, NTSTATUS status, void *inline_object)
{
    bool pended = status == STATUS_PENDING;

    assert_int_equal(finish(c, status), STATUS_SUCCESS);
    return pended ? c->object : inline_object;
}

void close_object(void *object)
{
    NDK_PD *any = object; /* every table begins with the close */
    struct call c;

    call_init(&c);
    assert_int_equal(finish(&c, any->Dispatch->NdkClosePd(&any->Header, close_done, &c)), STATUS_SUCCESS);
}

VOID cq_notified(PVOID context, NTSTATUS status)
{
    (void)status;
    if (context)
        KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

void open_end(struct end *e)
{
    MADE(NDK_CQ, e->cq,
         adapter->Dispatch->NdkCreateCq(adapter, 2 * DEPTH, cq_notified, NULL, NULL, create_done, &c_, &inline_));
    MADE(NDK_QP, e->qp,
         pd->Dispatch->NdkCreateQp(pd, e->cq, e->cq, e, DEPTH, DEPTH, 2, 2, INLINE, create_done, &c_, &inline_));
    e->buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    assert_non_null(e->buffer);
    e->connector = NULL;
}

void close_end(struct end *e)
{
    if (e->connector)
        close_object(e->connector);
    close_object(e->qp);
    close_object(e->cq);
    if (e->buffer)
        ExFreePoolWithTag(e->buffer, TAG);
}

static atomic_uintptr_t asked; /* the connector of the latest request */

static VOID connect_asked(PVOID context, NDK_CONNECTOR *connector)
{
    (void)context;
    atomic_store(&asked, (uintptr_t)connector);
}

NDK_CONNECTOR *wait_asked(void)
{
    uintptr_t connector;

    while ((connector = atomic_exchange(&asked, 0)) == 0)
        sched_yield();
    return (NDK_CONNECTOR *)connector;
}

void listen_at(PSOCKADDR at, ULONG length)
{
    struct call c;

    MADE(NDK_LISTENER, listener,
         adapter->Dispatch->NdkCreateListener(adapter, connect_asked, NULL, create_done, &c_, &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, listener->Dispatch->NdkListen(listener, at, length, request_done, &c)), STATUS_SUCCESS);
    assert_int_equal(listener->Dispatch->NdkGetLocalAddress(listener, at, &length), STATUS_SUCCESS);
}

NDK_VERSION open_version = { 2, 1 };

void open_adapter(void)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI client = { NULL, &dispatch };

    assert_int_equal(WskRegister(&client, &registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi), STATUS_SUCCESS);
    assert_int_equal(npi.Dispatch->WskControlClient(npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
                                                    sizeof ndk, &ndk, NULL, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, open_version, LOOPBACK, &adapter), STATUS_SUCCESS);
}

void call_close_adapter(void)
{
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
}

void close_adapter(void)
{
    call_close_adapter();
    WskReleaseProviderNPI(&registration);
    WskDeregister(&registration);
    assert_int_equal(live_count(), 0);
}

void open_all(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    open_adapter();
    MADE(NDK_PD, pd, adapter->Dispatch->NdkCreatePd(adapter, create_done, &c_, &inline_));
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &token);
    open_end(&near);
    open_end(&far);
    MADE(NDK_CONNECTOR, near.connector, adapter->Dispatch->NdkCreateConnector(adapter, create_done, &c_, &inline_));
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.S_un.S_addr = 0x0100007f;
    listen_at((PSOCKADDR)&address, sizeof address);
}

void close_all(void)
{
    close_end(&near);
    close_end(&far);
    close_object(listener);
    close_object(pd);
    close_adapter();
}

NTSTATUS start_connect(NDK_FN_REQUEST_COMPLETION done, void *context)
{
    SOCKADDR_IN source = address;

    source.sin_port = 0;
    return near.connector->Dispatch->NdkConnect(near.connector, near.qp, (PSOCKADDR)&source, sizeof source,
                                                (PSOCKADDR)&address, sizeof address, 1, 1, NULL, 0, done, context);
}

void establish(void)
{
    struct call connecting, accepting, completing;
    NTSTATUS connect_status, accept_status;

    call_init(&connecting);
    call_init(&accepting);
    call_init(&completing);
    connect_status = start_connect(request_done, &connecting);
    far.connector = wait_asked();
    accept_status = far.connector->Dispatch->NdkAccept(far.connector, far.qp, 1, 1, NULL, 0, NULL, NULL, request_done,
                                                       &accepting);
    assert_int_equal(finish(&connecting, connect_status), STATUS_SUCCESS);
    assert_int_equal(finish(&completing, near.connector->Dispatch->NdkCompleteConnect(near.connector, NULL, NULL,
                                                                                      request_done, &completing)),
                     STATUS_SUCCESS);
    assert_int_equal(finish(&accepting, accept_status), STATUS_SUCCESS);
}

void disconnect(void)
{
    struct call one, other;
    NTSTATUS status;

    call_init(&one);
    call_init(&other);
    status = near.connector->Dispatch->NdkDisconnect(near.connector, request_done, &one);
    assert_int_equal(finish(&other, far.connector->Dispatch->NdkDisconnect(far.connector, request_done, &other)),
                     STATUS_SUCCESS);
    assert_int_equal(finish(&one, status), STATUS_SUCCESS);
}

/* A region over the buffer, with the MDL that it was registered with. */
NDK_MR *register_buffer(UCHAR *buffer, PMDL *mdl)
{
    struct call c;
    NDK_MR *mr;

    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    *mdl = IoAllocateMdl(buffer, BYTES, FALSE, FALSE, NULL);
    assert_non_null(*mdl);
    MmBuildMdlForNonPagedPool(*mdl);
    call_init(&c);
    assert_int_equal(
        finish(&c, mr->Dispatch->NdkRegisterMr(mr, *mdl, BYTES, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, request_done, &c)),
        STATUS_SUCCESS);
    return mr;
}

void deregister(NDK_MR *mr)
{
    struct call c;

    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkDeregisterMr(mr, request_done, &c)), STATUS_SUCCESS);
    close_object(mr);
}

NDK_RESULT_EX next_result(struct end *e)
{
    NDK_RESULT_EX result;

    while (e->cq->Dispatch->NdkGetCqResultsEx(e->cq, &result, 1) == 0)
        sched_yield();
    assert_ptr_equal(result.QPContext, e);
    return result;
}
