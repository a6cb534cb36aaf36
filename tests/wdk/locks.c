/* SPDX-License-Identifier: MIT */
/* Locks that a thread sleeps for: fast and guarded mutexes, push locks, ERESOURCE, rundown protection, remove locks. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "threads.h"
#include "wdk/live.h"

enum { THREADS = 3, TURNS = 1200 };

struct shared {
    FAST_MUTEX mutex;
    EX_PUSH_LOCK push;
    ERESOURCE resource;
    KEVENT go; /* all begin together */
    int counter, twin;
    atomic_int broken;
};

/* Others get a chance to come in, which the lock has to deny them. */
static void linger(void)
{
    KeStallExecutionProcessor(3);
    sched_yield();
}

static void touch(struct shared *s)
{
    s->counter++;
    if (s->counter % 8 == 0)
        linger();
    s->twin++;
    if (s->counter != s->twin)
        atomic_fetch_add(&s->broken, 1);
}

static void look(struct shared *s)
{
    int counter = s->counter, broken = counter != s->twin;

    if (counter % 8 == 0)
        linger();
    if (broken || counter != s->counter || counter != s->twin)
        atomic_fetch_add(&s->broken, 1);
}

static void use_fast(PVOID context)
{
    struct shared *s = context;

    wait1(&s->go, NULL);
    for (int i = 0; i < TURNS; i++) {
        if (i % 3 == 0)
            while (!ExTryToAcquireFastMutex(&s->mutex))
                continue;
        else
            ExAcquireFastMutex(&s->mutex);
        touch(s);
        ExReleaseFastMutex(&s->mutex);
    }
}

static void use_guarded(PVOID context)
{
    struct shared *s = context;

    wait1(&s->go, NULL);
    for (int i = 0; i < TURNS; i++) {
        KeAcquireGuardedMutex(&s->mutex);
        touch(s);
        KeReleaseGuardedMutex(&s->mutex);
    }
}

static void use_push(PVOID context)
{
    struct shared *s = context;

    wait1(&s->go, NULL);
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            FltAcquirePushLockExclusive(&s->push);
            touch(s);
        } else {
            FltAcquirePushLockShared(&s->push);
            look(s);
        }
        FltReleasePushLock(&s->push);
    }
}

static void use_resource(PVOID context)
{
    struct shared *s = context;

    wait1(&s->go, NULL);
    KeEnterCriticalRegion();
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            ExAcquireResourceExclusiveLite(&s->resource, TRUE);
            touch(s);
            if (i % 8 == 0)
                ExConvertExclusiveToSharedLite(&s->resource);
        } else {
            ExAcquireResourceSharedLite(&s->resource, TRUE);
            if (i % 4 == 1)
                assert_true(ExAcquireResourceSharedLite(&s->resource, TRUE));
        }
        look(s);
        if (i % 4 == 1)
            ExReleaseResourceLite(&s->resource);
        ExReleaseResourceLite(&s->resource);
    }
    KeLeaveCriticalRegion();
}

static int run(PKSTART_ROUTINE routine)
{
    struct report *r = report_start();
    struct shared s = { .counter = 0 };
    PVOID threads[THREADS];

    ExInitializeFastMutex(&s.mutex);
    ExInitializePushLock(&s.push);
    ExInitializeResourceLite(&s.resource);
    KeInitializeEvent(&s.go, NotificationEvent, FALSE);
    for (int i = 0; i < THREADS; i++)
        threads[i] = thread_start(routine, &s);
    KeDelayExecutionThread(KernelMode, FALSE, &ms);
    KeSetEvent(&s.go, 0, FALSE);
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(s.broken, 0);
    assert_int_equal(s.counter, s.twin);
    assert_int_equal(ExDeleteResourceLite(&s.resource), STATUS_SUCCESS);
    report_is_empty(r);
    return s.counter;
}

static void test_exclusion(void **state)
{
    (void)state;
    assert_int_equal(run(use_fast), THREADS * TURNS);
    assert_int_equal(run(use_guarded), THREADS * TURNS);
    assert_int_equal(run(use_push), THREADS * TURNS / 4);
    assert_int_equal(run(use_resource), THREADS * TURNS / 4);
}

