/* SPDX-License-Identifier: MIT */
/*
 * Implements spin locks. The word of a plain lock points at the thread that holds it. The word of an in-stack queued
 * lock points at the last handle of a queue; each handle is on the stack of its thread. The word of a free lock is 0.
 */
#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/ke/lock.h"

static const struct lock_kind spin_lock = { .name = "KSPIN_LOCK" };

VOID KeInitializeSpinLock(PKSPIN_LOCK SpinLock)
{
    inuse_check_init("KeInitializeSpinLock", SpinLock, sizeof *SpinLock);
    __atomic_store_n(SpinLock, 0, __ATOMIC_RELAXED);
}

static bool spin_lock_try(KSPIN_LOCK *lock, struct kernel_thread *t)
{
    KSPIN_LOCK expected = 0;

    return __atomic_compare_exchange_n(lock, &expected, (KSPIN_LOCK)t, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void spin_lock_wait(KSPIN_LOCK *lock, struct kernel_thread *t)
{
    unsigned tries = 0;

    do
        while (__atomic_load_n(lock, __ATOMIC_RELAXED))
            lock_pause(&tries);
    while (!spin_lock_try(lock, t));
}

/* Acquires the lock without any check. */
static inline void spin_lock_acquire(KSPIN_LOCK *lock, struct kernel_thread *t)
{
    if (__builtin_expect(!spin_lock_try(lock, t), 0))
        spin_lock_wait(lock, t);
}

static __attribute__((noinline)) void spin_lock_acquire_checked(const char *routine, KSPIN_LOCK *lock, const void *by)
{
    if (lock_check_recursive(routine, &spin_lock, lock, by))
        return;
    spin_lock_acquire(lock, thread_self());
    thread_add_lock(lock, &spin_lock, by);
}

static __attribute__((noinline)) void spin_lock_release_checked(const char *routine, KSPIN_LOCK *lock)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    if (lock_check_release(routine, &spin_lock, lock, (const void *)__atomic_load_n(lock, __ATOMIC_RELAXED)))
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock)
{
    struct kernel_thread *t = thread_self();
    KIRQL irql = t->irql;

    if (check_on()) {
        irql_check_max("KeAcquireSpinLock", DISPATCH_LEVEL);
        t->irql = DISPATCH_LEVEL;
        spin_lock_acquire_checked("KeAcquireSpinLock", SpinLock, LOCK_CALLER);
        return irql;
    }
    t->irql = DISPATCH_LEVEL;
    spin_lock_acquire(SpinLock, t);
    return irql;
}

VOID KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql)
{
    if (check_on()) {
        spin_lock_release_checked("KeReleaseSpinLock", SpinLock);
        KeLowerIrql(NewIrql);
        return;
    }
    __atomic_store_n(SpinLock, 0, __ATOMIC_RELEASE);
    thread_self()->irql = NewIrql;
}

VOID KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    if (check_on()) {
        irql_check_min("KeAcquireSpinLockAtDpcLevel", DISPATCH_LEVEL);
        spin_lock_acquire_checked("KeAcquireSpinLockAtDpcLevel", SpinLock, LOCK_CALLER);
    } else {
        spin_lock_acquire(SpinLock, thread_self());
    }
}

VOID KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock)
{
    if (check_on())
        spin_lock_release_checked("KeReleaseSpinLockFromDpcLevel", SpinLock);
    else
        __atomic_store_n(SpinLock, 0, __ATOMIC_RELEASE);
}

BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    irql_check_min("KeTryToAcquireSpinLockAtDpcLevel", DISPATCH_LEVEL);
    if (!spin_lock_try(SpinLock, thread_self()))
        return false;
    if (check_on())
        thread_add_lock(SpinLock, &spin_lock, LOCK_CALLER);
    return TRUE;
}

/* Returns TRUE if no thread holds the lock at this moment. */
BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock)
{
    return __atomic_load_n(SpinLock, __ATOMIC_RELAXED) == 0;
}

/* Acquires the lock and raises the IRQL, because a threaded DPC runs at PASSIVE_LEVEL. */
KIRQL KeAcquireSpinLockForDpc(PKSPIN_LOCK SpinLock)
{
    return KeAcquireSpinLockRaiseToDpc(SpinLock);
}

VOID KeReleaseSpinLockForDpc(PKSPIN_LOCK SpinLock, KIRQL OldIrql)
{
    KeReleaseSpinLock(SpinLock, OldIrql);
}

/* ---- In-stack queued --------------------------------------------------------------------------------------------- */

static const struct lock_kind queued_spin_lock = { .name = "in-stack queued KSPIN_LOCK" };

static __attribute__((noinline)) void queued_lock_wait(KSPIN_LOCK_QUEUE *before, KSPIN_LOCK_QUEUE *me)
{
    unsigned tries = 0;

    __atomic_store_n(&before->Next, me, __ATOMIC_RELEASE);
    while ((ULONG_PTR)__atomic_load_n(&me->Lock, __ATOMIC_ACQUIRE) & 1)
        lock_pause(&tries);
}

