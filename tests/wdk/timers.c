/* SPDX-License-Identifier: MIT */
/* Timers and DPCs: when, at which IRQL and how often they run; cancelling and flushing; reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "live_count.h"
#include "threads.h"

static LARGE_INTEGER in_ms(LONGLONG milliseconds)
{
    return (LARGE_INTEGER){ .QuadPart = -milliseconds * 10000 };
}

struct seen {
    KSEMAPHORE ran;
    atomic_int count;
    KIRQL irql;
    PVOID argument1, argument2;
    ULONG processor;
    PKDPC dpc;
};

static VOID note(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct seen *s = DeferredContext;

    s->irql = KeGetCurrentIrql();
    s->argument1 = SystemArgument1;
    s->argument2 = SystemArgument2;
    s->processor = KeGetCurrentProcessorNumber();
    s->dpc = Dpc;
    atomic_fetch_add(&s->count, 1);
    KeReleaseSemaphore(&s->ran, IO_NO_INCREMENT, 1, FALSE);
}

static void calls_init(struct seen *s)
{
    *s = (struct seen){ .irql = 99 };
    KeInitializeSemaphore(&s->ran, 0, 1000000);
}

static void test_dpc(void **state)
{
    struct seen s;
    KDPC dpc, threaded;

    (void)state;
    calls_init(&s);
    KeInitializeDpc(&dpc, note, &s);
    assert_true(KeInsertQueueDpc(&dpc, (PVOID)1, (PVOID)2));
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.irql, DISPATCH_LEVEL);
    assert_ptr_equal(s.argument1, (PVOID)1);
    assert_ptr_equal(s.argument2, (PVOID)2);
    assert_ptr_equal(s.dpc, &dpc);
    assert_false(KeRemoveQueueDpc(&dpc));
    KeInitializeThreadedDpc(&threaded, note, &s);
    assert_true(KeInsertQueueDpc(&threaded, NULL, NULL));
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.irql, PASSIVE_LEVEL);
}

static void test_dpc_target(void **state)
{
    PROCESSOR_NUMBER number = { 0 };
    struct seen s;
    KDPC dpc;

    (void)state;
    calls_init(&s);
    KeInitializeDpc(&dpc, note, &s);
    for (ULONG i = 0; i < KeQueryActiveProcessorCount(NULL); i++) {
        assert_int_equal(KeGetProcessorNumberFromIndex(i, &number), STATUS_SUCCESS);
        assert_int_equal(KeSetTargetProcessorDpcEx(&dpc, &number), STATUS_SUCCESS);
        assert_true(KeInsertQueueDpc(&dpc, NULL, NULL));
        assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
        assert_int_equal(s.processor, i);
    }
    number.Group = 77;
    assert_int_equal(KeSetTargetProcessorDpcEx(&dpc, &number), STATUS_INVALID_PARAMETER);
}

/* Blocks processor 0's queue until it is released. */
struct gate {
    KEVENT entered, open;
    KDPC dpc;
};

static VOID block_queue(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct gate *g = DeferredContext;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    KeSetEvent(&g->entered, 0, FALSE);
    while (KeReadStateEvent(&g->open) == 0)
        KeStallExecutionProcessor(50);
}

static void gate_close(struct gate *g)
{
    KeInitializeEvent(&g->entered, NotificationEvent, FALSE);
    KeInitializeEvent(&g->open, NotificationEvent, FALSE);
    KeInitializeDpc(&g->dpc, block_queue, g);
    KeSetTargetProcessorDpc(&g->dpc, 0);
    assert_true(KeInsertQueueDpc(&g->dpc, NULL, NULL));
    assert_int_equal(wait1(&g->entered, NULL), STATUS_SUCCESS);
}

struct order {
    atomic_int next;
    int at[3];
};

static VOID note_order(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct order *o = DeferredContext;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument2);
    o->at[(ULONG_PTR)SystemArgument1] = atomic_fetch_add(&o->next, 1);
}