static void test_fast_mutex(void **state)
{
    struct report *r = report_start();
    FAST_MUTEX m;
    KIRQL irql;

    (void)state;
    ExInitializeFastMutex(&m);
    ExAcquireFastMutex(&m);
    assert_int_equal(KeGetCurrentIrql(), APC_LEVEL);
    assert_false(ExTryToAcquireFastMutex(&m));
    ExReleaseFastMutex(&m);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    KeRaiseIrql(APC_LEVEL, &irql);
    ExAcquireFastMutexUnsafe(&m);
    ExReleaseFastMutexUnsafe(&m);
    assert_int_equal(KeGetCurrentIrql(), APC_LEVEL);
    KeLowerIrql(irql);
    KeAcquireGuardedMutex(&m);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_true(KeAreAllApcsDisabled());
    KeReleaseGuardedMutex(&m);
    assert_false(KeAreAllApcsDisabled());
    report_is_empty(r);
}

static void test_fast_mutex_misuse(void **state)
{
    struct report *r;
    FAST_MUTEX m;
    KIRQL irql;

    (void)state;
    ExInitializeFastMutex(&m);
    r = report_start();
    ExAcquireFastMutexUnsafe(&m);
    report_is(r, "irql-too-low in ExAcquireFastMutexUnsafe");
    ExReleaseFastMutexUnsafe(&m);
    ExAcquireFastMutex(&m);
    r = report_start();
    ExAcquireFastMutex(&m);
    ExReleaseFastMutex(&m);
    report_is(r, "lock-recursive in ExAcquireFastMutex");
    ExReleaseFastMutex(&m);
    KeLowerIrql(PASSIVE_LEVEL);
    r = report_start();
    ExReleaseFastMutex(&m);
    report_is(r, "lock-not-held in ExReleaseFastMutex");
    r = report_start();
    KeReleaseGuardedMutex(&m);
    report_is(r, "lock-not-held in KeReleaseGuardedMutex");
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    r = report_start();
    (void)ExTryToAcquireFastMutex(&m);
    report_is(r, "irql-too-high in ExTryToAcquireFastMutex");
    KeLowerIrql(APC_LEVEL);
    ExReleaseFastMutex(&m);
    KeLowerIrql(PASSIVE_LEVEL);
    ExAcquireFastMutex(&m);
    r = report_start();
    inuse_check("ExFreePool", &m, sizeof m);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    ExReleaseFastMutex(&m);
}

static void test_push_lock_misuse(void **state)
{
    EX_PUSH_LOCK p;
    struct report *r;

    (void)state;
    FltInitializePushLock(&p);
    KeEnterCriticalRegion();
    ExAcquirePushLockShared(&p);
    r = report_start();
    ExReleasePushLockExclusive(&p);
    report_is(r, "lock-not-held in ExReleasePushLockExclusive");
    r = report_start();
    FltDeletePushLock(&p);
    report_is(r, "object-freed-in-use in FltDeletePushLock");
    ExReleasePushLockShared(&p);
    ExAcquirePushLockExclusive(&p);
    r = report_start();
    ExAcquirePushLockExclusive(&p);
    report_is(r, "lock-recursive in ExAcquirePushLockExclusive");
    ExReleasePushLockExclusive(&p);
    ExReleasePushLockExclusive(&p);
    KeLeaveCriticalRegion();
    r = report_start();
    FltDeletePushLock(&p);
    report_is_empty(r);
}

/* ---- ERESOURCE --------------------------------------------------------------------------------------------------- */

struct asker {
    ERESOURCE *resource;
    BOOLEAN (*acquire)(PERESOURCE Resource, BOOLEAN Wait);
    BOOLEAN wait;
    BOOLEAN got;
    KEVENT has, go;
};

static void ask(PVOID context)
{
    struct asker *a = context;

    a->got = a->acquire(a->resource, a->wait);
    KeSetEvent(&a->has, 0, FALSE);
    wait1(&a->go, NULL);
    if (a->got)
        ExReleaseResourceLite(a->resource);
}

static PVOID ask_start(struct asker *a, ERESOURCE *r, BOOLEAN (*acquire)(PERESOURCE Resource, BOOLEAN Wait), BOOLEAN wait)
{
    a->resource = r;
    a->acquire = acquire;
    a->wait = wait;
    KeInitializeEvent(&a->has, NotificationEvent, FALSE);
    KeInitializeEvent(&a->go, NotificationEvent, FALSE);
    return thread_start(ask, a);
}

