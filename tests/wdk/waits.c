/* SPDX-License-Identifier: MIT */
/* Events, semaphores, mutexes, and waits for them: the documented behaviour of each routine, and reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "child.h"
#include "report.h"
#include "threads.h"
#include "openndk/verify.h"

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

static ULONG releasing_raises(PRKSEMAPHORE semaphore, PRKMUTEX mutex)
{
    __try {
        if (semaphore)
            KeReleaseSemaphore(semaphore, 0, 2, FALSE);
        else
            KeReleaseMutex(mutex, FALSE);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

/* A driver that handles the exceptions has broken no rule. */
static void test_exceptions_handled(void **state)
{
    struct report *r = report_start();
    KSEMAPHORE s;
    KMUTEX m;

    (void)state;
    KeInitializeSemaphore(&s, 1, 2);
    KeInitializeMutex(&m, 0);
    assert_int_equal(releasing_raises(&s, NULL), (ULONG)STATUS_SEMAPHORE_LIMIT_EXCEEDED);
    assert_int_equal(KeReadStateSemaphore(&s), 1);
    assert_int_equal(releasing_raises(NULL, &m), (ULONG)STATUS_MUTANT_NOT_OWNED);
    assert_int_equal(KeReadStateMutex(&m), 1);
    assert_int_equal(wait1(&s, &zero), STATUS_SUCCESS);
    assert_int_equal(releasing_raises(&s, NULL), 0);
    report_is_empty(r);
}

static void exceed_without_checks(void)
{
    KSEMAPHORE s;

    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    KeInitializeSemaphore(&s, 1, 2);
    KeReleaseSemaphore(&s, 0, 2, FALSE);
}

static void test_exceptions_not_handled(void **state)
{
    (void)state;
    child_aborts(exceed_without_checks);
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

static void acquire_and_end(PVOID context)
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
    thread_join(thread_start(acquire_and_end, &m));
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

/* Setting a synchronization event wakes one thread, a notification event all. */
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
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, NULL, blocks),
                     STATUS_WAIT_0 + 4);
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, NULL, blocks),
                     STATUS_WAIT_0 + 6);
    assert_int_equal(KeWaitForMultipleObjects(8, o, WaitAny, Executive, KernelMode, FALSE, &zero, blocks),
                     STATUS_TIMEOUT);
    assert_int_equal(KeWaitForMultipleObjects(3, o, WaitAny, Executive, KernelMode, FALSE, &ms, NULL), STATUS_TIMEOUT);
}

static void wait_twice_for_one(PVOID context)
{
    PVOID o[2] = { context, context };

    assert_int_equal(KeWaitForMultipleObjects(2, o, WaitAny, Executive, KernelMode, FALSE, NULL, NULL), STATUS_WAIT_0);
}

static void test_same_object_twice(void **state)
{
    PVOID threads[2];
    KEVENT e;

    (void)state;
    KeInitializeEvent(&e, NotificationEvent, FALSE);
    for (int i = 0; i < 2; i++)
        threads[i] = thread_start(wait_twice_for_one, &e);
    until_waited_for(&e, sizeof e);
    KeSetEvent(&e, 0, FALSE);
    for (int i = 0; i < 2; i++)
        thread_join(threads[i]);
}

struct choice {
    KEVENT events[3];
    NTSTATUS status;
};

static void wait_for_any(PVOID context)
{
    struct choice *c = context;
    PVOID o[3] = { &c->events[0], &c->events[1], &c->events[2] };

    c->status = KeWaitForMultipleObjects(3, o, WaitAny, Executive, KernelMode, FALSE, NULL, NULL);
}

