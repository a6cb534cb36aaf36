/* SPDX-License-Identifier: MIT */
/* System threads and references to them, IRQLs, processors, clocks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "threads.h"
#include "threads_more.h"

static void test_delay(void **state)
{
    LARGE_INTEGER a = KeQueryPerformanceCounter(NULL), interval = { .QuadPart = -50000 }, b;

    (void)state;
    assert_int_equal(KeDelayExecutionThread(KernelMode, FALSE, &interval), STATUS_SUCCESS);
    b = KeQueryPerformanceCounter(NULL);
    assert_true(b.QuadPart - a.QuadPart >= 50000);
}

static void terminate(PVOID context)
{
    UNREFERENCED_PARAMETER(context);
    PsTerminateSystemThread(STATUS_CANCELLED);
}

static void test_threads(void **state)
{
    uint32_t left = live_count();
    PVOID thread = thread_start(terminate, NULL), self;
    CLIENT_ID id = { 0 };
    HANDLE handle;

    (void)state;
    assert_int_equal(wait1(thread, NULL), STATUS_SUCCESS);
    assert_int_equal(PsGetThreadExitStatus(thread), STATUS_CANCELLED);
    assert_true(PsIsThreadTerminating(thread));
    assert_false(PsIsThreadTerminating(PsGetCurrentThread()));
    assert_ptr_equal(PsGetThreadProcessId(thread), PsGetCurrentProcessId());
    assert_ptr_equal(PsGetProcessId(PsGetCurrentProcess()), PsGetCurrentProcessId());
    assert_true(PsIsSystemThread(thread));
    ObDereferenceObject(thread);
    assert_int_equal(live_count(), left);
    assert_int_equal(PsTerminateSystemThread(STATUS_SUCCESS), STATUS_INVALID_PARAMETER);
    assert_false(PsIsSystemThread(PsGetCurrentThread()));
    assert_int_equal(PsCreateSystemThread(&handle, 0, NULL, NULL, &id, terminate, NULL), STATUS_SUCCESS);
    assert_non_null(id.UniqueThread);
    assert_int_equal(ObReferenceObjectByHandle(handle, 0, NULL, KernelMode, &thread, NULL), STATUS_SUCCESS);
    assert_ptr_equal(PsGetThreadId(thread), id.UniqueThread);
    assert_true(handle_close(handle));
    thread_join(thread);
    assert_int_equal(ObReferenceObjectByHandle(handle, 0, NULL, KernelMode, &thread, NULL), STATUS_INVALID_HANDLE);
    assert_int_equal(ObReferenceObjectByHandle((HANDLE)(LONG_PTR)-2, 0, *PsThreadType, KernelMode, &self, NULL),
                     STATUS_SUCCESS);
    assert_ptr_equal(self, KeGetCurrentThread());
    assert_int_equal(live_count(), left + 1);
    ObDereferenceObject(self);
    assert_int_equal(live_count(), left);
}

static void test_reference_once_too_often(void **state)
{
    struct report *r = report_start();

    (void)state;
    ObDereferenceObject(KeGetCurrentThread());
    report_is(r, "reference in ObDereferenceObject");
}

static void test_irql(void **state)
{
    struct report *r = report_start();
    KIRQL irql;

    (void)state;
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    PAGED_CODE();
    KeRaiseIrql(APC_LEVEL, &irql);
    PAGED_CODE();
    assert_true(KeAreAllApcsDisabled());
    assert_int_equal(KeRaiseIrqlToDpcLevel(), APC_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    report_is_empty(r);
    r = report_start();
    PAGED_CODE();
    report_is(r, "paged-code in PAGED_CODE: test_irql");
    r = report_start();
    KeRaiseIrql(PASSIVE_LEVEL, &irql);
    report_is(r, "irql-wrong-way in KeRaiseIrql");
    r = report_start();
    KeLowerIrql(DISPATCH_LEVEL);
    report_is(r, "irql-wrong-way in KeLowerIrql");
    r = report_start();
    KeEnterCriticalRegion();
    report_is(r, "irql-too-high in KeEnterCriticalRegion");
    KeLowerIrql(PASSIVE_LEVEL);
    KeLeaveCriticalRegion();
    r = report_start();
    KeLeaveCriticalRegion();
    report_is(r, "lock-not-held in KeLeaveCriticalRegion");
    KeEnterGuardedRegion();
    assert_true(KeAreAllApcsDisabled());
    KeLeaveGuardedRegion();
    assert_false(KeAreAllApcsDisabled());
}

static void raise_and_end(PVOID context)
{
    UNREFERENCED_PARAMETER(context);
    (void)KeRaiseIrqlToDpcLevel();
}

static void test_irql_at_end(void **state)
{
    struct report *r = report_start();

    (void)state;
    thread_join(thread_start(raise_and_end, NULL));
    report_is(r, "irql-changed in system thread");
}

static void test_processors(void **state)
{
    ULONG n = KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS), in_nodes = 0;
    PROCESSOR_NUMBER number;
    GROUP_AFFINITY node, one = { .Mask = 1 }, before;
    KAFFINITY mask;
    USHORT count;

    (void)state;
    assert_in_range(n, 1, 1024);
    count = (USHORT)KeQueryActiveProcessorCount(&mask);
    assert_int_equal(count, __builtin_popcountll(mask));
    assert_int_equal(mask, KeQueryGroupAffinity(0));
    assert_int_equal(KeQueryActiveGroupCount(), (n + 63) / 64);
    for (ULONG i = 0; i < n; i++) {
        assert_int_equal(KeGetProcessorNumberFromIndex(i, &number), STATUS_SUCCESS);
        assert_int_equal(KeGetProcessorIndexFromNumber(&number), i);
    }
    assert_int_equal(KeGetProcessorNumberFromIndex(n, &number), STATUS_INVALID_PARAMETER);
    assert_true(KeGetCurrentProcessorNumber() < n);
    for (USHORT i = 0; i <= KeQueryHighestNodeNumber(); i++) {
        KeQueryNodeActiveAffinity(i, &node, &count);
        assert_int_equal(__builtin_popcountll(node.Mask), count);
        in_nodes += count;
    }
    if (n <= 64)
        assert_int_equal(in_nodes, n);
    assert_true(KeGetCurrentNodeNumber() <= KeQueryHighestNodeNumber());
    for (ULONG i = count = (USHORT)KeQueryActiveProcessorCount(NULL); i-- > 0;) {
        (void)KeSetSystemAffinityThreadEx((KAFFINITY)1 << i);
        assert_int_equal(KeGetCurrentProcessorNumberEx(&number), i);
        assert_int_equal(number.Number, i);
    }
    assert_int_equal(KeSetSystemAffinityThreadEx(0), 1);
    KeRevertToUserAffinityThreadEx(0);
    KeSetSystemGroupAffinityThread(&one, &before);
    assert_int_equal(before.Mask, 0);
    KeRevertToUserGroupAffinityThread(&before);
    assert_int_equal(KeSetSystemAffinityThreadEx(mask), 0);
    KeRevertToUserAffinityThread();
}

static NTSTATUS set(THREADINFOCLASS class, void *value, ULONG length)
{
    return ZwSetInformationThread(ZwCurrentThread(), class, value, length);
}

static void test_information(void **state)
{
    PKTHREAD thread = KeGetCurrentThread();
    KPRIORITY first = KeQueryPriorityThread(thread), priority = 20;
    LONG base = -2;
    PAGE_PRIORITY_INFORMATION page = { 5 };
    GROUP_AFFINITY group = { .Mask = KeQueryGroupAffinity(0) };
    PROCESSOR_NUMBER ideal = { 0, (UCHAR)(KeQueryActiveProcessorCount(NULL) - 1), 0 };
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"worker");

    (void)state;
    assert_int_equal(set(ThreadPriority, &priority, sizeof priority), STATUS_SUCCESS);
    assert_int_equal(KeQueryPriorityThread(thread), 20);
    priority = LOW_PRIORITY;
    assert_int_equal(set(ThreadPriority, &priority, sizeof priority), STATUS_INVALID_PARAMETER);
    assert_int_equal(set(ThreadPriority, &priority, 8), STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(set(ThreadBasePriority, &base, sizeof base), STATUS_SUCCESS);
    assert_int_equal(KeQueryPriorityThread(thread), 6);
    assert_int_equal(KeSetBasePriorityThread(thread, 100), -2);
    assert_int_equal(KeSetBasePriorityThread(thread, -100), 7);
    assert_int_equal(KeSetPriorityThread(thread, first), 1);
    assert_int_equal(set(ThreadPagePriority, &page, sizeof page), STATUS_SUCCESS);
    page.PagePriority = 6;
    assert_int_equal(set(ThreadPagePriority, &page, sizeof page), STATUS_INVALID_PARAMETER);
    assert_int_equal(set(ThreadGroupInformation, &group, sizeof group), STATUS_SUCCESS);
    group.Mask = 0;
    assert_int_equal(set(ThreadGroupInformation, &group, sizeof group), STATUS_INVALID_PARAMETER);
    assert_int_equal(set(ThreadIdealProcessorEx, &ideal, sizeof ideal), STATUS_SUCCESS);
    assert_int_equal(ideal.Number, 0);
    ideal.Number = 64;
    assert_int_equal(set(ThreadIdealProcessorEx, &ideal, sizeof ideal), STATUS_INVALID_PARAMETER);
    assert_int_equal(set(ThreadNameInformation, &name, sizeof name), STATUS_SUCCESS);
    assert_int_equal(set(ThreadTimes, &name, sizeof name), STATUS_INVALID_INFO_CLASS);
    assert_true(KeGetCurrentProcessorIndex() < KeQueryMaximumProcessorCount());
}

struct place {
    KEVENT known;
    int processors;
};

static VOID note_processors(PVOID Context)
{
    struct place *p = Context;
    cpu_set_t set;

    p->processors = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    KeSetEvent(&p->known, 0, FALSE);
}

/* Threads started by a thread that is bound to one processor are not bound: a system thread, the first worker. */
static void test_choice_is_not_inherited(void **state)
{
    int all = (int)KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS);
    WORK_QUEUE_ITEM item;
    struct place p;
    KAFFINITY first;

    (void)state;
    KeInitializeEvent(&p.known, SynchronizationEvent, FALSE);
    first = KeSetSystemAffinityThreadEx(1);
    thread_join(thread_start(note_processors, &p));
    assert_int_equal(wait1(&p.known, NULL), STATUS_SUCCESS);
    assert_int_equal(p.processors, all);
    ExInitializeWorkItem(&item, note_processors, &p);
    ExQueueWorkItem(&item, DelayedWorkQueue);
    assert_int_equal(wait1(&p.known, NULL), STATUS_SUCCESS);
    assert_int_equal(p.processors, all);
    KeRevertToUserAffinityThreadEx(first);
}