static void test_dpc_queue(void **state)
{
    struct order o = { .next = 0 };
    struct report *r;
    struct gate g;
    KDPC dpc[3];
    uint32_t left;

    (void)state;
    gate_close(&g);
    left = live_count();
    for (ULONG_PTR i = 0; i < 3; i++) {
        KeInitializeDpc(&dpc[i], note_order, &o);
        KeSetTargetProcessorDpc(&dpc[i], 0);
        if (i == 2)
            KeSetImportanceDpc(&dpc[i], HighImportance);
        assert_true(KeInsertQueueDpc(&dpc[i], (PVOID)i, NULL));
        assert_false(KeInsertQueueDpc(&dpc[i], (PVOID)i, NULL));
    }
    assert_int_equal(live_count(), left + 3);
    r = report_start();
    inuse_check("ExFreePool", &dpc[1], sizeof dpc[1]);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    assert_true(KeRemoveQueueDpc(&dpc[1]));
    assert_false(KeRemoveQueueDpc(&dpc[1]));
    assert_true(KeInsertQueueDpc(&dpc[1], (PVOID)1, NULL));
    KeSetEvent(&g.open, 0, FALSE);
    KeFlushQueuedDpcs();
    assert_int_equal(o.next, 3);
    assert_int_equal(o.at[2], 0);
    assert_int_equal(o.at[0], 1);
    assert_int_equal(o.at[1], 2);
    assert_int_equal(live_count(), left);
}

static void test_dpc_initialized_while_queued(void **state)
{
    struct report *r;
    struct gate g;
    struct seen s;
    KDPC dpc;

    (void)state;
    calls_init(&s);
    gate_close(&g);
    KeInitializeDpc(&dpc, note, &s);
    KeSetTargetProcessorDpc(&dpc, 0);
    assert_true(KeInsertQueueDpc(&dpc, NULL, NULL));
    r = report_start();
    KeInitializeDpc(&dpc, note, &s);
    report_is(r, "object-reinitialized in KeInitializeDpc");
    KeSetEvent(&g.open, 0, FALSE);
    KeFlushQueuedDpcs();
    assert_int_equal(s.count, 0);
}

static VOID lower_irql(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(DeferredContext);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    KeLowerIrql(PASSIVE_LEVEL);
}

static void test_dpc_irql(void **state)
{
    struct report *r = report_start();
    KDPC dpc;

    (void)state;
    KeInitializeDpc(&dpc, lower_irql, NULL);
    assert_true(KeInsertQueueDpc(&dpc, NULL, NULL));
    KeFlushQueuedDpcs();
    report_is(r, "irql-changed in DPC");
}

