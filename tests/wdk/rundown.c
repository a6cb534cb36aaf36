/* SPDX-License-Identifier: MIT */
/* Rundown protection, plain and for each processor, and remove locks. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "threads.h"

enum { USERS = 3 };

struct run {
    EX_RUNDOWN_REF plain;
    PEX_RUNDOWN_REF_CACHE_AWARE aware;
    IO_REMOVE_LOCK remove;
    atomic_int inside, after;
    atomic_bool over;
};

static void inside(struct run *r)
{
    atomic_fetch_add(&r->inside, 1);
    if (atomic_load(&r->over))
        atomic_fetch_add(&r->after, 1);
    atomic_fetch_sub(&r->inside, 1);
}

static void use_plain(PVOID context)
{
    struct run *r = context;

    while (ExAcquireRundownProtection(&r->plain)) {
        inside(r);
        ExReleaseRundownProtection(&r->plain);
    }
}

static void use_aware(PVOID context)
{
    struct run *r = context;

    while (ExAcquireRundownProtectionCacheAware(r->aware)) {
        inside(r);
        ExReleaseRundownProtectionCacheAware(r->aware);
    }
}

static void use_remove(PVOID context)
{
    struct run *r = context;

    while (IoAcquireRemoveLock(&r->remove, r) == STATUS_SUCCESS) {
        inside(r);
        IoReleaseRemoveLock(&r->remove, r);
    }
}

/* After the wait no thread owns the protection, and no thread can acquire it. */
static void test_run_down(void **state)
{
    PKSTART_ROUTINE uses[] = { use_plain, use_aware, use_remove };
    PVOID threads[USERS];
    struct run r;

    (void)state;
    for (int k = 0; k < 3; k++) {
        r = (struct run){ .aware = ExAllocateCacheAwareRundownProtection(NonPagedPoolNx, 'nurT') };
        assert_non_null(r.aware);
        ExInitializeRundownProtection(&r.plain);
        IoInitializeRemoveLock(&r.remove, 'nurT', 0, 0);
        for (int i = 0; i < USERS; i++)
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
        for (int i = 0; i < USERS; i++)
            thread_join(threads[i]);
        assert_int_equal(r.after, 0);
        ExFreeCacheAwareRundownProtection(r.aware);
    }
}

static void remove_and_wait(PVOID context)
{
    assert_int_equal(IoAcquireRemoveLock(context, NULL), STATUS_SUCCESS);
    IoReleaseRemoveLockAndWait(context, NULL);
}

static void test_remove_states(void **state)
{
    IO_REMOVE_LOCK remove;
    PVOID thread;

    (void)state;
    IoInitializeRemoveLock(&remove, 'nurT', 0, 0);
    assert_int_equal(IoAcquireRemoveLock(&remove, &remove), STATUS_SUCCESS);
    thread = thread_start(remove_and_wait, &remove);
    while (NT_SUCCESS(IoAcquireRemoveLock(&remove, NULL))) {
        IoReleaseRemoveLock(&remove, NULL);
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    assert_int_equal(IoAcquireRemoveLock(&remove, NULL), STATUS_DELETE_PENDING);
    assert_int_equal(wait1(thread, &ms), STATUS_TIMEOUT);
    IoReleaseRemoveLock(&remove, &remove);
    thread_join(thread);
    assert_int_equal(IoAcquireRemoveLock(&remove, NULL), STATUS_DELETE_PENDING);
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
    while (ExAcquireRundownProtection(&ref)) {
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
    while (ExAcquireRundownProtectionCacheAware(ref)) {
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

/* ---- two that wait ---- */

enum { WAITERS = 2, ROUNDS = 4000 };

static struct together {
    PEX_RUNDOWN_REF_CACHE_AWARE ref;
    atomic_int round, released, ready, done, early;
} together;

static void wait_each_round(PVOID context)
{
    (void)context;
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_fetch_add(&together.ready, 1);
        while (atomic_load(&together.round) < round)
            sched_yield();
        ExWaitForRundownProtectionReleaseCacheAware(together.ref);
        if (atomic_load(&together.released) != round)
            atomic_fetch_add(&together.early, 1);
        atomic_fetch_add(&together.done, 1);
    }
}

static void await(atomic_int *count, int value)
{
    while (atomic_load(count) < value)
        sched_yield();
}

/* Neither thread continues before the protection is released, at any moment at which the second wait begins. */
static void test_two_wait(void **state)
{
    PVOID threads[WAITERS];

    (void)state;
    together.ref = ExAllocateCacheAwareRundownProtection(NonPagedPoolNx, 'nurT');
    for (int i = 0; i < WAITERS; i++)
        threads[i] = thread_start(wait_each_round, NULL);
    for (int round = 1; round <= ROUNDS; round++) {
        await(&together.ready, round * WAITERS);
        assert_true(ExAcquireRundownProtectionCacheAware(together.ref));
        atomic_store(&together.round, round);
        if (round % 100 == 0)
            KeDelayExecutionThread(KernelMode, FALSE, &ms);
        while (ExAcquireRundownProtectionCacheAware(together.ref))
            ExReleaseRundownProtectionCacheAware(together.ref);
        atomic_store(&together.released, round);
        ExReleaseRundownProtectionCacheAware(together.ref);
        await(&together.done, round * WAITERS);
        ExReInitializeRundownProtectionCacheAware(together.ref);
    }
    for (int i = 0; i < WAITERS; i++)
        thread_join(threads[i]);
    assert_int_equal(together.early, 0);
    ExFreeCacheAwareRundownProtection(together.ref);
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
        cmocka_unit_test(test_run_down),       cmocka_unit_test(test_remove_states),
        cmocka_unit_test(test_rundown_states), cmocka_unit_test(test_cache_aware_states),
        cmocka_unit_test(test_two_wait),       cmocka_unit_test(test_rundown_misuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
