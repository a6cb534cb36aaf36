/* SPDX-License-Identifier: MIT */
/* Events, semaphores, mutexes, threads, and the waits for them: what each routine's reference promises, and what is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "report.h"
#include "threads.h"
#include "wdk/handle.h"
#include "wdk/inuse.h"
#include "wdk/live.h"

static void test_event_states(void **state)
{
    KEVENT note, sync;

    (void)state;
    KeInitializeEvent(&note, NotificationEvent, FALSE);
    KeInitializeEvent(&sync, SynchronizationEvent, TRUE);
    assert_int_equal(wait1(&note, &zero), STATUS_TIMEOUT);
    assert_int_equal(KeSetEvent(&note, 0, FALSE), 0);
    assert_int_not_equal(KeSetEvent(&note, 0, FALSE), 0);
    assert_int_equal(wait1(&note, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(&note, NULL), STATUS_SUCCESS);
    assert_int_not_equal(KeReadStateEvent(&note), 0);
    assert_int_not_equal(KeResetEvent(&note), 0);
    assert_int_equal(KeResetEvent(&note), 0);
    assert_int_equal(wait1(&note, &ms), STATUS_TIMEOUT);
    assert_int_equal(wait1(&sync, NULL), STATUS_SUCCESS);
    assert_int_equal(KeReadStateEvent(&sync), 0);
    KeSetEvent(&sync, IO_NO_INCREMENT, FALSE);
    KeClearEvent(&sync);
    assert_int_equal(wait1(&sync, &zero), STATUS_TIMEOUT);
    assert_int_equal(KePulseEvent(&note, 0, FALSE), 0);
    assert_int_equal(KeReadStateEvent(&note), 0);
}

static void test_semaphore(void **state)
{
    KSEMAPHORE s;

    (void)state;
    KeInitializeSemaphore(&s, 1, 3);
    assert_int_equal(wait1(&s, &zero), STATUS_SUCCESS);
    assert_int_equal(wait1(&s, &zero), STATUS_TIMEOUT);
    assert_int_equal(KeReleaseSemaphore(&s, 0, 2, FALSE), 0);
    assert_int_equal(KeReadStateSemaphore(&s), 2);
    assert_int_equal(KeReleaseSemaphore(&s, 0, 1, FALSE), 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wait1(&s, &zero), STATUS_SUCCESS);
    assert_int_equal(wait1(&s, &zero), STATUS_TIMEOUT);
}

static void test_semaphore_limit(void **state)
{
    struct report *r;
    KSEMAPHORE s;

    (void)state;
    KeInitializeSemaphore(&s, 1, 2);
    r = report_start();
    KeReleaseSemaphore(&s, 0, 2, FALSE);
    report_is(r, "exception in KeReleaseSemaphore: STATUS_SEMAPHORE_LIMIT_EXCEEDED");
    assert_int_equal(KeReadStateSemaphore(&s), 1);
}

static void test_mutex_recursion(void **state)
{
    KMUTEX m;

    (void)state;
    KeInitializeMutex(&m, 0);
    assert_int_equal(KeReadStateMutex(&m), 1);
    assert_int_equal(wait1(&m, NULL), STATUS_SUCCESS);
    assert_true(KeAreApcsDisabled());
    assert_int_equal(KeWaitForMutexObject(&m, Executive, KernelMode, FALSE, &zero), STATUS_SUCCESS);
    assert_int_not_equal(KeReleaseMutex(&m, FALSE), 0);
    assert_int_equal(KeReadStateMutex(&m), 0);
    assert_int_equal(KeReleaseMutex(&m, FALSE), 0);
    assert_int_equal(KeReadStateMutex(&m), 1);
    assert_false(KeAreApcsDisabled());
}

static void take_and_end(PVOID context)
{
    assert_int_equal(wait1(context, NULL), STATUS_SUCCESS);
}

static void test_mutex_abandoned(void **state)
{
    struct report *r = report_start();
    PVOID objects[2];
    KEVENT never;
    KMUTEX m;

    (void)state;
    KeInitializeEvent(&never, NotificationEvent, FALSE);
    KeInitializeMutex(&m, 0);
    thread_join(thread_start(take_and_end, &m));
    report_is(r, "lock-held-at-end in system thread: KMUTEX");
    objects[0] = &never;
    objects[1] = &m;
    assert_int_equal(KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, NULL, NULL),
                     STATUS_ABANDONED_WAIT_0 + 1);
    KeReleaseMutex(&m, FALSE);
    assert_int_equal(wait1(&m, NULL), STATUS_SUCCESS);
    KeReleaseMutex(&m, FALSE);
}

static void release(PVOID context)
{
    KeReleaseMutex(context, FALSE);
}

static void test_mutex_foreign(void **state)
{
    struct report *r;
    KMUTEX m;

    (void)state;
    KeInitializeMutex(&m, 0);
    assert_int_equal(wait1(&m, NULL), STATUS_SUCCESS);
    r = report_start();
    thread_join(thread_start(release, &m));
    report_is(r, "lock-not-held in KeReleaseMutex");
    assert_int_equal(KeReadStateMutex(&m), 0);
    KeReleaseMutex(&m, FALSE);
}

struct crowd {
    KEVENT go;
    KSEMAPHORE done;
};

static void crowd_member(PVOID context)
{
    struct crowd *c = context;

    assert_int_equal(wait1(&c->go, NULL), STATUS_SUCCESS);
    KeReleaseSemaphore(&c->done, 0, 1, FALSE);
}

enum { CROWD = 5 };

/* One set of a synchronization event lets one thread go on, of a notification event all. */
static void test_event_wakes(void **state)
{
    LARGE_INTEGER some = { .QuadPart = -200000 };
    struct crowd c;
    PVOID threads[CROWD];

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        KeInitializeEvent(&c.go, kind ? SynchronizationEvent : NotificationEvent, FALSE);
        KeInitializeSemaphore(&c.done, 0, CROWD);
        for (int i = 0; i < CROWD; i++)
            threads[i] = thread_start(crowd_member, &c);
        for (int i = 0; kind && i < CROWD; i++) {
            KeSetEvent(&c.go, 0, FALSE);
            assert_int_equal(wait1(&c.done, NULL), STATUS_SUCCESS);
            assert_int_equal(wait1(&c.done, i == 0 ? &some : &zero), STATUS_TIMEOUT);
        }
        if (!kind) {
            until_waited_for(&c.go, sizeof c.go);
            KeSetEvent(&c.go, 0, FALSE);
        }
        for (int i = 0; i < CROWD; i++)
            thread_join(threads[i]);
        assert_int_equal(KeReadStateSemaphore(&c.done), kind ? 0 : CROWD);
    }
}

