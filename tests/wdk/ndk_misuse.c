/* SPDX-License-Identifier: MIT */
/*
 * Mistakes of drivers with NDK objects and in callbacks: each is reported by its rule, and a correct driver has no
 * reports.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <malloc.h>
#include <sched.h>
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

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"
#include "ws2ipdef.h"

#include "ndk_driver.h"
#include "openndk/config.h"
#include "report.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "openndk/verify.h"

extern const char __executable_start, etext; /* symbols of the linker: the program's code */

/* ---- nothing wrong ---- */

/* Completions return the contexts of their requests, also for silent requests and contexts in pool. */
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
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, (PVOID)1, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS),
                     STATUS_SUCCESS);
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, (PVOID)2, &sge, 1, 0), STATUS_SUCCESS);
    assert_ptr_equal(next_result(&near).RequestContext, (PVOID)2);
    assert_ptr_equal(next_result(&far).RequestContext, (PVOID)5);
    assert_ptr_equal(next_result(&far).RequestContext, context);
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

/* ---- where threads go on ---- */

static atomic_bool slow_to_let_go, shrunk;

/*
 * Replaces the C library's function: the affinity can change after a thread was bound to a processor, and the process
 * may have fewer processors than at its start.
 */
int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set)
{
    static _Thread_local bool called;
    static const struct timespec slow = { 0, 20000000 };

    if (atomic_load(&shrunk) && CPU_COUNT(set) > 1 && CPU_COUNT(set) < CPU_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    if (thread)
        called = !called;
    if (thread && !called && atomic_load(&slow_to_let_go))
        nanosleep(&slow, NULL);
    return (int)syscall(SYS_sched_setaffinity, thread, size, set);
}

/* Reads them while no thread changes them. */
static int processors_of_thread(void)
{
    cpu_set_t set;

    while (atomic_load(&thread_self()->pulls))
        sched_yield();
    return sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
}

/* Each call waits for a completion, and a thread of the provider wakes it. */
static void connect_once(void)
{
    open_all();
    establish();
    disconnect();
    close_all();
}

static void test_woken_threads_stay_free(void **state)
{
    int before = processors_of_thread();
    KAFFINITY first;

    (void)state;
    thread_self()->kind = THREAD_WORKER;
    connect_once();
    assert_int_not_equal(before, 0);
    assert_int_equal(processors_of_thread(), before);
    atomic_store(&shrunk, true);
    connect_once();
    assert_int_equal(processors_of_thread(), before);
    atomic_store(&shrunk, false);
    first = KeSetSystemAffinityThreadEx(1);
    connect_once();
    assert_int_equal(processors_of_thread(), 1);
    KeRevertToUserAffinityThreadEx(first);
    thread_self()->kind = THREAD_OTHER;
}

static void test_woken_threads_may_choose(void **state)
{
    KAFFINITY first;

    (void)state;
    thread_self()->kind = THREAD_WORKER;
    atomic_store(&slow_to_let_go, true);
    open_all();
    establish();
    first = KeSetSystemAffinityThreadEx(1);
    assert_int_equal(processors_of_thread(), 1);
    atomic_store(&slow_to_let_go, false);
    KeRevertToUserAffinityThreadEx(first);
    disconnect();
    close_all();
    thread_self()->kind = THREAD_OTHER;
}

/* ---- objects ---- */

static void test_closed_twice(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    close_object(near.connector);
    r = report_start();
    assert_int_equal(near.connector->Dispatch->NdkCloseConnector(&near.connector->Header, close_done, NULL),
                     STATUS_PENDING);
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
    MADE(NDK_CQ, cq,
         adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, NULL, NULL, create_done, &c_, &inline_));
    close_object(cq);
    r = report_start();
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    report_is(r, "ndk-closed-used in NdkArmCq");
    r = report_start();
    assert_false(NT_SUCCESS(pd->Dispatch->NdkCreateQp(pd, cq, near.cq, NULL, 1, 1, 1, 1, 0, create_done, NULL, &qp)));
    report_is(r, "ndk-closed-used in NdkCreateQp");
    close_all();
}