static void test_timer_states(void **state)
{
    KTIMER note_timer, sync;

    (void)state;
    KeInitializeTimer(&note_timer);
    KeInitializeTimerEx(&sync, SynchronizationTimer);
    assert_false(KeReadStateTimer(&note_timer));
    assert_false(KeSetTimer(&note_timer, in_ms(2), NULL));
    assert_int_equal(wait1(&note_timer, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(&note_timer, &zero), STATUS_SUCCESS);
    assert_true(KeReadStateTimer(&note_timer));
    assert_false(KeCancelTimer(&note_timer));
    assert_false(KeSetTimer(&note_timer, in_ms(60000), NULL));
    assert_false(KeReadStateTimer(&note_timer));
    assert_true(KeSetTimer(&note_timer, in_ms(60000), NULL));
    assert_true(KeCancelTimer(&note_timer));
    assert_false(KeCancelTimer(&note_timer));
    assert_false(KeSetTimer(&sync, zero, NULL));
    assert_int_equal(wait1(&sync, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(&sync, &zero), STATUS_TIMEOUT);
}

/* Times that no clock reaches, and an invalid period. */
static void test_timer_limits(void **state)
{
    LARGE_INTEGER never = { .QuadPart = MINLONGLONG }, late = { .QuadPart = MAXLONGLONG }, some = in_ms(1);
    KTIMER timer;

    (void)state;
    KeInitializeTimer(&timer);
    assert_false(KeSetTimer(&timer, never, NULL));
    assert_int_equal(wait1(&timer, &some), STATUS_TIMEOUT);
    assert_true(KeSetTimer(&timer, late, NULL));
    assert_int_equal(wait1(&timer, &some), STATUS_TIMEOUT);
    assert_true(KeSetTimerEx(&timer, in_ms(1), -1, NULL));
    assert_int_equal(wait1(&timer, &never), STATUS_SUCCESS);
    assert_false(KeCancelTimer(&timer));
}

/* In any order of setting and with either clock, the one that is due first runs first. */
static void test_timer_order(void **state)
{
    KTIMER t[3];
    PVOID o[3] = { &t[0], &t[1], &t[2] };
    LARGE_INTEGER at;

    (void)state;
    for (int i = 0; i < 3; i++)
        KeInitializeTimerEx(&t[i], SynchronizationTimer);
    KeSetTimer(&t[0], in_ms(60000), NULL);
    KeSetTimer(&t[1], in_ms(50000), NULL);
    KeQuerySystemTime(&at);
    at.QuadPart += 20 * 10000;
    KeSetTimer(&t[2], at, NULL);
    assert_int_equal(KeWaitForMultipleObjects(3, o, WaitAny, Executive, KernelMode, FALSE, NULL, NULL),
                     STATUS_WAIT_0 + 2);
    assert_true(KeSetTimer(&t[1], in_ms(5), NULL));
    assert_int_equal(KeWaitForMultipleObjects(3, o, WaitAny, Executive, KernelMode, FALSE, NULL, NULL),
                     STATUS_WAIT_0 + 1);
    assert_true(KeCancelTimer(&t[0]));
}

static void test_timer_dpc(void **state)
{
    struct seen s;
    KTIMER timer;
    KDPC dpc;

    (void)state;
    calls_init(&s);
    KeInitializeTimer(&timer);
    KeInitializeDpc(&dpc, note, &s);
    KeSetCoalescableTimer(&timer, in_ms(1), 0, 5, &dpc);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.irql, DISPATCH_LEVEL);
    assert_ptr_equal(s.dpc, &dpc);
    assert_false(KeCancelTimer(&timer));
}

static void test_timer_periodic(void **state)
{
    LARGE_INTEGER some = in_ms(10);
    struct seen s;
    KTIMER timer;
    KDPC dpc;
    int count;

    (void)state;
    calls_init(&s);
    KeInitializeTimerEx(&timer, SynchronizationTimer);
    KeInitializeDpc(&dpc, note, &s);
    assert_false(KeSetTimerEx(&timer, in_ms(1), 1, &dpc));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
        assert_int_equal(wait1(&timer, NULL), STATUS_SUCCESS);
    }
    assert_true(KeCancelTimer(&timer));
    KeFlushQueuedDpcs();
    count = s.count;
    KeDelayExecutionThread(KernelMode, FALSE, &some);
    assert_int_equal(s.count, count);
}

/* A cancelled timer never runs its DPC, and any other timer does: the result of KeCancelTimer is true. */
static void test_timer_cancel_race(void **state)
{
    int expired = 0, cancelled = 0;
    struct seen s;
    KTIMER timer;
    KDPC dpc;

    (void)state;
    calls_init(&s);
    KeInitializeTimer(&timer);
    KeInitializeDpc(&dpc, note, &s);
    for (int i = 0; i < 2000; i++) {
        LARGE_INTEGER due = { .QuadPart = -(i % 40) * 20 - 1 };

        KeSetTimer(&timer, due, &dpc);
        KeStallExecutionProcessor((ULONG)(i % 7) * 10);
        if (KeCancelTimer(&timer)) {
            cancelled++;
        } else {
            expired++;
            assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
        }
        assert_int_equal(s.count, expired);
    }
    KeFlushQueuedDpcs();
    assert_int_equal(s.count, expired);
    assert_int_equal(expired + cancelled, 2000);
}

struct both {
    KTIMER timer;
    KDPC dpc;
};