static void test_pulse_wakes(void **state)
{
    struct crowd c;
    PVOID thread;

    (void)state;
    KeInitializeEvent(&c.go, NotificationEvent, FALSE);
    KeInitializeSemaphore(&c.done, 0, 1);
    thread = thread_start(crowd_member, &c);
    until_waited_for(&c.go, sizeof c.go);
    KePulseEvent(&c.go, 0, FALSE);
    assert_int_equal(KeReadStateEvent(&c.go), 0);
    thread_join(thread);
}

static void test_wait_any_order(void **state)
{
    KWAIT_BLOCK blocks[8];
    KEVENT e[8];
    PVOID o[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        KeInitializeEvent(&e[i], SynchronizationEvent, FALSE);
        o[i] = &e[i];
    }
    KeSetEvent(&e[6], 0, FALSE);
    KeSetEvent(&e[4], 0, FALSE);
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, NULL, blocks), STATUS_WAIT_0 + 4);
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, NULL, blocks), STATUS_WAIT_0 + 6);
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, &zero, blocks), STATUS_TIMEOUT);
    assert_int_equal(KeWaitForMultipleObjects(3, o, WaitAny, Executive, KernelMode, FALSE, &ms, NULL), STATUS_TIMEOUT);
}

struct pair {
    KEVENT a, b;
    KEVENT stop;
    LONG both, alone;
};

static void wait_for_both(PVOID context)
{
    struct pair *p = context;
    PVOID o[2] = { &p->a, &p->b };

    assert_int_equal(KeWaitForMultipleObjects(2, o, WaitAll, Executive, KernelMode, FALSE, NULL, NULL), STATUS_SUCCESS);
    __atomic_fetch_add(&p->both, 1, __ATOMIC_RELAXED);
}

