/* SPDX-License-Identifier: MIT */
/* Drivers that leave NDK objects and adapters open, and calls that wait for long. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "wsk.h"
#include "wskndk.h"

#include "ndk_driver.h"
#include "openndk/verify.h"
#include "report.h"
#include "verify/thread_stack.h"

enum { LOOPBACK = 1, HOUR_MS = 3600000 };

static void set_limit(uint32_t ms)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.stall_ms = ms;
    assert_int_equal(ondk_verify_configure(&config), 0);
}

static struct report *start(uint32_t stall_ms)
{
    set_limit(stall_ms);
    return report_start();
}

/* A client of its own, because close_adapter expects that nothing is left. */
struct client {
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter;
};

static void client_open(struct client *c)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI npi = { NULL, &dispatch };

    assert_int_equal(WskRegister(&npi, &c->registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(&c->registration, WSK_INFINITE_WAIT, &c->npi), STATUS_SUCCESS);
    assert_int_equal(c->npi.Dispatch->WskControlClient(c->npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
                                                       sizeof c->ndk, &c->ndk, NULL, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(c->ndk.WskOpenNdkAdapter(c->npi.Client, (NDK_VERSION){ 2, 1 }, LOOPBACK, &c->adapter),
                     STATUS_SUCCESS);
}

/* WskCloseNdkAdapter returns although an object is open, and WskDeregister does not wait for the adapter. */
static void test_object_left(void **state)
{
    struct report *r = start(1);
    static struct client c;
    NDK_PD *left = NULL;

    (void)state;
    client_open(&c);
    assert_int_equal(c.adapter->Dispatch->NdkCreatePd(c.adapter, create_done, NULL, &left), STATUS_SUCCESS);
    c.ndk.WskCloseNdkAdapter(c.npi.Client, c.adapter);
    WskReleaseProviderNPI(&c.registration);
    WskDeregister(&c.registration);
    report_says(r, "objects-left in WskCloseNdkAdapter", "NDK_PD 0x");
}

/* WskDeregister returns although an adapter is open. */
static void test_adapter_left(void **state)
{
    struct report *r = start(1);
    static struct client c;

    (void)state;
    client_open(&c);
    WskReleaseProviderNPI(&c.registration);
    WskDeregister(&c.registration);
    report_says(r, "objects-left in WskDeregister", "nobody has closed 1 adapter(s)");
}

/* Lets everything stall that waits now, until one breach and one stall are reported. */
static void wait_for_reports(const struct report *r, uint32_t advices_before)
{
    set_limit(1);
    while (report_so_far(r) == 0 || ondk_verify_advices() == advices_before)
        sched_yield();
    set_limit(HOUR_MS);
}

/* A connect request that nobody answers. NdkConnect is a stall, which is no breach. */
static void test_request_unanswered(void **state)
{
    uint32_t advices = ondk_verify_advices();
    struct call connecting;
    struct report *r = start(HOUR_MS);
    NTSTATUS status;

    (void)state;
    open_all();
    call_init(&connecting);
    status = start_connect(request_done, &connecting);
    far.connector = wait_asked();
    wait_for_reports(r, advices);
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(finish(&connecting, status), STATUS_CONNECTION_REFUSED);
    close_all();
    fflush(r->out);
    assert_non_null(strstr(r->text, "stall in NdkConnect: has not completed for "));
    report_says(r, "request-unanswered in NdkConnectEventCallback", "requested by 127.0.0.1:");
}

static atomic_int caller; /* ID of the thread of connect_and_wait; 0: it has not begun */
static NTSTATUS connected;

static VOID connect_and_wait(PVOID context)
{
    struct call connecting;

    (void)context;
    call_init(&connecting);
    atomic_store(&caller, (int)syscall(SYS_gettid));
    connected = finish(&connecting, start_connect(request_done, &connecting));
}

/* Returns true if the thread waits in this function. */
static bool waits_in(int thread, const char *function)
{
    char printed[8192] = "";
    struct stack s;
    FILE *to;

    if (!thread || thread_stack_capture(thread, &s) != THREAD_WAITS)
        return false;
    to = fmemopen(printed, sizeof printed, "w");
    assert_non_null(to);
    stack_print(&s, to, "");
    fclose(to);
    return strstr(printed, function);
}

/* The report of a stall has the stack at which the driver's thread waits for the call. */
static void test_waiting_thread(void **state)
{
    uint32_t advices = ondk_verify_advices();
    struct report *r = start(HOUR_MS);
    HANDLE handle;
    PVOID thread;

    (void)state;
    open_all();
    assert_int_equal(PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, connect_and_wait, NULL), STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(handle, 0, NULL, KernelMode, &thread, NULL), STATUS_SUCCESS);
    ZwClose(handle);
    far.connector = wait_asked();
    while (!waits_in(atomic_load(&caller), "finish"))
        sched_yield();
    wait_for_reports(r, advices);
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    ObDereferenceObject(thread);
    assert_int_equal(connected, STATUS_CONNECTION_REFUSED);
    close_all();
    fflush(r->out);
    assert_non_null(strstr(r->text, " waits at\n"));
    assert_non_null(strstr(strstr(r->text, " waits at\n"), " finish+0x"));
    report_says(r, "request-unanswered in NdkConnectEventCallback", "requested by 127.0.0.1:");
}

static VOID disconnected(PVOID context)
{
    KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

static NTSTATUS start_accept(struct call *c, KEVENT *event)
{
    call_init(c);
    KeInitializeEvent(event, NotificationEvent, FALSE);
    return far.connector->Dispatch->NdkAccept(far.connector, far.qp, 1, 1, NULL, 0, disconnected, event, request_done,
                                              c);
}

static NTSTATUS complete_connect(void)
{
    struct call c;

    call_init(&c);
    return finish(&c, near.connector->Dispatch->NdkCompleteConnect(near.connector, NULL, NULL, request_done, &c));
}

/* The driver waits for NdkAccept before it calls NdkCompleteConnect. */
static void test_connect_uncompleted(void **state)
{
    uint32_t advices = ondk_verify_advices();
    struct report *r = start(HOUR_MS);
    struct call connecting, accepting;
    NTSTATUS connect_status, accept_status;
    KEVENT event;

    (void)state;
    open_all();
    call_init(&connecting);
    connect_status = start_connect(request_done, &connecting);
    far.connector = wait_asked();
    accept_status = start_accept(&accepting, &event);
    assert_int_equal(finish(&connecting, connect_status), STATUS_SUCCESS);
    wait_for_reports(r, advices);
    assert_int_equal(complete_connect(), STATUS_SUCCESS);
    assert_int_equal(finish(&accepting, accept_status), STATUS_SUCCESS);
    disconnect();
    close_all();
    fflush(r->out);
    assert_non_null(strstr(r->text, "This is a deadlock if the program waits for NdkAccept"));
    report_says(r, "connect-uncompleted in NdkConnect", "connects to 127.0.0.1:");
}

static void test_disconnect_ignored(void **state)
{
    uint32_t advices = ondk_verify_advices();
    struct report *r = start(HOUR_MS);
    struct call connecting, accepting, disconnecting;
    NTSTATUS status, accept_status;
    KEVENT event;

    (void)state;
    open_all();
    call_init(&connecting);
    status = start_connect(request_done, &connecting);
    far.connector = wait_asked();
    accept_status = start_accept(&accepting, &event);
    assert_int_equal(finish(&connecting, status), STATUS_SUCCESS);
    assert_int_equal(complete_connect(), STATUS_SUCCESS);
    assert_int_equal(finish(&accepting, accept_status), STATUS_SUCCESS);
    call_init(&disconnecting);
    status = near.connector->Dispatch->NdkDisconnect(near.connector, request_done, &disconnecting);
    assert_int_equal(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    wait_for_reports(r, advices);
    close_object(far.connector);
    far.connector = NULL;
    (void)finish(&disconnecting, status);
    close_all();
    report_says(r, "disconnect-ignored in NdkDisconnectEventCallback", "accepted from 127.0.0.1:");
}

static void post_send(ULONG flags)
{
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, near.qp, NULL, 0, flags), STATUS_SUCCESS);
}

/* Connects, and posts receives. */
static struct report *start_connected(void)
{
    struct report *r = start(HOUR_MS);

    open_all();
    establish();
    for (int i = 0; i < 2; i++)
        assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, NULL, 0), STATUS_SUCCESS);
    return r;
}