static bool would_get(ERESOURCE *r, BOOLEAN (*acquire)(PERESOURCE Resource, BOOLEAN Wait))
{
    struct asker a;
    PVOID thread = ask_start(&a, r, acquire, FALSE);

    assert_int_equal(wait1(&a.has, NULL), STATUS_SUCCESS);
    KeSetEvent(&a.go, 0, FALSE);
    thread_join(thread);
    return a.got;
}

static void until_count(ULONG (*count)(PERESOURCE Resource), ERESOURCE *r, ULONG n)
{
    for (int i = 0; i < 5000 && count(r) != n; i++)
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
    assert_int_equal(count(r), n);
}

static void test_resource_modes(void **state)
{
    ERESOURCE r;

    (void)state;
    ExInitializeResourceLite(&r);
    KeEnterCriticalRegion();
    assert_true(ExAcquireResourceExclusiveLite(&r, FALSE));
    assert_true(ExAcquireResourceSharedLite(&r, FALSE));
    assert_true(ExIsResourceAcquiredExclusiveLite(&r));
    assert_int_equal(ExIsResourceAcquiredSharedLite(&r), 2);
    assert_false(would_get(&r, ExAcquireResourceSharedLite));
    ExReleaseResourceLite(&r);
    ExConvertExclusiveToSharedLite(&r);
    assert_false(ExIsResourceAcquiredExclusiveLite(&r));
    assert_int_equal(ExIsResourceAcquiredLite(&r), 1);
    assert_true(would_get(&r, ExAcquireResourceSharedLite));
    assert_false(would_get(&r, ExAcquireResourceExclusiveLite));
    assert_false(ExAcquireResourceExclusiveLite(&r, FALSE));
    ExReleaseResourceLite(&r);
    assert_int_equal(ExIsResourceAcquiredLite(&r), 0);
    assert_true(would_get(&r, ExAcquireResourceExclusiveLite));
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&r);
}

/* A reader keeps it while one waits for exclusive access: who may still come in, and who is next. */
static void test_resource_order(void **state)
{
    struct asker writer, reader;
    PVOID w, r2;
    ERESOURCE r;

    (void)state;
    ExInitializeResourceLite(&r);
    KeEnterCriticalRegion();
    assert_true(ExAcquireResourceSharedLite(&r, TRUE));
    w = ask_start(&writer, &r, ExAcquireResourceExclusiveLite, TRUE);
    until_count(ExGetExclusiveWaiterCount, &r, 1);
    assert_false(would_get(&r, ExAcquireResourceSharedLite));
    assert_false(would_get(&r, ExAcquireSharedWaitForExclusive));
    assert_true(would_get(&r, ExAcquireSharedStarveExclusive));
    assert_true(ExAcquireResourceSharedLite(&r, FALSE)); /* once more by an owner */
    assert_false(ExAcquireSharedWaitForExclusive(&r, FALSE));
    ExReleaseResourceLite(&r);
    r2 = ask_start(&reader, &r, ExAcquireResourceSharedLite, TRUE);
    until_count(ExGetSharedWaiterCount, &r, 1);
    assert_int_equal(r.ContentionCount, 2);
    ExReleaseResourceLite(&r);
    assert_int_equal(wait1(&writer.has, NULL), STATUS_SUCCESS);
    assert_int_equal(KeReadStateEvent(&reader.has), 0);
    KeSetEvent(&writer.go, 0, FALSE);
    assert_int_equal(wait1(&reader.has, NULL), STATUS_SUCCESS);
    KeSetEvent(&reader.go, 0, FALSE);
    thread_join(w);
    thread_join(r2);
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&r);
}

static void test_resource_for_thread(void **state)
{
    struct report *report = report_start();
    struct asker other;
    ERESOURCE r;
    PVOID thread;

    (void)state;
    ExInitializeResourceLite(&r);
    thread = ask_start(&other, &r, ExAcquireResourceExclusiveLite, TRUE);
    assert_int_equal(wait1(&other.has, NULL), STATUS_SUCCESS);
    other.got = FALSE; /* it does not release */
    ExReleaseResourceForThreadLite(&r, (ERESOURCE_THREAD)thread);
    KeEnterCriticalRegion();
    assert_true(ExAcquireResourceExclusiveLite(&r, FALSE));
    ExReleaseResourceLite(&r);
    KeLeaveCriticalRegion();
    KeSetEvent(&other.go, 0, FALSE);
    thread_join(thread);
    ExDeleteResourceLite(&r);
    report_is_empty(report);
}