/* WaitAll takes nothing until it can take all: a wait for one of them in between gets it. */
static void test_wait_all_takes_all_or_none(void **state)
{
    struct pair p = { .both = 0 };
    PVOID thread;

    (void)state;
    KeInitializeEvent(&p.a, SynchronizationEvent, FALSE);
    KeInitializeEvent(&p.b, SynchronizationEvent, FALSE);
    thread = thread_start(wait_for_both, &p);
    until_waited_for(&p.a, sizeof p.a);
    KeSetEvent(&p.a, 0, FALSE);
    assert_int_not_equal(KeReadStateEvent(&p.a), 0);
    assert_int_equal(wait1(&p.a, &zero), STATUS_SUCCESS);
    KeSetEvent(&p.b, 0, FALSE);
    assert_int_equal(__atomic_load_n(&p.both, __ATOMIC_RELAXED), 0);
    KeSetEvent(&p.a, 0, FALSE);
    thread_join(thread);
    assert_int_equal(KeReadStateEvent(&p.a), 0);
    assert_int_equal(KeReadStateEvent(&p.b), 0);
}

enum { TURNS = 2000 };

static void take_both_ways(PVOID context)
{
    struct pair *p = context;
    PVOID o[3] = { &p->a, &p->b, &p->stop };
    LONG both = 0, alone = 0;

    for (bool over = false; !over;) {
        NTSTATUS status = KeWaitForMultipleObjects(2, o, WaitAll, Executive, KernelMode, FALSE, &ms, NULL);

        if (status == STATUS_SUCCESS)
            both++;
        if (KeWaitForMultipleObjects(2, o, WaitAny, Executive, KernelMode, FALSE, &zero, NULL) != STATUS_TIMEOUT)
            alone++;
        over = wait1(&p->stop, &zero) == STATUS_SUCCESS;
    }
    __atomic_fetch_add(&p->both, both, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->alone, alone, __ATOMIC_RELAXED);
}

