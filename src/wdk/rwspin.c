/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer spin locks: the number of readers, a bit for the writer, a bit that keeps new readers out while a
 * writer waits. The word has no room for its owner: that is known while checks are on.
 */
#include "wdm.h"

#include "base/mutant.h"
#include "wdk/lock.h"

static const char what[] = "EX_SPIN_LOCK";

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

    return (!(now & (WRITER | WAITING)) || MUTANT(wdk_rw_reader_beside_writer)) && change(lock, now, now + 1);
}

static bool try_exclusive(EX_SPIN_LOCK *lock)
{
    LONG now = load(lock);

    return !(now & (WRITER | READERS)) && change(lock, now, WRITER);
}

static void acquire_shared(const char *routine, EX_SPIN_LOCK *lock, const void *by)
{
    unsigned tries = 0;

    if (check_on() && lock_again(routine, what, (const void *)lock, by))
        return;
    while (!try_shared(lock))
        lock_pause(&tries);
    if (check_on())
        thread_hold((const void *)lock, what, by);
}

static void acquire_exclusive(const char *routine, EX_SPIN_LOCK *lock, const void *by)
{
    unsigned tries = 0;

    if (check_on() && lock_again(routine, what, (const void *)lock, by))
        return;
    while (!try_exclusive(lock)) {
        LONG now = load(lock);

        if (!(now & WAITING) && (now & (WRITER | READERS)))
            (void)change(lock, now, now | WAITING);
        lock_pause(&tries);
    }
    if (check_on())
        thread_hold((const void *)lock, what, by);
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
    return lock_ends(routine, what, (const void *)lock, NULL);
}

static void release_shared(const char *routine, EX_SPIN_LOCK *lock)
{
    if (ends(routine, lock, false))
        __atomic_fetch_sub(lock, 1, __ATOMIC_RELEASE);
}

static void release_exclusive(const char *routine, EX_SPIN_LOCK *lock)
{
    if (ends(routine, lock, true))
        __atomic_fetch_and(lock, ~WRITER, __ATOMIC_RELEASE);
}

static KIRQL raise(const char *routine)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    return irql_set(DISPATCH_LEVEL);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock)
{
    KIRQL irql = raise("ExAcquireSpinLockShared");

    acquire_shared("ExAcquireSpinLockShared", SpinLock, LOCK_CALLER);
    return irql;
}

VOID ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    irql_check_min("ExReleaseSpinLockShared", DISPATCH_LEVEL);
    release_shared("ExReleaseSpinLockShared", SpinLock);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExAcquireSpinLockSharedAtDpcLevel", DISPATCH_LEVEL);
    acquire_shared("ExAcquireSpinLockSharedAtDpcLevel", SpinLock, LOCK_CALLER);
}

VOID ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExReleaseSpinLockSharedFromDpcLevel", DISPATCH_LEVEL);
    release_shared("ExReleaseSpinLockSharedFromDpcLevel", SpinLock);
}

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    KIRQL irql = raise("ExAcquireSpinLockExclusive");

    acquire_exclusive("ExAcquireSpinLockExclusive", SpinLock, LOCK_CALLER);
    return irql;
}

VOID ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    irql_check_min("ExReleaseSpinLockExclusive", DISPATCH_LEVEL);
    release_exclusive("ExReleaseSpinLockExclusive", SpinLock);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExAcquireSpinLockExclusiveAtDpcLevel", DISPATCH_LEVEL);
    acquire_exclusive("ExAcquireSpinLockExclusiveAtDpcLevel", SpinLock, LOCK_CALLER);
}

VOID ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExReleaseSpinLockExclusiveFromDpcLevel", DISPATCH_LEVEL);
    release_exclusive("ExReleaseSpinLockExclusiveFromDpcLevel", SpinLock);
}

/* Only if the caller is the one reader; it stays a reader otherwise. */
LOGICAL ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    LONG now = load(SpinLock);

    irql_check_min("ExTryConvertSharedSpinLockExclusive", DISPATCH_LEVEL);
    return ((now & READERS) == 1 || MUTANT(wdk_rw_converts_among_readers)) && !(now & WRITER) &&
           change(SpinLock, now, (now & WAITING) | WRITER);
}

static LOGICAL note(bool got, EX_SPIN_LOCK *lock, const void *by)
{
    if (got && check_on())
        thread_hold((const void *)lock, what, by);
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
