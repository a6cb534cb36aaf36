/* SPDX-License-Identifier: MIT */
/* Sleeping locks: fast and guarded mutexes, push locks, ERESOURCE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wdm.h"

#include "contend.h"
#include "live_count.h"
#include "wdk/ke/thread.h"

struct shared {
    FAST_MUTEX mutex;
    EX_PUSH_LOCK push;
    ERESOURCE resource;
    struct contest contest;
};

static void use_fast(PVOID context)
{
    struct shared *s = context;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        if (i % 3 == 0)
            while (!ExTryToAcquireFastMutex(&s->mutex))
                continue;
        else
            ExAcquireFastMutex(&s->mutex);
        contest_write(&s->contest);
        ExReleaseFastMutex(&s->mutex);
    }
}

static void use_guarded(PVOID context)
{
    struct shared *s = context;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        KeAcquireGuardedMutex(&s->mutex);
        contest_write(&s->contest);
        KeReleaseGuardedMutex(&s->mutex);
    }
}

static void use_push(PVOID context)
{
    struct shared *s = context;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            FltAcquirePushLockExclusive(&s->push);
            contest_write(&s->contest);
        } else {
            FltAcquirePushLockShared(&s->push);
            contest_read(&s->contest);
        }
        FltReleasePushLock(&s->push);
    }
}

/* The first thread writes, the others read: a waiting writer must not block the readers for ever. */
static void use_push_interleaved(PVOID context)
{
    struct shared *s = context;
    bool writes = atomic_fetch_add(&s->contest.came, 1) == 0;

    wait1(&s->contest.go, NULL);
    KeEnterCriticalRegion();
    for (int i = 0; i < TURNS; i++) {
        if (writes) {
            ExAcquirePushLockExclusive(&s->push);
            contest_write(&s->contest);
            ExReleasePushLockExclusive(&s->push);
        } else {
            ExAcquirePushLockShared(&s->push);
            contest_read(&s->contest);
            ExReleasePushLockShared(&s->push);
        }
    }
    KeLeaveCriticalRegion();
}

static void use_resource(PVOID context)
{
    struct shared *s = context;

    wait1(&s->contest.go, NULL);
    KeEnterCriticalRegion();
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            ExAcquireResourceExclusiveLite(&s->resource, TRUE);
            contest_write(&s->contest);
            if (i % 8 == 0)
                ExConvertExclusiveToSharedLite(&s->resource);
        } else {
            ExAcquireResourceSharedLite(&s->resource, TRUE);
            if (i % 4 == 1)
                assert_true(ExAcquireResourceSharedLite(&s->resource, TRUE));
        }
        contest_read(&s->contest);
        if (i % 4 == 1)
            ExReleaseResourceLite(&s->resource);
        ExReleaseResourceLite(&s->resource);
    }
    KeLeaveCriticalRegion();
}

static int run(PKSTART_ROUTINE routine)
{
    struct report *r = report_start();
    struct shared s = { .push = 0 };

    ExInitializeFastMutex(&s.mutex);
    ExInitializePushLock(&s.push);
    ExInitializeResourceLite(&s.resource);
    contest_run(&s.contest, routine, &s);
    assert_int_equal(ExDeleteResourceLite(&s.resource), STATUS_SUCCESS);
    report_is_empty(r);
    return s.contest.counter;
}

static void test_exclusion(void **state)
{
    (void)state;
    assert_int_equal(run(use_fast), CONTENDERS * TURNS);
    assert_int_equal(run(use_guarded), CONTENDERS * TURNS);
    assert_int_equal(run(use_push), CONTENDERS * TURNS / 4);
    assert_int_equal(run(use_push_interleaved), TURNS);
    assert_int_equal(run(use_resource), CONTENDERS * TURNS / 4);
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

static PVOID ask_start(struct asker *a, ERESOURCE *r, BOOLEAN (*acquire)(PERESOURCE Resource, BOOLEAN Wait),
                       BOOLEAN wait)
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
    UNTIL(count(r) == n);
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

/* A reader owns it while a thread waits for exclusive access: which threads can acquire it, and which is next. */
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
    ExDeleteResourceLite(&r);
    inuse_check("ExFreePool", &r, sizeof r); /* and the thread that acquired it still runs */
    KeSetEvent(&other.go, 0, FALSE);
    thread_join(thread);
    report_is_empty(report);
}

/* Both own it shared. A release for the other thread remains in that thread's list of held locks. */
static void test_resource_kept_for_oneself(void **state)
{
    struct report *report = report_start();
    struct thread_mark mark;
    struct asker other;
    ERESOURCE r;
    PVOID thread;

    (void)state;
    ExInitializeResourceLite(&r);
    KeEnterCriticalRegion();
    mark = thread_mark_get();
    assert_true(ExAcquireResourceSharedLite(&r, TRUE));
    thread = ask_start(&other, &r, ExAcquireResourceSharedLite, TRUE);
    assert_int_equal(wait1(&other.has, NULL), STATUS_SUCCESS);
    other.got = FALSE;
    ExReleaseResourceForThreadLite(&r, (ERESOURCE_THREAD)thread);
    KeSetEvent(&other.go, 0, FALSE);
    thread_join(thread);
    thread_mark_check(&mark, "test", NULL);
    report_is(report, "lock-held-at-end in test: ERESOURCE");
    ExReleaseResourceLite(&r);
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&r);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion),           cmocka_unit_test(test_fast_mutex),
        cmocka_unit_test(test_fast_mutex_misuse),   cmocka_unit_test(test_push_lock_misuse),
        cmocka_unit_test(test_resource_modes),      cmocka_unit_test(test_resource_order),
        cmocka_unit_test(test_resource_for_thread), cmocka_unit_test(test_resource_kept_for_oneself),
        cmocka_unit_test(test_resource_misuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