static void test_time(void **state)
{
    LARGE_INTEGER system, local, again, tick, frequency, a;
    ULONG64 counter, before;

    (void)state;
    KeQuerySystemTime(&system);
    assert_true(system.QuadPart > 132000000000000000LL); /* the year 2019 */
    ExSystemTimeToLocalTime(&system, &local);
    ExLocalTimeToSystemTime(&local, &again);
    assert_int_equal(again.QuadPart, system.QuadPart);
    a = KeQueryPerformanceCounter(&frequency);
    assert_int_equal(frequency.QuadPart, 10000000);
    KeStallExecutionProcessor(50);
    assert_true(KeQueryPerformanceCounter(NULL).QuadPart - a.QuadPart >= 500);
    before = KeQueryInterruptTime() / KeQueryTimeIncrement();
    KeQueryTickCount(&tick);
    assert_in_range(tick.QuadPart, before, KeQueryInterruptTimePrecise(&counter) / KeQueryTimeIncrement());
    counter = KeQueryUnbiasedInterruptTime();
    assert_true(KeQueryInterruptTime() >= counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reference_once_too_often),
        cmocka_unit_test(test_irql),
        cmocka_unit_test(test_irql_at_end),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_information),
        cmocka_unit_test(test_choice_is_not_inherited),
        cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL) + queues_run() + security_run();
}
