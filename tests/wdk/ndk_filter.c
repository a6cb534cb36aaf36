/* SPDX-License-Identifier: MIT */
/*
 * What a driver can do wrong with NDK, each seen and told as what it is; and that one which does nothing wrong hears
 * nothing.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "wsk.h"
#include "wskndk.h"
#include "ws2ipdef.h"

#include "openndk/config.h"
#include "report.h"
#include "wdk/live.h"

extern const char __executable_start, etext; /* the linker's: where the program's code is */

enum { LOOPBACK = 1, TAG = 0x74736554, DEPTH = 8, BYTES = 256 };

/* ---- a driver: one adapter, and on it both ends of a connection ---- */

struct end {
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    UCHAR *buffer;
};

static WSK_REGISTRATION registration;
static WSK_PROVIDER_NPI npi;
static WSK_PROVIDER_NDK_DISPATCH ndk;
static NDK_ADAPTER *adapter;
static NDK_PD *pd;
static NDK_LISTENER *listener;
static struct end near, far;
static SOCKADDR_IN address;
static UINT32 token;

/* A call that waits as a driver does. */
struct call {
    KEVENT event;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

static void call_init(struct call *c)
{
    memset(c, 0, sizeof *c);
    KeInitializeEvent(&c->event, NotificationEvent, FALSE);
}

static VOID request_done(PVOID context, NTSTATUS status)
{
    struct call *c = context;

    c->status = status;
    KeSetEvent(&c->event, IO_NO_INCREMENT, FALSE);
}

static VOID create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    ((struct call *)context)->object = object;
    request_done(context, status);
}

static VOID close_done(PVOID context)
{
    request_done(context, STATUS_SUCCESS);
}

static VOID nothing_done(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static NTSTATUS finish(struct call *c, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    assert_int_equal(KeWaitForSingleObject(&c->event, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    return c->status;
}

static void *made(struct call *c, NTSTATUS status, void *inline_object)
{
    bool pended = status == STATUS_PENDING;

    assert_int_equal(finish(c, status), STATUS_SUCCESS);
    return pended ? c->object : inline_object;
}

static void close_object(void *object)
{
    NDK_PD *any = object; /* every table begins with the close */
    struct call c;

    call_init(&c);
    assert_int_equal(finish(&c, any->Dispatch->NdkClosePd(&any->Header, close_done, &c)), STATUS_SUCCESS);
}

static VOID cq_notified(PVOID context, NTSTATUS status)
{
    (void)status;
    if (context)
        KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

/* A creating call, whichever way it answers. In it, c_ and inline_ are the context and where an object goes. */
#define MADE(type, variable, call_)                                        \
    do {                                                                   \
        struct call c_;                                                    \
        type *inline_ = NULL;                                              \
        NTSTATUS status_;                                                  \
        call_init(&c_);                                                    \
        status_ = call_;                                                   \
        (variable) = made(&c_, status_, inline_);                          \
    } while (0)

static void open_end(struct end *e)
{
    MADE(NDK_CQ, e->cq, adapter->Dispatch->NdkCreateCq(adapter, 2 * DEPTH, cq_notified, NULL, NULL, create_done, &c_,
                                                       &inline_));
    MADE(NDK_QP, e->qp, pd->Dispatch->NdkCreateQp(pd, e->cq, e->cq, e, DEPTH, DEPTH, 2, 2, 0, create_done, &c_, &inline_));
    e->buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    assert_non_null(e->buffer);
    e->connector = NULL;
}

static void close_end(struct end *e)
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

static NDK_CONNECTOR *wait_asked(void)
{
    uintptr_t connector;

    while ((connector = atomic_exchange(&asked, 0)) == 0)
        sched_yield();
    return (NDK_CONNECTOR *)connector;
}

static void listen_at(SOCKADDR_IN *at)
{
    ULONG length = sizeof *at;
    struct call c;

    MADE(NDK_LISTENER, listener, adapter->Dispatch->NdkCreateListener(adapter, connect_asked, NULL, create_done, &c_,
                                                                      &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, listener->Dispatch->NdkListen(listener, (PSOCKADDR)at, sizeof *at, request_done, &c)),
                     STATUS_SUCCESS);
    assert_int_equal(listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)at, &length), STATUS_SUCCESS);
}

static void open_adapter(void)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI client = { NULL, &dispatch };

    assert_int_equal(WskRegister(&client, &registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi), STATUS_SUCCESS);
    assert_int_equal(npi.Dispatch->WskControlClient(npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof ndk,
                                                    &ndk, NULL, NULL), STATUS_SUCCESS);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, (NDK_VERSION){ 2, 1 }, LOOPBACK, &adapter), STATUS_SUCCESS);
}