static VOID free_both(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct both *b = CONTAINING_RECORD(Dpc, struct both, dpc);
    KEVENT *done = DeferredContext;

    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    free(b);
    KeSetEvent(done, 0, FALSE);
}

/* "A DPC routine can deallocate a nonperiodic timer", and its own DPC. */
static void test_timer_freed_by_its_dpc(void **state)
{
    struct both *b;
    KEVENT done;

    (void)state;
    KeInitializeEvent(&done, SynchronizationEvent, FALSE);
    for (int i = 0; i < 200; i++) {
        b = malloc(sizeof *b);
        KeInitializeTimer(&b->timer);
        KeInitializeDpc(&b->dpc, free_both, &done);
        KeSetTimer(&b->timer, (LARGE_INTEGER){ .QuadPart = -i }, &b->dpc);
        assert_int_equal(wait1(&done, NULL), STATUS_SUCCESS);
    }
}

static VOID note_timer(PEX_TIMER Timer, PVOID Context)
{
    note((PKDPC)Timer, Context, NULL, NULL);
}

static VOID note_deleted(PVOID Context)
{
    KeSetEvent(Context, 0, FALSE);
}

static VOID delete_timer(PEX_TIMER Timer, PVOID Context)
{
    EXT_DELETE_PARAMETERS last;

    ExInitializeDeleteTimerParameters(&last);
    last.DeleteCallback = note_deleted;
    last.DeleteContext = Context;
    ExDeleteTimer(Timer, TRUE, FALSE, &last);
}

