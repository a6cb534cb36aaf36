/* SPDX-License-Identifier: MIT */
/*
 * Implements reader-writer spin locks. The word has the number of readers and two bits. One bit is set while a writer
 * holds the lock. The other bit is set while a writer waits, and blocks new readers. The word has no room for the
 * owner's thread, so the owner is recorded elsewhere, and only while checks are on.
 */
#include "wdm.h"

#include "wdk/ke/lock.h"

static const struct lock_kind rw_spin_lock = { .name = "EX_SPIN_LOCK" };

enum { WAITING = 1 << 30, READERS = WAITING - 1 };
#define WRITER INT32_MIN

static LONG rwspin_load(EX_SPIN_LOCK *lock)
{
    return __atomic_load_n(lock, __ATOMIC_RELAXED);
}

static bool rwspin_change(EX_SPIN_LOCK *lock, LONG from, LONG to)
{
    return __atomic_compare_exchange_n(lock, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool rwspin_try_shared(EX_SPIN_LOCK *lock)
{
    LONG now = rwspin_load(lock);

    return !(now & (WRITER | WAITING)) && rwspin_change(lock, now, now + 1);
}

static bool rwspin_try_exclusive(EX_SPIN_LOCK *lock)
{
    LONG now = rwspin_load(lock);

    return !(now & (WRITER | READERS)) && rwspin_change(lock, now, WRITER);
}

static void rwspin_block_readers(EX_SPIN_LOCK *lock)
{
    LONG now = rwspin_load(lock);

    if (!(now & WAITING) && (now & (WRITER | READERS)))
        (void)rwspin_change(lock, now, now | WAITING);
}

static void rwspin_acquire(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    unsigned tries = 0;

    if (check_on() && lock_check_recursive(routine, &rw_spin_lock, (const void *)lock, by))
        return;
    while (!(exclusive ? rwspin_try_exclusive(lock) : rwspin_try_shared(lock))) {
        if (exclusive)
            rwspin_block_readers(lock);
        lock_pause(&tries);
    }
    if (check_on())
        thread_add_lock((const void *)lock, &rw_spin_lock, by);
}

static KIRQL rwspin_raise_and_acquire(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    KIRQL irql;

    irql_check_max(routine, DISPATCH_LEVEL);
    irql = irql_set(DISPATCH_LEVEL);
    rwspin_acquire(routine, lock, exclusive, by);
    return irql;
}

static void rwspin_acquire_at_dpc(const char *routine, EX_SPIN_LOCK *lock, bool exclusive, const void *by)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    rwspin_acquire(routine, lock, exclusive, by);
}

/*
 * Returns true if the release is valid, or if checks are off. A shared release of an exclusive lock, or the reverse,
 * would corrupt the lock's word, as on Windows.
 */
static bool rwspin_check_release(const char *routine, EX_SPIN_LOCK *lock, bool exclusive)
{
    if (!check_on())
        return true;
    if (exclusive != !!(rwspin_load(lock) & WRITER)) {
        lock_report_not_held(routine, exclusive ? "(exclusively) EX_SPIN_LOCK" : "(shared) EX_SPIN_LOCK",
                             (const void *)lock, NULL);
        return false;
    }
    return lock_check_release(routine, &rw_spin_lock, (const void *)lock, NULL);
}

static void rwspin_release(const char *routine, EX_SPIN_LOCK *lock, bool exclusive)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    if (!rwspin_check_release(routine, lock, exclusive))
        return;
    if (exclusive)
        __atomic_fetch_and(lock, ~WRITER, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(lock, 1, __ATOMIC_RELEASE);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock)
{
    return rwspin_raise_and_acquire(__func__, SpinLock, false, LOCK_CALLER);
}

VOID ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    rwspin_release(__func__, SpinLock, false);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    rwspin_acquire_at_dpc(__func__, SpinLock, false, LOCK_CALLER);
}

VOID ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    rwspin_release(__func__, SpinLock, false);
}

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    return rwspin_raise_and_acquire(__func__, SpinLock, true, LOCK_CALLER);
}

VOID ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    rwspin_release(__func__, SpinLock, true);
    KeLowerIrql(OldIrql);
}

VOID ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    rwspin_acquire_at_dpc(__func__, SpinLock, true, LOCK_CALLER);
}

VOID ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    rwspin_release(__func__, SpinLock, true);
}

/*
 * Converts the caller's shared access to exclusive access. Returns FALSE if there is another reader. The caller then
 * keeps its shared access.
 */
LOGICAL ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    LONG now = rwspin_load(SpinLock);

    irql_check_min("ExTryConvertSharedSpinLockExclusive", DISPATCH_LEVEL);
    return (now & READERS) == 1 && !(now & WRITER) && rwspin_change(SpinLock, now, (now & WAITING) | WRITER);
}

static LOGICAL rwspin_record(bool acquired, EX_SPIN_LOCK *lock, const void *by)
{
    if (acquired && check_on())
        thread_add_lock((const void *)lock, &rw_spin_lock, by);
    return acquired;
}

LOGICAL ExTryAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExTryAcquireSpinLockSharedAtDpcLevel", DISPATCH_LEVEL);
    return rwspin_record(rwspin_try_shared(SpinLock), SpinLock, LOCK_CALLER);
}

LOGICAL ExTryAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock)
{
    irql_check_min("ExTryAcquireSpinLockExclusiveAtDpcLevel", DISPATCH_LEVEL);
    return rwspin_record(rwspin_try_exclusive(SpinLock), SpinLock, LOCK_CALLER);
}