/* The request that ends the chain is posted too late. */
static void test_defer_open(void **state)
{
    struct report *r = start_connected();

    (void)state;
    post_send(NDK_OP_FLAG_DEFER);
    set_limit(1);
    while (report_so_far(r) == 0)
        sched_yield();
    set_limit(HOUR_MS);
    post_send(0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
    disconnect();
    close_all();
    report_says(r, "defer-open in NdkSend", "is the last one in a chain of 1");
}

/* Nobody polls or arms the completion queue before the limit, which is no breach. */
static void test_cq_unattended(void **state)
{
    struct report *r = start_connected();
    uint32_t advices = ondk_verify_advices();

    (void)state;
    post_send(0);
    set_limit(1);
    while (ondk_verify_advices() == advices)
        sched_yield();
    set_limit(HOUR_MS);
    assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
    disconnect();
    close_all();
    fflush(r->out);
    assert_non_null(strstr(r->text, "*** NDK advice: cq-unattended in NdkSend"));
    report_is_empty(r);
}

/* Calls that complete are no stalls. */
static void test_nothing_stalls(void **state)
{
    uint32_t before = ondk_verify_advices();
    struct report *r = start(HOUR_MS);

    (void)state;
    open_all();
    establish();
    disconnect();
    close_all();
    assert_int_equal(ondk_verify_advices(), before);
    report_is_empty(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_stalls), /* first, because the later tests leave objects */
        cmocka_unit_test(test_request_unanswered), cmocka_unit_test(test_connect_uncompleted),
        cmocka_unit_test(test_waiting_thread),     cmocka_unit_test(test_disconnect_ignored),
        cmocka_unit_test(test_defer_open),         cmocka_unit_test(test_cq_unattended),
        cmocka_unit_test(test_object_left),        cmocka_unit_test(test_adapter_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