static void test_allocated_timer(void **state)
{
    uint32_t left = live_count();
    EXT_DELETE_PARAMETERS last;
    KEVENT deleted;
    struct seen s;
    PEX_TIMER t;

    (void)state;
    calls_init(&s);
    KeInitializeEvent(&deleted, SynchronizationEvent, FALSE);
    ExInitializeDeleteTimerParameters(&last);
    last.DeleteCallback = note_deleted;
    last.DeleteContext = &deleted;

    t = ExAllocateTimer(note_timer, &s, EX_TIMER_NOTIFICATION);
    assert_int_equal(live_count(), left + 1);
    assert_int_equal(live_busy(), 0);
    assert_false(ExSetTimer(t, -600000000, 0, NULL));
    assert_int_equal(live_busy(), 1);
    assert_true(ExCancelTimer(t, NULL));
    assert_int_equal(live_busy(), 0);
    assert_false(ExSetTimer(t, -10000, 0, NULL));
    assert_int_equal(wait1(t, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(s.irql, DISPATCH_LEVEL);
    assert_ptr_equal(s.dpc, t);
    assert_false(ExCancelTimer(t, NULL));
    assert_false(ExSetTimer(t, -10000, 10000, NULL));
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_int_equal(wait1(&s.ran, NULL), STATUS_SUCCESS);
    assert_true(ExDeleteTimer(t, TRUE, TRUE, &last));
    assert_int_equal(wait1(&deleted, &zero), STATUS_SUCCESS);
    assert_int_equal(live_count(), left);

    t = ExAllocateTimer(delete_timer, &deleted, 0); /* by its own callback */
    ExSetTimer(t, -10000, 10000, NULL);
    assert_int_equal(wait1(&deleted, NULL), STATUS_SUCCESS);

    calls_init(&s);
    t = ExAllocateTimer(note_timer, &s, 0); /* not cancelled: it expires first */
    ExSetTimer(t, -20000, 0, NULL);
    assert_false(ExDeleteTimer(t, FALSE, FALSE, &last));
    assert_int_equal(wait1(&deleted, NULL), STATUS_SUCCESS);
    assert_int_equal(s.count, 1);
    UNTIL(live_busy() == 0);
    assert_int_equal(live_count(), left);
}

static void test_timer_freed_while_set(void **state)
{
    uint32_t left = live_count();
    struct report *r;
    KTIMER timer;

    (void)state;
    KeInitializeTimer(&timer);
    KeSetTimer(&timer, in_ms(60000), NULL);
    assert_int_equal(live_count(), left + 1);
    r = report_start();
    inuse_check("ExFreePool", &timer, sizeof timer);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    assert_true(KeCancelTimer(&timer));
    assert_int_equal(live_count(), left);
    r = report_start();
    inuse_check("ExFreePool", &timer, sizeof timer);
    report_is_empty(r);
}

/*
 * The timer queues the DPC when it is due, so the DPC must exist until then. Initializing it again before is permitted.
 */
static void test_dpc_of_a_timer_freed(void **state)
{
    static const LONGLONG dues[] = { -600000000, INT64_MAX };
    struct report *r;
    struct seen s;
    KTIMER timer;
    KDPC dpc;

    (void)state;
    calls_init(&s);
    KeInitializeTimer(&timer);
    KeInitializeDpc(&dpc, note, &s);
    for (int i = 0; i < 2; i++) {
        assert_false(KeSetTimer(&timer, (LARGE_INTEGER){ .QuadPart = dues[i] }, &dpc));
        r = report_start();
        inuse_check("ExFreePool", &dpc, sizeof dpc);
        report_is(r, "object-freed-in-use in ExFreePool");
        r = report_start();
        KeInitializeDpc(&dpc, note, &s);
        report_is_empty(r);
        assert_true(KeCancelTimer(&timer));
        r = report_start();
        inuse_check("ExFreePool", &dpc, sizeof dpc);
        report_is_empty(r);
    }
}

static void test_timer_initialized_while_set(void **state)
{
    struct report *r;
    KTIMER timer;

    (void)state;
    KeInitializeTimer(&timer);
    KeSetTimer(&timer, in_ms(60000), NULL);
    r = report_start();
    KeInitializeTimer(&timer);
    report_is(r, "object-reinitialized in KeInitializeTimer");
    assert_false(KeCancelTimer(&timer));
}

static void test_not_initialized(void **state)
{
    KTIMER timer = { .Period = 0 };
    KDPC dpc = { .Type = 0 };
    struct report *r;

    (void)state;
    r = report_start();
    KeSetTimer(&timer, in_ms(60000), NULL);
    report_is(r, "object-not-initialized in KeSetTimer");
    assert_true(KeCancelTimer(&timer));
    r = report_start();
    assert_false(KeInsertQueueDpc(&dpc, NULL, NULL));
    report_is(r, "object-not-initialized in KeInsertQueueDpc");
}

static void test_irql(void **state)
{
    struct report *r;
    KTIMER timer;
    KIRQL irql;

    (void)state;
    KeInitializeTimer(&timer);
    KeRaiseIrql(HIGH_LEVEL, &irql);
    r = report_start();
    KeSetTimer(&timer, in_ms(60000), NULL);
    report_is(r, "irql-too-high in KeSetTimer");
    KeLowerIrql(DISPATCH_LEVEL);
    assert_true(KeCancelTimer(&timer));
    r = report_start();
    KeFlushQueuedDpcs();
    report_is(r, "irql-too-high in KeFlushQueuedDpcs");
    KeLowerIrql(irql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dpc),
        cmocka_unit_test(test_dpc_target),
        cmocka_unit_test(test_dpc_queue),
        cmocka_unit_test(test_dpc_initialized_while_queued),
        cmocka_unit_test(test_dpc_irql),
        cmocka_unit_test(test_timer_states),
        cmocka_unit_test(test_timer_limits),
        cmocka_unit_test(test_timer_order),
        cmocka_unit_test(test_timer_dpc),
        cmocka_unit_test(test_timer_periodic),
        cmocka_unit_test(test_dpc_of_a_timer_freed),
        cmocka_unit_test(test_timer_cancel_race),
        cmocka_unit_test(test_timer_freed_by_its_dpc),
        cmocka_unit_test(test_allocated_timer),
        cmocka_unit_test(test_timer_freed_while_set),
        cmocka_unit_test(test_timer_initialized_while_set),
        cmocka_unit_test(test_not_initialized),
        cmocka_unit_test(test_irql),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
