/* SPDX-License-Identifier: MIT */
/* Spin locks of all kinds: exclusion, the IRQL, and the reports of misuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"

#include "contend.h"
#include "live_count.h"
#include "wdk/ke/thread.h"
#include "openndk/verify.h"

struct shared {
    KSPIN_LOCK lock;
    EX_SPIN_LOCK rw;
    struct contest contest;
};

static void use_plain(PVOID context)
{
    struct shared *s = context;
    KIRQL irql;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        KeAcquireSpinLock(&s->lock, &irql);
        contest_write(&s->contest);
        KeReleaseSpinLock(&s->lock, irql);
    }
}

static void use_queued(PVOID context)
{
    struct shared *s = context;
    KLOCK_QUEUE_HANDLE h;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        KeAcquireInStackQueuedSpinLock(&s->lock, &h);
        contest_write(&s->contest);
        KeReleaseInStackQueuedSpinLock(&h);
    }
}

static void use_try(PVOID context)
{
    struct shared *s = context;
    KIRQL irql;

    wait1(&s->contest.go, NULL);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    for (int i = 0; i < TURNS;) {
        if (!KeTryToAcquireSpinLockAtDpcLevel(&s->lock))
            continue;
        contest_write(&s->contest);
        i++;
        KeReleaseSpinLockFromDpcLevel(&s->lock);
    }
    KeLowerIrql(irql);
}

/* Every fourth turn writes. A reader that is alone sometimes converts its lock. */
static void use_rw(PVOID context)
{
    struct shared *s = context;
    KIRQL irql;

    wait1(&s->contest.go, NULL);
    for (int i = 0; i < TURNS; i++) {
        if (i % 4 == 0) {
            irql = ExAcquireSpinLockExclusive(&s->rw);
            contest_write(&s->contest);
            ExReleaseSpinLockExclusive(&s->rw, irql);
            continue;
        }
        irql = ExAcquireSpinLockShared(&s->rw);
        contest_read(&s->contest);
        if (i % 16 == 1 && ExTryConvertSharedSpinLockExclusive(&s->rw)) {
            contest_write(&s->contest);
            ExReleaseSpinLockExclusive(&s->rw, irql);
        } else {
            ExReleaseSpinLockShared(&s->rw, irql);
        }
    }
}

static int run(PKSTART_ROUTINE routine)
{
    struct report *r = report_start();
    struct shared s = { .lock = 0 };

    KeInitializeSpinLock(&s.lock);
    contest_run(&s.contest, routine, &s);
    assert_true(KeTestSpinLock(&s.lock));
    assert_int_equal(s.rw, 0);
    report_is_empty(r);
    return s.contest.counter;
}

static void test_exclusion(void **state)
{
    (void)state;
    assert_int_equal(run(use_plain), CONTENDERS * TURNS);
    assert_int_equal(run(use_queued), CONTENDERS * TURNS);
    assert_int_equal(run(use_try), CONTENDERS * TURNS);
    assert_in_range(run(use_rw), CONTENDERS * TURNS / 4, CONTENDERS * TURNS);
}

static void test_exclusion_without_checks(void **state)
{
    struct shared s = { .lock = 0 };
    PKSTART_ROUTINE all[] = { use_plain, use_queued, use_rw };

    (void)state;
    KeInitializeSpinLock(&s.lock);
    for (int k = 0; k < 3; k++) {
        ondk_verify_set_mode(ONDK_VERIFY_OFF);
        contest_run(&s.contest, all[k], &s);
        assert_true(KeTestSpinLock(&s.lock));
        assert_int_equal(s.rw, 0);
    }
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
}