static void close_adapter(void)
{
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
    WskReleaseProviderNPI(&registration);
    WskDeregister(&registration);
    assert_int_equal(live_count(), 0);
}

static void open_all(void)
{
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_GO_ON);
    open_adapter();
    MADE(NDK_PD, pd, adapter->Dispatch->NdkCreatePd(adapter, create_done, &c_, &inline_));
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &token);
    open_end(&near);
    open_end(&far);
    MADE(NDK_CONNECTOR, near.connector, adapter->Dispatch->NdkCreateConnector(adapter, create_done, &c_, &inline_));
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.S_un.S_addr = 0x0100007f;
    listen_at(&address);
}

static void close_all(void)
{
    close_end(&near);
    close_end(&far);
    close_object(listener);
    close_object(pd);
    close_adapter();
}

static NTSTATUS start_connect(NDK_FN_REQUEST_COMPLETION done, void *context)
{
    SOCKADDR_IN source = address;

    source.sin_port = 0;
    return near.connector->Dispatch->NdkConnect(near.connector, near.qp, (PSOCKADDR)&source, sizeof source,
                                                (PSOCKADDR)&address, sizeof address, 1, 1, NULL, 0, done, context);
}

static void establish(void)
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

static void disconnect(void)
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
static NDK_MR *register_buffer(UCHAR *buffer, PMDL *mdl)
{
    struct call c;
    NDK_MR *mr;

    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    *mdl = IoAllocateMdl(buffer, BYTES, FALSE, FALSE, NULL);
    assert_non_null(*mdl);
    MmBuildMdlForNonPagedPool(*mdl);
    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkRegisterMr(mr, *mdl, BYTES, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, request_done,
                                                            &c)), STATUS_SUCCESS);
    return mr;
}

static void deregister(NDK_MR *mr)
{
    struct call c;

    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkDeregisterMr(mr, request_done, &c)), STATUS_SUCCESS);
    close_object(mr);
}

static NDK_RESULT_EX poll(struct end *e)
{
    NDK_RESULT_EX result;

    while (e->cq->Dispatch->NdkGetCqResultsEx(e->cq, &result, 1) == 0)
        sched_yield();
    assert_ptr_equal(result.QPContext, e);
    return result;
}

/* ---- nothing wrong ---- */

/* Contexts of requests come back as they were given, silent ones and those in pool too. */
static void use_all(void)
{
    PMDL mdl[2];
    NDK_MR *mr[2];
    NDK_SGE sge;
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);

    open_all();
    establish();
    mr[0] = register_buffer(near.buffer, &mdl[0]);
    mr[1] = register_buffer(far.buffer, &mdl[1]);
    memset(near.buffer, 7, BYTES);
    sge = (NDK_SGE){ .VirtualAddress = far.buffer, .Length = BYTES };
    sge.MemoryRegionToken = mr[1]->Dispatch->NdkGetLocalTokenFromMr(mr[1]);
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, i ? context : (PVOID)5, &sge, 1), STATUS_SUCCESS);
    sge.VirtualAddress = near.buffer;
    sge.MemoryRegionToken = mr[0]->Dispatch->NdkGetLocalTokenFromMr(mr[0]);
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, (PVOID)1, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, (PVOID)2, &sge, 1, 0), STATUS_SUCCESS);
    assert_ptr_equal(poll(&near).RequestContext, (PVOID)2);
    assert_ptr_equal(poll(&far).RequestContext, (PVOID)5);
    assert_ptr_equal(poll(&far).RequestContext, context);
    assert_int_equal(far.buffer[BYTES - 1], 7);
    ExFreePoolWithTag(context, TAG);
    disconnect();
    for (int i = 0; i < 2; i++) {
        deregister(mr[i]);
        IoFreeMdl(mdl[i]);
    }
    close_all();
}

static void test_good_driver(void **state)
{
    struct report *r = report_start();

    (void)state;
    use_all();
    report_is_empty(r);
}