/* No signal of two events is lost or taken twice by waits for one and for both, with timeouts in between. */
static void test_wait_all_counts(void **state)
{
    struct pair p = { .both = 0 };
    PVOID threads[3];
    LONG left;

    (void)state;
    KeInitializeEvent(&p.a, SynchronizationEvent, FALSE);
    KeInitializeEvent(&p.b, SynchronizationEvent, FALSE);
    KeInitializeEvent(&p.stop, NotificationEvent, FALSE);
    for (int i = 0; i < 3; i++)
        threads[i] = thread_start(take_both_ways, &p);
    left = 0;
    for (int i = 0; i < TURNS; i++) {
        left += !KeSetEvent(i % 2 ? &p.a : &p.b, 0, FALSE);
        if (i % 64 == 0)
            KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    KeSetEvent(&p.stop, 0, FALSE);
    for (int i = 0; i < 3; i++)
        thread_join(threads[i]);
    left -= (KeReadStateEvent(&p.a) != 0) + (KeReadStateEvent(&p.b) != 0);
    assert_int_equal(left, 2 * p.both + p.alone);
}

static void test_absolute_timeout(void **state)
{
    LARGE_INTEGER past, before, now, until;
    KEVENT e;

    (void)state;
    KeInitializeEvent(&e, NotificationEvent, FALSE);
    KeQuerySystemTime(&before);
    past.QuadPart = 1;
    assert_int_equal(wait1(&e, &past), STATUS_TIMEOUT);
    until.QuadPart = before.QuadPart + 20 * 10000;
    assert_int_equal(wait1(&e, &until), STATUS_TIMEOUT);
    KeQuerySystemTime(&now);
    assert_true(now.QuadPart >= until.QuadPart);
}

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

static void test_wait_at_dispatch(void **state)
{
    struct report *r;
    KEVENT e;
    KIRQL irql;

    (void)state;
    KeInitializeEvent(&e, SynchronizationEvent, TRUE);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    r = report_start();
    assert_int_equal(wait1(&e, &zero), STATUS_SUCCESS);
    report_is_empty(r);
    r = report_start();
    assert_int_equal(wait1(&e, &ms), STATUS_TIMEOUT);
    report_is(r, "wait-at-dispatch in KeWaitForSingleObject");
    r = report_start();
    KeDelayExecutionThread(KernelMode, FALSE, &ms);
    report_is(r, "wait-at-dispatch in KeDelayExecutionThread");
    KeLowerIrql(irql);
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

static void test_freed_while_waited_for(void **state)
{
    struct crowd *c = malloc(sizeof *c);
    struct report *r;
    PVOID thread;

    (void)state;
    KeInitializeEvent(&c->go, SynchronizationEvent, FALSE);
    KeInitializeSemaphore(&c->done, 0, 1);
    thread = thread_start(crowd_member, c);
    until_waited_for(&c->go, sizeof c->go);
    r = report_start();
    inuse_check("ExFreePool", c, sizeof *c);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    r = report_start();
    inuse_check("ExFreePool", &c->done, sizeof c->done);
    report_is_empty(r);
    KeSetEvent(&c->go, 0, FALSE);
    thread_join(thread);
    r = report_start();
    inuse_check("ExFreePool", c, sizeof *c);
    report_is_empty(r);
    free(c);
}

static void crowd_member_again(PVOID context)
{
    struct crowd *c = context;

    (void)wait1(&c->go, NULL);
}

/* The waiter is lost in go-on mode: its list was made anew. The test puts the old one back. */
static void test_initialized_while_waited_for(void **state)
{
    struct crowd c;
    struct report *r;
    PVOID thread;
    LIST_ENTRY list;

    (void)state;
    KeInitializeEvent(&c.go, SynchronizationEvent, FALSE);
    thread = thread_start(crowd_member_again, &c);
    until_waited_for(&c.go, sizeof c.go);
    list = c.go.Header.WaitListHead;
    r = report_start();
    KeInitializeEvent(&c.go, SynchronizationEvent, FALSE);
    report_is(r, "object-reinitialized in KeInitializeEvent");
    c.go.Header.WaitListHead = list;
    KeSetEvent(&c.go, 0, FALSE);
    thread_join(thread);
}

static void test_not_initialized(void **state)
{
    struct report *r = report_start();
    KEVENT e = { 0 };

    (void)state;
    KeSetEvent(&e, 0, FALSE);
    report_is(r, "object-not-initialized in KeSetEvent");
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
    assert_int_equal(KeSetSystemAffinityThreadEx(1), 0);
    assert_int_equal(KeGetCurrentProcessorNumberEx(&number), 0);
    assert_int_equal(number.Number, 0);
    assert_int_equal(KeSetSystemAffinityThreadEx(0), 1);
    KeRevertToUserAffinityThreadEx(0);
    KeSetSystemGroupAffinityThread(&one, &before);
    assert_int_equal(before.Mask, 0);
    KeRevertToUserGroupAffinityThread(&before);
    assert_int_equal(KeSetSystemAffinityThreadEx(mask), 0);
    KeRevertToUserAffinityThread();
}

static void test_time(void **state)
{
    LARGE_INTEGER system, local, again, tick, frequency, a;
    ULONG64 counter;

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
    KeQueryTickCount(&tick);
    assert_true((ULONGLONG)(tick.QuadPart + 1) * KeQueryTimeIncrement() > KeQueryInterruptTimePrecise(&counter) - 10000000);
    counter = KeQueryUnbiasedInterruptTime();
    assert_true(KeQueryInterruptTime() >= counter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_states),
        cmocka_unit_test(test_semaphore),
        cmocka_unit_test(test_semaphore_limit),
        cmocka_unit_test(test_mutex_recursion),
        cmocka_unit_test(test_mutex_abandoned),
        cmocka_unit_test(test_mutex_foreign),
        cmocka_unit_test(test_event_wakes),
        cmocka_unit_test(test_pulse_wakes),
        cmocka_unit_test(test_wait_any_order),
        cmocka_unit_test(test_wait_all_takes_all_or_none),
        cmocka_unit_test(test_wait_all_counts),
        cmocka_unit_test(test_absolute_timeout),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reference_once_too_often),
        cmocka_unit_test(test_wait_at_dispatch),
        cmocka_unit_test(test_irql),
        cmocka_unit_test(test_irql_at_end),
        cmocka_unit_test(test_freed_while_waited_for),
        cmocka_unit_test(test_initialized_while_waited_for),
        cmocka_unit_test(test_not_initialized),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