/* The close of a protection domain is pending until its region has been closed. */
static void test_used_while_close_is_pending(void **state)
{
    struct report *r;
    struct call closing;
    NDK_PD *own;
    NDK_MR *mr, *none = NULL;
    NTSTATUS status;

    (void)state;
    open_all();
    MADE(NDK_PD, own, adapter->Dispatch->NdkCreatePd(adapter, create_done, &c_, &inline_));
    MADE(NDK_MR, mr, own->Dispatch->NdkCreateMr(own, FALSE, create_done, &c_, &inline_));
    call_init(&closing);
    status = own->Dispatch->NdkClosePd(&own->Header, close_done, &closing);
    assert_int_equal(status, STATUS_PENDING);
    r = report_start();
    assert_false(NT_SUCCESS(own->Dispatch->NdkCreateMr(own, FALSE, create_done, NULL, &none)));
    report_says(r, "ndk-closed-used in NdkCreateMr", " is closed, and the close is pending");
    close_object(mr);
    (void)finish(&closing, status);
    close_all();
}

/*
 * Queue pairs that are created and closed on one completion queue leak nothing. The latest closed ones are kept to
 * report later uses. (mallinfo2 returns nothing under a sanitizer, which then checks the memory itself.)
 */
static void test_pairs_that_come_and_go(void **state)
{
    enum { KEPT = 1500, MORE = 6000 };
    NDK_RESULT_EX result;
    size_t before = 0;
    NDK_QP *qp;

    (void)state;
    open_all();
    for (int i = 0; i < KEPT + MORE; i++) {
        if (i == KEPT)
            before = mallinfo2().uordblks;
        MADE(NDK_QP, qp,
             pd->Dispatch->NdkCreateQp(pd, near.cq, near.cq, &near, 1, 1, 1, 1, 0, create_done, &c_, &inline_));
        assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_SUCCESS);
        qp->Dispatch->NdkFlush(qp);
        assert_int_equal(next_result(&near).Status, STATUS_CANCELLED);
        close_object(qp);
        assert_int_equal(near.cq->Dispatch->NdkGetCqResultsEx(near.cq, &result, 1), 0);
    }
    assert_true(mallinfo2().uordblks < before + MORE * 100); /* in bytes; a queue pair needs about 500 */
    close_all();
}

/* The report concerns the object that was not closed, not the completion routine of its create. */
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

static VOID nothing_done(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

/* A connector from an event belongs to the driver that created the listener. */
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
    fprintf(line, "NDK object %p (NDK_CONNECTOR)", (void *)far.connector); /* an index of the host, as in the report */
    fclose(line);
    if (!strstr(text, wanted))
        fail_msg("no %s in:\n%s", wanted, text);
    free(wanted);
    free(text);
    close_all();
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

/* A connect with that routine, ended by a reject. The close follows the completion. */
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
    SOCKADDR_IN6 at = { .sin6_family = AF_INET6 };

    (void)state;
    open_adapter();
    at.sin6_addr.u.Byte[15] = 1;
    listen_at((PSOCKADDR)&at, sizeof at);
    assert_int_equal(at.sin6_family, 23);
    close_object(listener);
    close_adapter();
}

/* The last test, because the mapping remains. It remains with checks off, too. */
static void test_mapped_address(void **state)
{
    (void)state;
    assert_false(ondk_wdk_map_address("192.168.7.7", "::1"));
    assert_false(ondk_wdk_map_address("nowhere", "127.0.0.1"));
    assert_true(ondk_wdk_map_address("192.168.7.7", "127.0.0.2"));
    assert_true(ondk_wdk_map_address("192.168.7.7", "127.0.0.1"));
    for (int on = 0; on < 2; on++) {
        SOCKADDR_IN at = { .sin_family = AF_INET };

        ondk_verify_set_mode(on ? ONDK_VERIFY_REPORT : ONDK_VERIFY_OFF);
        open_adapter();
        at.sin_addr.S_un.S_addr = 0x0707a8c0;
        listen_at((PSOCKADDR)&at, sizeof at);
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
        cmocka_unit_test(test_woken_threads_stay_free),
        cmocka_unit_test(test_woken_threads_may_choose),
        cmocka_unit_test(test_closed_twice),
        cmocka_unit_test(test_closed_adapter),
        cmocka_unit_test(test_closed_used),
        cmocka_unit_test(test_used_while_close_is_pending),
        cmocka_unit_test(test_pairs_that_come_and_go),
        cmocka_unit_test(test_left_open),
        cmocka_unit_test(test_connector_of_an_event_left_open),
        cmocka_unit_test(test_irql_changed),
        cmocka_unit_test(test_lock_kept),
        cmocka_unit_test(test_irql_of_calls),
        cmocka_unit_test(test_ipv6_family),
        cmocka_unit_test(test_mapped_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