static void test_good_driver_whose_creates_pend(void **state)
{
    struct report *r = report_start();
    ondk_config_t config;

    (void)state;
    ondk_config_init(&config);
    config.pend_creates = 1;
    assert_int_equal(ondk_configure(&config), 0);
    use_all();
    assert_int_equal(ondk_configure(NULL), 0);
    report_is_empty(r);
}

/* ---- objects ---- */

static void test_closed_twice(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    close_object(near.connector);
    r = report_start();
    assert_int_equal(near.connector->Dispatch->NdkCloseConnector(&near.connector->Header, close_done, NULL), STATUS_PENDING);
    report_is(r, "ndk-closed-twice in NdkCloseConnector");
    near.connector = NULL;
    close_all();
}

static void test_closed_adapter(void **state)
{
    struct report *r;
    NDK_PD *none = NULL;
    ULONG size = 0;

    (void)state;
    open_all();
    close_all();
    r = report_start();
    (void)adapter->Dispatch->NdkQueryAdapterInfo(adapter, NULL, &size);
    report_is(r, "ndk-closed-used in NdkQueryAdapterInfo");
    r = report_start();
    assert_false(NT_SUCCESS(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &none)));
    report_is(r, "ndk-closed-used in NdkCreatePd");
}

static void test_closed_used(void **state)
{
    struct report *r;
    NDK_CQ *cq;
    NDK_QP *qp = NULL;

    (void)state;
    open_all();
    MADE(NDK_CQ, cq, adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, NULL, NULL, create_done, &c_, &inline_));
    close_object(cq);
    r = report_start();
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    report_is(r, "ndk-closed-used in NdkArmCq");
    r = report_start();
    assert_false(NT_SUCCESS(pd->Dispatch->NdkCreateQp(pd, cq, near.cq, NULL, 1, 1, 1, 1, 0, create_done, NULL, &qp)));
    report_is(r, "ndk-closed-used in NdkCreateQp");
    close_all();
}

/* Not the completion routine of a create is what counts, but that nobody closed what it made. */
static void test_left_open(void **state)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    (void)state;
    open_all();
    (void)live_report(out);
    fclose(out);
    assert_non_null(strstr(text, "NDK_ADAPTER"));
    assert_non_null(strstr(text, "NDK_PD"));
    assert_non_null(strstr(text, "NDK_LISTENER"));
    assert_non_null(strstr(text, "NDK_QP"));
    assert_non_null(strstr(text, "#0 "));
    free(text);
    close_all();
}

/* A connector that came with an event counts as its listener's maker's. */
static void test_connector_of_an_event_left_open(void **state)
{
    char *text = NULL, *wanted = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length), *line = open_memstream(&wanted, &length);

    (void)state;
    open_all();
    assert_int_equal(start_connect(nothing_done, NULL), STATUS_PENDING);
    far.connector = wait_asked();
    assert_true(live_report_of(out, &__executable_start, (uint64_t)(&etext - &__executable_start)) > 0);
    fclose(out);
    fprintf(line, "NDK object %p (NDK_CONNECTOR)", (void *)far.connector); /* the host's, as the report's */
    fclose(line);
    if (!strstr(text, wanted))
        fail_msg("no %s in:\n%s", wanted, text);
    free(wanted);
    free(text);
    close_all();
}

/* ---- contexts and buffers ---- */

static void test_context_freed(void **state)
{
    struct report *r;
    PVOID context;

    (void)state;
    open_all();
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    assert_int_equal(start_connect(nothing_done, context), STATUS_PENDING);
    far.connector = wait_asked(); /* neither accepted nor rejected: it stays pending */
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is(r, "context-freed-in-use in ExFreePoolWithTag");
    close_all();
}

static void test_callback_context_freed(void **state)
{
    struct report *r;
    PVOID context;
    NDK_CQ *cq;

    (void)state;
    open_all();
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    MADE(NDK_CQ, cq, adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, context, NULL, create_done, &c_, &inline_));
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is(r, "context-freed-in-use in ExFreePoolWithTag");
    close_object(cq);
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    MADE(NDK_CQ, cq, adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, context, NULL, create_done, &c_, &inline_));
    close_object(cq);
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is_empty(r);
    close_all();
}