/*
 * Acquires the lock with the handle `me`. Bit 0 of me->Lock means that the thread waits. The previous thread in the
 * queue clears the bit when it releases the lock. If the queue is empty, acquires the lock at once, and leaves the bit
 * set, because the owner of the lock does not read it.
 */
static inline void queued_lock_acquire(KSPIN_LOCK *lock, KSPIN_LOCK_QUEUE *me)
{
    KSPIN_LOCK_QUEUE *before;

    me->Next = NULL;
    me->Lock = (PKSPIN_LOCK)((ULONG_PTR)lock | 1);
    before = (KSPIN_LOCK_QUEUE *)__atomic_exchange_n(lock, (KSPIN_LOCK)me, __ATOMIC_ACQ_REL);
    if (__builtin_expect(before != NULL, 0))
        queued_lock_wait(before, me);
}

static KSPIN_LOCK *queued_lock_of(const KSPIN_LOCK_QUEUE *me)
{
    return (KSPIN_LOCK *)((ULONG_PTR)me->Lock & ~(ULONG_PTR)1);
}

static __attribute__((noinline)) void queued_lock_pass_on(KSPIN_LOCK_QUEUE *me)
{
    KSPIN_LOCK_QUEUE *next;
    unsigned tries = 0;

    /* Another thread has replaced the end of the queue, and is about to set Next. */
    while (!(next = __atomic_load_n(&me->Next, __ATOMIC_ACQUIRE)))
        lock_pause(&tries);
    __atomic_store_n(&next->Lock, queued_lock_of(me), __ATOMIC_RELEASE);
}

static inline void queued_lock_release(KSPIN_LOCK_QUEUE *me)
{
    KSPIN_LOCK last = (KSPIN_LOCK)me;

    if (!__atomic_compare_exchange_n(queued_lock_of(me), &last, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        queued_lock_pass_on(me);
}

static __attribute__((noinline)) void queued_lock_acquire_checked(const char *routine, KSPIN_LOCK *lock,
                                                                  KSPIN_LOCK_QUEUE *me, const void *by)
{
    if (lock_check_recursive(routine, &queued_spin_lock, lock, by)) {
        me->Lock = lock;
        return;
    }
    queued_lock_acquire(lock, me);
    thread_add_lock(lock, &queued_spin_lock, by);
}

static __attribute__((noinline)) void queued_lock_release_checked(const char *routine, KSPIN_LOCK_QUEUE *me)
{
    irql_check_min(routine, DISPATCH_LEVEL);
    if (lock_check_release(routine, &queued_spin_lock, queued_lock_of(me), NULL))
        queued_lock_release(me);
}

VOID KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    struct kernel_thread *t = thread_self();

    LockHandle->OldIrql = t->irql;
    if (check_on()) {
        irql_check_max("KeAcquireInStackQueuedSpinLock", DISPATCH_LEVEL);
        t->irql = DISPATCH_LEVEL;
        queued_lock_acquire_checked("KeAcquireInStackQueuedSpinLock", SpinLock, &LockHandle->LockQueue, LOCK_CALLER);
        return;
    }
    t->irql = DISPATCH_LEVEL;
    queued_lock_acquire(SpinLock, &LockHandle->LockQueue);
}

VOID KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle)
{
    if (check_on()) {
        queued_lock_release_checked("KeReleaseInStackQueuedSpinLock", &LockHandle->LockQueue);
        KeLowerIrql(LockHandle->OldIrql);
        return;
    }
    queued_lock_release(&LockHandle->LockQueue);
    thread_self()->irql = LockHandle->OldIrql;
}

VOID KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    LockHandle->OldIrql = DISPATCH_LEVEL;
    if (check_on()) {
        irql_check_min("KeAcquireInStackQueuedSpinLockAtDpcLevel", DISPATCH_LEVEL);
        queued_lock_acquire_checked("KeAcquireInStackQueuedSpinLockAtDpcLevel", SpinLock, &LockHandle->LockQueue,
                                    LOCK_CALLER);
    } else {
        queued_lock_acquire(SpinLock, &LockHandle->LockQueue);
    }
}

VOID KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle)
{
    if (check_on())
        queued_lock_release_checked("KeReleaseInStackQueuedSpinLockFromDpcLevel", &LockHandle->LockQueue);
    else
        queued_lock_release(&LockHandle->LockQueue);
}

VOID KeAcquireInStackQueuedSpinLockForDpc(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeAcquireInStackQueuedSpinLock(SpinLock, LockHandle);
}

VOID KeReleaseInStackQueuedSpinLockForDpc(PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeReleaseInStackQueuedSpinLock(LockHandle);
}