static void test_resource_misuse(void **state)
{
    uint32_t left = live_count();
    struct report *report;
    ERESOURCE r;

    (void)state;
    ExInitializeResourceLite(&r);
    assert_int_equal(live_count(), left + 1);
    report = report_start();
    ExInitializeResourceLite(&r);
    report_is(report, "object-reinitialized in ExInitializeResourceLite");
    report = report_start();
    inuse_check("ExFreePool", &r, sizeof r);
    report_is(report, "object-freed-in-use in ExFreePool: ");
    KeEnterCriticalRegion();
    report = report_start();
    ExReleaseResourceLite(&r);
    report_is(report, "lock-not-held in ExReleaseResourceLite");
    ExAcquireResourceSharedLite(&r, TRUE);
    report = report_start();
    assert_false(ExAcquireResourceExclusiveLite(&r, TRUE));
    report_is(report, "lock-recursive in ExAcquireResourceExclusiveLite");
    report = report_start();
    ExConvertExclusiveToSharedLite(&r);
    report_is(report, "lock-not-held in ExConvertExclusiveToSharedLite");
    report = report_start();
    ExReinitializeResourceLite(&r);
    report_is(report, "object-freed-in-use in ExReinitializeResourceLite");
    ExReleaseResourceLite(&r);
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&r);
    assert_int_equal(live_count(), left);
}

/* ---- Rundown protection, remove locks ---------------------------------------------------------------------------- */

struct run {
    EX_RUNDOWN_REF plain;
    PEX_RUNDOWN_REF_CACHE_AWARE aware;
    IO_REMOVE_LOCK remove;
    atomic_int inside, after;
    atomic_bool over;
};

static void use_plain(PVOID context)
{
    struct run *r = context;

    while (ExAcquireRundownProtection(&r->plain)) {
        atomic_fetch_add(&r->inside, 1);
        if (atomic_load(&r->over))
            atomic_fetch_add(&r->after, 1);
        atomic_fetch_sub(&r->inside, 1);
        ExReleaseRundownProtection(&r->plain);
    }
}

static void use_aware(PVOID context)
{
    struct run *r = context;

    while (ExAcquireRundownProtectionCacheAware(r->aware)) {
        atomic_fetch_add(&r->inside, 1);
        if (atomic_load(&r->over))
            atomic_fetch_add(&r->after, 1);
        atomic_fetch_sub(&r->inside, 1);
        ExReleaseRundownProtectionCacheAware(r->aware);
    }
}

static void use_remove(PVOID context)
{
    struct run *r = context;

    while (IoAcquireRemoveLock(&r->remove, r) == STATUS_SUCCESS) {
        atomic_fetch_add(&r->inside, 1);
        if (atomic_load(&r->over))
            atomic_fetch_add(&r->after, 1);
        atomic_fetch_sub(&r->inside, 1);
        IoReleaseRemoveLock(&r->remove, r);
    }
}

/* When the wait is over nobody is inside, and nobody comes in any more. */
static void test_run_down(void **state)
{
    PKSTART_ROUTINE uses[] = { use_plain, use_aware, use_remove };
    PVOID threads[THREADS];
    struct run r;

    (void)state;
    for (int k = 0; k < 3; k++) {
        r = (struct run){ .aware = ExAllocateCacheAwareRundownProtection(NonPagedPoolNx, 'nurT') };
        assert_non_null(r.aware);
        ExInitializeRundownProtection(&r.plain);
        IoInitializeRemoveLock(&r.remove, 'nurT', 0, 0);
        for (int i = 0; i < THREADS; i++)
            threads[i] = thread_start(uses[k], &r);
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
        if (k == 0) {
            ExWaitForRundownProtectionRelease(&r.plain);
        } else if (k == 1) {
            ExWaitForRundownProtectionReleaseCacheAware(r.aware);
        } else {
            assert_int_equal(IoAcquireRemoveLock(&r.remove, NULL), STATUS_SUCCESS);
            IoReleaseRemoveLockAndWait(&r.remove, NULL);
        }
        assert_int_equal(r.inside, 0);
        atomic_store(&r.over, true);
        for (int i = 0; i < THREADS; i++)
            thread_join(threads[i]);
        assert_int_equal(r.after, 0);
        ExFreeCacheAwareRundownProtection(r.aware);
    }
}