static void test_posted_memory_freed(void **state)
{
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    UCHAR *other = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    struct report *r;
    NDK_SGE sge;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = register_buffer(other, &mdl);
    sge = (NDK_SGE){ .VirtualAddress = other + 16, .Length = 16 };
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, context, &sge, 1), STATUS_SUCCESS);
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is(r, "context-freed-in-use in ExFreePoolWithTag");
    r = report_start();
    near.qp->Dispatch->NdkFlush(near.qp);
    assert_int_equal(poll(&near).Status, STATUS_CANCELLED);
    deregister(mr);
    IoFreeMdl(mdl);
    ExFreePoolWithTag(other, TAG);
    report_is_empty(r);
    close_all();
}

static void test_posted_buffer_freed(void **state)
{
    UCHAR *other = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    struct report *r;
    NDK_SGE sge;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = register_buffer(other, &mdl);
    sge = (NDK_SGE){ .VirtualAddress = other + 16, .Length = 16 };
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, NULL, &sge, 1), STATUS_SUCCESS);
    r = report_start();
    ExFreePoolWithTag(other, TAG);
    report_is(r, "context-freed-in-use in ExFreePoolWithTag");
    near.qp->Dispatch->NdkFlush(near.qp);
    assert_int_equal(poll(&near).Status, STATUS_CANCELLED);
    deregister(mr);
    IoFreeMdl(mdl);
    close_all();
}

/* What was posted is done with when the disconnect has completed, polled or not. */
static void test_freed_after_disconnect(void **state)
{
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    struct report *r;

    (void)state;
    open_all();
    establish();
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, context, NULL, 0), STATUS_SUCCESS);
    disconnect();
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is_empty(r);
    close_all();
}

static void test_mdl_freed(void **state)
{
    struct report *r;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = register_buffer(near.buffer, &mdl);
    r = report_start();
    IoFreeMdl(mdl);
    report_is(r, "mdl-freed-in-use in IoFreeMdl");
    deregister(mr);
    close_all();
}

/* ---- the stack ---- */

/* A frame of its own that ends while the request is pending. */
__attribute__((noinline)) static void connect_and_leave(NDK_FN_REQUEST_COMPLETION done)
{
    volatile char room[8192];
    struct call context;

    room[0] = room[sizeof room - 1] = 0;
    call_init(&context);
    assert_int_equal(start_connect(done, &context), STATUS_PENDING);
    assert_int_equal(room[0], 0);
}

static void test_dead_context_at_the_next_call(void **state)
{
    struct report *r;
    UINT32 seen;

    (void)state;
    open_all();
    connect_and_leave(nothing_done);
    far.connector = wait_asked();
    r = report_start();
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &seen);
    report_is(r, "context-on-dead-stack in NdkConnect");
    r = report_start();
    close_all();
    report_is_empty(r); /* once is enough */
}

/* Does the thread sleep? As the host's kernel says. */
static bool sleeps(pid_t thread)
{
    char path[64], text[128] = "";
    FILE *in;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    in = fopen(path, "r");
    if (!in)
        return false;
    if (!fgets(text, sizeof text, in))
        text[0] = 0;
    fclose(in);
    return strstr(text, ") S ") != NULL;
}

static pid_t waiting_thread;
static atomic_int is_waiting;
static KEVENT completion_came;

static VOID wake_it(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    KeSetEvent(&completion_came, IO_NO_INCREMENT, FALSE);
}

static void *reject_when_it_sleeps(void *arg)
{
    (void)arg;
    far.connector = wait_asked();
    while (!atomic_load(&is_waiting) || !sleeps(waiting_thread))
        sched_yield();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    return NULL;
}