static void test_irql(void **state)
{
    struct report *r = report_start();
    KLOCK_QUEUE_HANDLE h;
    EX_SPIN_LOCK rw = 0;
    KSPIN_LOCK lock;
    KIRQL irql;

    (void)state;
    KeInitializeSpinLock(&lock);
    KeAcquireSpinLock(&lock, &irql);
    assert_int_equal(irql, PASSIVE_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    assert_false(KeTestSpinLock(&lock));
    KeReleaseSpinLock(&lock, irql);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    KeAcquireInStackQueuedSpinLock(&lock, &h);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeReleaseInStackQueuedSpinLock(&h);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    irql = ExAcquireSpinLockShared(&rw);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    ExReleaseSpinLockShared(&rw, irql);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    report_is_empty(r);
}

struct tries {
    EX_SPIN_LOCK rw;
    LOGICAL shared, exclusive;
};

/* The result of another thread. */
static void try_both(PVOID context)
{
    struct tries *t = context;
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    t->shared = ExTryAcquireSpinLockSharedAtDpcLevel(&t->rw);
    if (t->shared)
        ExReleaseSpinLockSharedFromDpcLevel(&t->rw);
    t->exclusive = ExTryAcquireSpinLockExclusiveAtDpcLevel(&t->rw);
    if (t->exclusive)
        ExReleaseSpinLockExclusiveFromDpcLevel(&t->rw);
    KeLowerIrql(irql);
}

static void others_get(struct tries *t, LOGICAL shared, LOGICAL exclusive)
{
    thread_join(thread_start(try_both, t));
    assert_int_equal(t->shared, shared);
    assert_int_equal(t->exclusive, exclusive);
}

/* The thread owns the lock at PASSIVE_LEVEL, so that it can wait for the other thread. */
static void test_rw_modes(void **state)
{
    struct tries t = { .rw = 0 };

    (void)state;
    others_get(&t, TRUE, TRUE);
    KeLowerIrql(ExAcquireSpinLockShared(&t.rw));
    others_get(&t, TRUE, FALSE);
    (void)KeRaiseIrqlToDpcLevel();
    assert_true(ExTryConvertSharedSpinLockExclusive(&t.rw));
    KeLowerIrql(PASSIVE_LEVEL);
    others_get(&t, FALSE, FALSE);
    (void)KeRaiseIrqlToDpcLevel();
    ExReleaseSpinLockExclusive(&t.rw, PASSIVE_LEVEL);
    others_get(&t, TRUE, TRUE);
    assert_int_equal(t.rw, 0);
}

static void test_wrong_irql(void **state)
{
    struct report *r;
    KSPIN_LOCK lock;
    KIRQL irql;

    (void)state;
    KeInitializeSpinLock(&lock);
    r = report_start();
    KeAcquireSpinLockAtDpcLevel(&lock);
    report_is(r, "irql-too-low in KeAcquireSpinLockAtDpcLevel");
    r = report_start();
    KeReleaseSpinLockFromDpcLevel(&lock);
    report_is(r, "irql-too-low in KeReleaseSpinLockFromDpcLevel");
    KeRaiseIrql(HIGH_LEVEL, &irql);
    r = report_start();
    KeAcquireSpinLockRaiseToDpc(&lock);
    report_is(r, "irql-too-high in KeAcquireSpinLock");
    KeReleaseSpinLock(&lock, irql);
}

static void test_recursive(void **state)
{
    KLOCK_QUEUE_HANDLE h, again;
    EX_SPIN_LOCK rw = 0;
    struct report *r;
    KSPIN_LOCK lock;
    KIRQL irql, raised;

    (void)state;
    KeInitializeSpinLock(&lock);
    KeAcquireSpinLock(&lock, &irql);
    r = report_start();
    KeAcquireSpinLock(&lock, &raised);
    KeReleaseSpinLock(&lock, raised);
    report_is(r, "lock-recursive in KeAcquireSpinLock");
    assert_false(KeTestSpinLock(&lock));
    KeReleaseSpinLock(&lock, irql);
    assert_true(KeTestSpinLock(&lock));

    KeAcquireInStackQueuedSpinLock(&lock, &h);
    r = report_start();
    KeAcquireInStackQueuedSpinLockAtDpcLevel(&lock, &again);
    KeReleaseInStackQueuedSpinLockFromDpcLevel(&again);
    report_is(r, "lock-recursive in KeAcquireInStackQueuedSpinLockAtDpcLevel");
    KeReleaseInStackQueuedSpinLock(&h);

    irql = ExAcquireSpinLockShared(&rw);
    r = report_start();
    ExAcquireSpinLockSharedAtDpcLevel(&rw);
    ExReleaseSpinLockSharedFromDpcLevel(&rw);
    report_is(r, "lock-recursive in ExAcquireSpinLockSharedAtDpcLevel");
    ExReleaseSpinLockShared(&rw, irql);
    assert_int_equal(rw, 0);

    IoAcquireCancelSpinLock(&irql);
    r = report_start();
    IoAcquireCancelSpinLock(&raised);
    IoReleaseCancelSpinLock(raised);
    report_is(r, "lock-recursive in IoAcquireCancelSpinLock");
    IoReleaseCancelSpinLock(irql);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

static void release_foreign(PVOID context)
{
    struct shared *s = context;

    (void)KeRaiseIrqlToDpcLevel();
    KeReleaseSpinLock(&s->lock, PASSIVE_LEVEL);
}

static void test_not_held(void **state)
{
    struct shared s = { .lock = 0 };
    struct report *r;
    KIRQL irql;

    (void)state;
    KeInitializeSpinLock(&s.lock);
    KeAcquireSpinLock(&s.lock, &irql);
    KeLowerIrql(irql);
    r = report_start();
    thread_join(thread_start(release_foreign, &s));
    report_is(r, "lock-not-held in KeReleaseSpinLock: KSPIN_LOCK");
    assert_false(KeTestSpinLock(&s.lock));
    (void)KeRaiseIrqlToDpcLevel();
    KeReleaseSpinLock(&s.lock, DISPATCH_LEVEL);
    r = report_start();
    KeReleaseSpinLockFromDpcLevel(&s.lock);
    report_is(r, "lock-not-held in KeReleaseSpinLockFromDpcLevel");
    ExAcquireSpinLockSharedAtDpcLevel(&s.rw);
    r = report_start();
    ExReleaseSpinLockExclusiveFromDpcLevel(&s.rw);
    report_is(r, "lock-not-held in ExReleaseSpinLockExclusiveFromDpcLevel");
    ExReleaseSpinLockSharedFromDpcLevel(&s.rw);
    KeLowerIrql(PASSIVE_LEVEL);
}

static void keep(PVOID context)
{
    struct shared *s = context;
    KIRQL irql;

    KeAcquireSpinLock(&s->lock, &irql);
    KeLowerIrql(irql);
}

static void test_held_at_end(void **state)
{
    struct shared s = { .lock = 0 };
    struct report *r = report_start();

    (void)state;
    KeInitializeSpinLock(&s.lock);
    thread_join(thread_start(keep, &s));
    report_is(r, "lock-held-at-end in system thread: KSPIN_LOCK");
}

/* More locks than the thread's list of held locks has entries: none is confused with another, and each is released. */
static void test_many_at_once(void **state)
{
    static KSPIN_LOCK locks[THREAD_MAX_LOCKS + 8];
    struct report *r = report_start();
    KIRQL irql;

    (void)state;
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    for (size_t i = 0; i < RTL_NUMBER_OF(locks); i++) {
        KeInitializeSpinLock(&locks[i]);
        KeAcquireSpinLockAtDpcLevel(&locks[i]);
        assert_false(KeTestSpinLock(&locks[i]));
    }
    for (size_t i = 0; i < RTL_NUMBER_OF(locks); i++) {
        KeReleaseSpinLockFromDpcLevel(&locks[i]);
        assert_true(KeTestSpinLock(&locks[i]));
    }
    KeLowerIrql(irql);
    report_is_empty(r);
}

static void test_freed_while_held(void **state)
{
    struct shared *s = malloc(sizeof *s);
    uint32_t left = live_count();
    struct report *r;
    KIRQL irql;

    (void)state;
    KeInitializeSpinLock(&s->lock);
    KeAcquireSpinLock(&s->lock, &irql);
    assert_int_equal(live_count(), left + 1);
    r = report_start();
    inuse_check("ExFreePool", s, sizeof *s);
    report_is(r, "object-freed-in-use in ExFreePool: ");
    r = report_start();
    KeInitializeSpinLock(&s->lock);
    report_is(r, "object-reinitialized in KeInitializeSpinLock");
    KeReleaseSpinLock(&s->lock, irql);
    assert_int_equal(live_count(), left);
    r = report_start();
    inuse_check("ExFreePool", s, sizeof *s);
    report_is_empty(r);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion),    cmocka_unit_test(test_exclusion_without_checks),
        cmocka_unit_test(test_irql),         cmocka_unit_test(test_rw_modes),
        cmocka_unit_test(test_wrong_irql),   cmocka_unit_test(test_recursive),
        cmocka_unit_test(test_not_held),     cmocka_unit_test(test_held_at_end),
        cmocka_unit_test(test_many_at_once), cmocka_unit_test(test_freed_while_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
