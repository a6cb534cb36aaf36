/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer spin locks: the number of readers, a bit for the writer, a bit that keeps new readers out while a
 * writer waits. The word has no room for its owner: that is known while checks are on.
 */
#include "wdm.h"

#include "wdk/ke/lock.h"

static const struct lock_kind rw_spin_lock = { .name = "EX_SPIN_LOCK" };

enum { WAITING = 1 << 30, READERS = WAITING - 1 };
#define WRITER INT32_MIN

static LONG load(EX_SPIN_LOCK *lock)
{
    return __atomic_load_n(lock, __ATOMIC_RELAXED);
}

static bool change(EX_SPIN_LOCK *lock, LONG from, LONG to)
{
    return __atomic_compare_exchange_n(lock, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool try_shared(EX_SPIN_LOCK *lock)
{
    LONG now = load(lock);

    return (!(now & (WRITER | WAITING))) && change(lock, now, now + 1);
}

static bool try_exclusive(EX_SPIN_LOCK *lock)
{
    LONG now = load(lock);

    return !(now & (WRITER | READERS)) && change(lock, now, WRITER);
}

/* No reader comes in any more. */
static void keep_out(EX_SPIN_LOCK *lock)
{
    LONG now = load(lock);

    if (!(now & WAITING) && (now & (WRITER | READERS)))
        (void)change(lock, now, now | WAITING);
}

static void acquire(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    unsigned tries = 0;

    if (check_on() && lock_check_recursive(routine, &rw_spin_lock, (const void *)lock, by))
        return;
    while (!(exclusive ? try_exclusive(lock) : try_shared(lock))) {
        if (exclusive)
            keep_out(lock);
        lock_pause(&tries);
    }
    if (check_on())
        thread_add_lock((const void *)lock, &rw_spin_lock, by);
}

static KIRQL raise_and_acquire(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    KIRQL irql;

    irql_check_max(routine, DISPATCH_LEVEL);
    irql = irql_set(DISPATCH_LEVEL);
    acquire(routine, lock, exclusive, by);
    return irql;
}

static void acquire_at_dpc(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    acquire(routine, lock, exclusive, by);
}

/* Held in the other way: Windows would spoil the count. */
static bool ends(const char *routine, EX_SPIN_LOCK *lock, bool exclusive)
{
    if (!check_on())
        return true;
    if (exclusive != !!(load(lock) & WRITER)) {
        lock_report_not_held(routine, exclusive ? "(exclusively) EX_SPIN_LOCK" : "(shared) EX_SPIN_LOCK",
                             (const void *)lock, NULL);
        return false;
    }
    return lock_check_release(routine, &rw_spin_lock, (const void *)lock, NULL);
}

static void release(const char *routine, EX_SPIN_LOCK *lock, bool exclusive)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    if (!ends(routine, lock, exclusive))
        return;
    if (exclusive)
        __atomic_fetch_and(lock, ~WRITER, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(lock, 1, __ATOMIC_RELEASE);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock)
{
    return raise_and_acquire(__func__, SpinLock, false, LOCK_CALLER);
}

VOID ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    release(__func__, SpinLock, false);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    acquire_at_dpc(__func__, SpinLock, false, LOCK_CALLER);
}

VOID ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    release(__func__, SpinLock, false);
}

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    return raise_and_acquire(__func__, SpinLock, true, LOCK_CALLER);
}

VOID ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    release(__func__, SpinLock, true);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    acquire_at_dpc(__func__, SpinLock, true, LOCK_CALLER);
}

VOID ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    release(__func__, SpinLock, true);
}

/* Only if the caller is the one reader; it stays a reader otherwise. */
LOGICAL ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    LONG now = load(SpinLock);

    irql_check_min("ExTryConvertSharedSpinLockExclusive", DISPATCH_LEVEL);
    return (now & READERS) == 1 && !(now & WRITER) &&
           change(SpinLock, now, (now & WAITING) | WRITER);
}

static LOGICAL note(bool got, EX_SPIN_LOCK *lock, const void *by)
{
    if (got && check_on())
        thread_add_lock((const void *)lock, &rw_spin_lock, by);
    return got;
}

LOGICAL ExTryAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExTryAcquireSpinLockSharedAtDpcLevel", DISPATCH_LEVEL);
    return note(try_shared(SpinLock), SpinLock, LOCK_CALLER);
}

LOGICAL ExTryAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExTryAcquireSpinLockExclusiveAtDpcLevel", DISPATCH_LEVEL);
    return note(try_exclusive(SpinLock), SpinLock, LOCK_CALLER);
}