static void test_dead_context_at_its_completion(void **state)
{
    struct report *r;
    pthread_t rejecting;

    (void)state;
    open_all();
    waiting_thread = (pid_t)syscall(SYS_gettid);
    r = report_start();
    KeInitializeEvent(&completion_came, NotificationEvent, FALSE);
    connect_and_leave(wake_it);
    assert_int_equal(pthread_create(&rejecting, NULL, reject_when_it_sleeps, NULL), 0);
    atomic_store(&is_waiting, 1);
    assert_int_equal(KeWaitForSingleObject(&completion_came, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    pthread_join(rejecting, NULL);
    close_all();
    report_is(r, "context-on-dead-stack in NdkConnect");
}

/* ---- callbacks ---- */

static KSPIN_LOCK spin;
static atomic_int entered;

static VOID lower_irql(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    KeLowerIrql(PASSIVE_LEVEL);
    atomic_store(&entered, 1);
}

static VOID keep_lock(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    KeAcquireSpinLockAtDpcLevel(&spin);
    atomic_store(&entered, 1);
}

/* A connect with that routine, ended by a reject. Closing comes behind the completion. */
static void run_callback(NDK_FN_REQUEST_COMPLETION routine)
{
    open_all();
    atomic_store(&entered, 0);
    assert_int_equal(start_connect(routine, NULL), STATUS_PENDING);
    far.connector = wait_asked();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    while (!atomic_load(&entered))
        sched_yield();
    close_all();
}

static void test_irql_changed(void **state)
{
    struct report *r = report_start();

    (void)state;
    run_callback(lower_irql);
    report_is(r, "irql-changed in NdkRequestCompletion");
}

static void test_lock_kept(void **state)
{
    struct report *r = report_start();

    (void)state;
    KeInitializeSpinLock(&spin);
    run_callback(keep_lock);
    report_is(r, "lock-held-at-end in NdkRequestCompletion");
}

static void test_irql_of_calls(void **state)
{
    struct report *r;
    KIRQL old;

    (void)state;
    open_all();
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    r = report_start();
    near.cq->Dispatch->NdkArmCq(near.cq, NDK_CQ_NOTIFY_ANY);
    report_is_empty(r);
    KeRaiseIrql(HIGH_LEVEL, &old);
    r = report_start();
    near.cq->Dispatch->NdkArmCq(near.cq, NDK_CQ_NOTIFY_ANY);
    report_is(r, "irql-too-high in NdkArmCq");
    KeLowerIrql(PASSIVE_LEVEL);
    close_all();
}

/* ---- addresses ---- */

static void test_ipv6_family(void **state)
{
    SOCKADDR_IN6 at = { .sin6_family = AF_INET6 }, seen;
    ULONG length = sizeof seen;
    struct call c;

    (void)state;
    open_adapter();
    at.sin6_addr.u.Byte[15] = 1;
    MADE(NDK_LISTENER, listener, adapter->Dispatch->NdkCreateListener(adapter, connect_asked, NULL, create_done, &c_,
                                                                      &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, listener->Dispatch->NdkListen(listener, (PSOCKADDR)&at, sizeof at, request_done, &c)),
                     STATUS_SUCCESS);
    assert_int_equal(listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)&seen, &length), STATUS_SUCCESS);
    assert_int_equal(seen.sin6_family, 23);
    close_object(listener);
    close_adapter();
}

/* The last: a map stays. With checks off, too. */
static void test_mapped_address(void **state)
{
    (void)state;
    assert_false(ondk_wdk_map_address("192.168.7.7", "::1"));
    assert_false(ondk_wdk_map_address("nowhere", "127.0.0.1"));
    assert_true(ondk_wdk_map_address("192.168.7.7", "127.0.0.2"));
    assert_true(ondk_wdk_map_address("192.168.7.7", "127.0.0.1"));
    for (int on = 0; on < 2; on++) {
        SOCKADDR_IN at = { .sin_family = AF_INET };

        ondk_wdk_set_checks(on ? ONDK_WDK_CHECKS_GO_ON : ONDK_WDK_CHECKS_OFF);
        open_adapter();
        at.sin_addr.S_un.S_addr = 0x0707a8c0;
        listen_at(&at);
        assert_int_equal(at.sin_addr.S_un.S_addr, 0x0707a8c0);
        assert_int_not_equal(at.sin_port, 0);
        close_object(listener);
        close_adapter();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_driver),
        cmocka_unit_test(test_good_driver_whose_creates_pend),
        cmocka_unit_test(test_closed_twice),
        cmocka_unit_test(test_closed_adapter),
        cmocka_unit_test(test_closed_used),
        cmocka_unit_test(test_left_open),
        cmocka_unit_test(test_connector_of_an_event_left_open),
        cmocka_unit_test(test_context_freed),
        cmocka_unit_test(test_callback_context_freed),
        cmocka_unit_test(test_posted_memory_freed),
        cmocka_unit_test(test_posted_buffer_freed),
        cmocka_unit_test(test_freed_after_disconnect),
        cmocka_unit_test(test_mdl_freed),
        cmocka_unit_test(test_dead_context_at_the_next_call),
        cmocka_unit_test(test_dead_context_at_its_completion),
        cmocka_unit_test(test_irql_changed),
        cmocka_unit_test(test_lock_kept),
        cmocka_unit_test(test_irql_of_calls),
        cmocka_unit_test(test_ipv6_family),
        cmocka_unit_test(test_mapped_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