/* A sleeping thread gets the index of the signalled object. */
static void test_any_says_which(void **state)
{
    struct choice c = { .status = 0 };
    PVOID thread;

    (void)state;
    for (int i = 0; i < 3; i++)
        KeInitializeEvent(&c.events[i], SynchronizationEvent, FALSE);
    thread = thread_start(wait_for_any, &c);
    until_waited_for(&c.events[2], sizeof c.events[2]);
    KeSetEvent(&c.events[1], 0, FALSE);
    thread_join(thread);
    assert_int_equal(c.status, STATUS_WAIT_0 + 1);
    assert_int_equal(KeReadStateEvent(&c.events[1]), 0);
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

/* WaitAll acquires nothing until it can acquire all: another wait for one of them succeeds before. */
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

static void wait_both_ways(PVOID context)
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

/* No signal of two events is lost or consumed twice by waits for one and for both, some with timeouts. */
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
        threads[i] = thread_start(wait_both_ways, &p);
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

static void set_often(PVOID context)
{
    struct pair *p = context;

    for (int i = 0; i < TURNS; i++) {
        p->alone += !KeSetEvent(&p->a, 0, FALSE);
        KeStallExecutionProcessor((ULONG)(i % 40));
    }
    KeSetEvent(&p->stop, 0, FALSE);
}

/* A signal at the moment of the timeout is consumed once, by this wait or by the next one. */
static void test_timeout_race(void **state)
{
    struct pair p = { .both = 0 };
    LARGE_INTEGER soon;
    PVOID thread;

    (void)state;
    KeInitializeEvent(&p.a, SynchronizationEvent, FALSE);
    KeInitializeEvent(&p.stop, NotificationEvent, FALSE);
    thread = thread_start(set_often, &p);
    for (int i = 0; wait1(&p.stop, &zero) == STATUS_TIMEOUT; i++) {
        soon.QuadPart = -(i % 20) * 50 - 1;
        p.both += wait1(&p.a, &soon) == STATUS_SUCCESS;
    }
    thread_join(thread);
    p.both += wait1(&p.a, &zero) == STATUS_SUCCESS;
    assert_int_equal(p.both, p.alone);
}

enum { ROUNDS = 150 };

struct late {
    KEVENT note, never, over;
    atomic_int wrong;
};

static void wait_until_late(PVOID context)
{
    LARGE_INTEGER soon = { .QuadPart = -600 };
    struct late *l = context;

    while (wait1(&l->over, &zero) == STATUS_TIMEOUT) {
        (void)wait1(&l->note, &soon);
        if (wait1(&l->never, &soon) != STATUS_TIMEOUT)
            atomic_fetch_add(&l->wrong, 1);
    }
}

/* A wake at the moment of the timeout ends its own wait, and no later one. */
static void test_late_wake_up(void **state)
{
    struct late l = { .wrong = 0 };
    PVOID threads[CROWD];

    (void)state;
    KeInitializeEvent(&l.note, NotificationEvent, FALSE);
    KeInitializeEvent(&l.never, NotificationEvent, FALSE);
    KeInitializeEvent(&l.over, NotificationEvent, FALSE);
    for (int i = 0; i < CROWD; i++)
        threads[i] = thread_start(wait_until_late, &l);
    for (int i = 0; i < ROUNDS; i++) {
        KePulseEvent(&l.note, 0, FALSE);
        KeStallExecutionProcessor((ULONG)(i % 20) * 5);
    }
    KeSetEvent(&l.over, 0, FALSE);
    for (int i = 0; i < CROWD; i++)
        thread_join(threads[i]);
    assert_int_equal(l.wrong, 0);
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

/* In mode report the waiter is lost, because the list was initialized again. The test restores the old list. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_states),
        cmocka_unit_test(test_semaphore),
        cmocka_unit_test(test_semaphore_limit),
        cmocka_unit_test(test_exceptions_handled),
        cmocka_unit_test(test_exceptions_not_handled),
        cmocka_unit_test(test_mutex_recursion),
        cmocka_unit_test(test_mutex_abandoned),
        cmocka_unit_test(test_mutex_foreign),
        cmocka_unit_test(test_event_wakes),
        cmocka_unit_test(test_pulse_wakes),
        cmocka_unit_test(test_wait_any_order),
        cmocka_unit_test(test_same_object_twice),
        cmocka_unit_test(test_any_says_which),
        cmocka_unit_test(test_wait_all_takes_all_or_none),
        cmocka_unit_test(test_wait_all_counts),
        cmocka_unit_test(test_timeout_race),
        cmocka_unit_test(test_late_wake_up),
        cmocka_unit_test(test_absolute_timeout),
        cmocka_unit_test(test_wait_at_dispatch),
        cmocka_unit_test(test_freed_while_waited_for),
        cmocka_unit_test(test_initialized_while_waited_for),
        cmocka_unit_test(test_not_initialized),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