static void wait_for_rundown(PVOID context)
{
    ExWaitForRundownProtectionRelease(context);
}

static void test_rundown_states(void **state)
{
    EX_RUNDOWN_REF ref;
    PVOID thread;

    (void)state;
    ExInitializeRundownProtection(&ref);
    assert_true(ExAcquireRundownProtectionEx(&ref, 3));
    ExReleaseRundownProtectionEx(&ref, 2);
    thread = thread_start(wait_for_rundown, &ref);
    for (int i = 0; i < 5000 && ExAcquireRundownProtection(&ref); i++) {
        ExReleaseRundownProtection(&ref);
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    assert_false(ExAcquireRundownProtection(&ref));
    assert_int_equal(wait1(thread, &ms), STATUS_TIMEOUT);
    ExReleaseRundownProtection(&ref);
    thread_join(thread);
    ExWaitForRundownProtectionRelease(&ref); /* once more, at once */
    ExRundownCompleted(&ref);
    assert_false(ExAcquireRundownProtection(&ref));
    ExReInitializeRundownProtection(&ref);
    assert_true(ExAcquireRundownProtection(&ref));
    ExReleaseRundownProtection(&ref);
}

static void wait_for_aware_rundown(PVOID context)
{
    ExWaitForRundownProtectionReleaseCacheAware(context);
}

static void test_cache_aware_states(void **state)
{
    SIZE_T size = ExSizeOfRundownProtectionCacheAware();
    PEX_RUNDOWN_REF_CACHE_AWARE ref = malloc(size);
    PVOID thread;

    (void)state;
    ExInitializeRundownProtectionCacheAware(ref, size);
    /* Acquired on one processor and released on another. */
    KeSetSystemAffinityThread(1);
    assert_true(ExAcquireRundownProtectionCacheAwareEx(ref, 2));
    KeSetSystemAffinityThread(KeQueryActiveProcessors() & ~1ULL ? KeQueryActiveProcessors() & ~1ULL : 1);
    ExReleaseRundownProtectionCacheAwareEx(ref, 2);
    KeRevertToUserAffinityThread();
    ExWaitForRundownProtectionReleaseCacheAware(ref);
    assert_false(ExAcquireRundownProtectionCacheAware(ref));
    ExReInitializeRundownProtectionCacheAware(ref);
    assert_true(ExAcquireRundownProtectionCacheAware(ref));
    thread = thread_start(wait_for_aware_rundown, ref);
    for (int i = 0; i < 5000 && ExAcquireRundownProtectionCacheAware(ref); i++) {
        ExReleaseRundownProtectionCacheAware(ref);
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    assert_int_equal(wait1(thread, &ms), STATUS_TIMEOUT);
    ExReleaseRundownProtectionCacheAware(ref);
    thread_join(thread);
    ExReInitializeRundownProtectionCacheAware(ref);
    ExRundownCompletedCacheAware(ref);
    assert_false(ExAcquireRundownProtectionCacheAware(ref));
    free(ref);
}

static void test_rundown_misuse(void **state)
{
    EX_RUNDOWN_REF ref;
    IO_REMOVE_LOCK remove;
    struct report *r;

    (void)state;
    ExInitializeRundownProtection(&ref);
    r = report_start();
    ExReleaseRundownProtection(&ref);
    report_is(r, "lock-not-held in ExReleaseRundownProtection");
    r = report_start();
    ExReInitializeRundownProtection(&ref);
    report_is(r, "object-reinitialized in ExReInitializeRundownProtection");
    IoInitializeRemoveLock(&remove, 'nurT', 0, 0);
    r = report_start();
    IoReleaseRemoveLock(&remove, NULL);
    report_is(r, "lock-not-held in IoReleaseRemoveLock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_fast_mutex),
        cmocka_unit_test(test_fast_mutex_misuse),
        cmocka_unit_test(test_push_lock_misuse),
        cmocka_unit_test(test_resource_modes),
        cmocka_unit_test(test_resource_order),
        cmocka_unit_test(test_resource_for_thread),
        cmocka_unit_test(test_resource_misuse),
        cmocka_unit_test(test_run_down),
        cmocka_unit_test(test_rundown_states),
        cmocka_unit_test(test_cache_aware_states),
        cmocka_unit_test(test_rundown_misuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
