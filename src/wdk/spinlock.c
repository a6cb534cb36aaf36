/* SPDX-License-Identifier: MIT */
/*
 * Spin locks: the plain one, whose word is its owner's thread, and the in-stack queued one, whose word is the end of a
 * queue of handles, each on the stack of its thread.
 */
#include "wdm.h"

#include "wdk/inuse.h"
#include "wdk/lock.h"

static const char what[] = "KSPIN_LOCK";

VOID KeInitializeSpinLock(PKSPIN_LOCK SpinLock)
{
    inuse_check_init("KeInitializeSpinLock", SpinLock, sizeof *SpinLock);
    __atomic_store_n(SpinLock, 0, __ATOMIC_RELAXED);
}

static bool try_word(KSPIN_LOCK *lock, struct kernel_thread *t)
{
    KSPIN_LOCK nobody = 0;

    return __atomic_compare_exchange_n(lock, &nobody, (KSPIN_LOCK)t, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void wait_for_word(KSPIN_LOCK *lock, struct kernel_thread *t)
{
    unsigned tries = 0;

    do
        while (__atomic_load_n(lock, __ATOMIC_RELAXED))
            lock_pause(&tries);
    while (!try_word(lock, t));
}

static inline void acquire(const char *routine, KSPIN_LOCK *lock, struct kernel_thread *t, const void *by)
{
    if (__builtin_expect(check_on(), 0) && lock_again(routine, what, lock, by))
        return;
    if (!try_word(lock, t))
        wait_for_word(lock, t);
    if (check_on())
        thread_hold(lock, what, by);
}

/* Somebody else's stays his. */
static inline void release(const char *routine, KSPIN_LOCK *lock)
{
    if (__builtin_expect(check_on(), 0) &&
        !lock_ends(routine, what, lock, (const void *)__atomic_load_n(lock, __ATOMIC_RELAXED)))
        return;
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock)
{
    struct kernel_thread *t = thread_self();
    KIRQL irql = t->irql;

    irql_check_max("KeAcquireSpinLock", DISPATCH_LEVEL);
    t->irql = DISPATCH_LEVEL;
    acquire("KeAcquireSpinLock", SpinLock, t, LOCK_CALLER);
    return irql;
}

VOID KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql)
{
    irql_check_min("KeReleaseSpinLock", DISPATCH_LEVEL);
    release("KeReleaseSpinLock", SpinLock);
    KeLowerIrql(NewIrql);
}

VOID KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    irql_check_min("KeAcquireSpinLockAtDpcLevel", DISPATCH_LEVEL);
    acquire("KeAcquireSpinLockAtDpcLevel", SpinLock, thread_self(), LOCK_CALLER);
}

VOID KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock)
{
    irql_check_min("KeReleaseSpinLockFromDpcLevel", DISPATCH_LEVEL);
    release("KeReleaseSpinLockFromDpcLevel", SpinLock);
}

BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    irql_check_min("KeTryToAcquireSpinLockAtDpcLevel", DISPATCH_LEVEL);
    if (!try_word(SpinLock, thread_self()))
        return FALSE;
    if (check_on())
        thread_hold(SpinLock, what, LOCK_CALLER);
    return TRUE;
}

/* TRUE: nobody holds it at this moment. */
BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock)
{
    return __atomic_load_n(SpinLock, __ATOMIC_RELAXED) == 0;
}

/* For both kinds of DPCs: a threaded one runs at PASSIVE_LEVEL. */
KIRQL KeAcquireSpinLockForDpc(PKSPIN_LOCK SpinLock)
{
    return KeAcquireSpinLockRaiseToDpc(SpinLock);
}

VOID KeReleaseSpinLockForDpc(PKSPIN_LOCK SpinLock, KIRQL OldIrql)
{
    KeReleaseSpinLock(SpinLock, OldIrql);
}

/* ---- In-stack queued --------------------------------------------------------------------------------------------- */

static const char queued[] = "in-stack queued KSPIN_LOCK";

static void wait_for_turn(KSPIN_LOCK_QUEUE *me)
{
    unsigned tries = 0;

    while ((ULONG_PTR)__atomic_load_n(&me->Lock, __ATOMIC_ACQUIRE) & 1)
        lock_pause(&tries);
}

static inline void enqueue(const char *routine, KSPIN_LOCK *lock, KSPIN_LOCK_QUEUE *me, const void *by)
{
    KSPIN_LOCK_QUEUE *before;

    me->Next = NULL;
    me->Lock = lock;
    if (__builtin_expect(check_on(), 0) && lock_again(routine, queued, lock, by))
        return;
    __atomic_store_n(&me->Lock, (PKSPIN_LOCK)((ULONG_PTR)lock | 1), __ATOMIC_RELAXED);
    before = (KSPIN_LOCK_QUEUE *)__atomic_exchange_n(lock, (KSPIN_LOCK)me, __ATOMIC_ACQ_REL);
    if (before) {
        __atomic_store_n(&before->Next, me, __ATOMIC_RELEASE);
        wait_for_turn(me);
    } else {
        __atomic_store_n(&me->Lock, lock, __ATOMIC_RELAXED);
    }
    if (check_on())
        thread_hold(lock, queued, by);
}

static void hand_over(KSPIN_LOCK_QUEUE *me)
{
    KSPIN_LOCK_QUEUE *next;
    unsigned tries = 0;

    /* Whoever has taken the end of the queue is about to name himself. */
    while (!(next = __atomic_load_n(&me->Next, __ATOMIC_ACQUIRE)))
        lock_pause(&tries);
    __atomic_store_n(&next->Lock, me->Lock, __ATOMIC_RELEASE);
}

static inline void dequeue(const char *routine, KSPIN_LOCK_QUEUE *me)
{
    KSPIN_LOCK *lock = me->Lock;
    KSPIN_LOCK last = (KSPIN_LOCK)me;

    if (__builtin_expect(check_on(), 0) && !lock_ends(routine, queued, lock, NULL))
        return;
    if (__atomic_load_n(&me->Next, __ATOMIC_ACQUIRE) ||
        !__atomic_compare_exchange_n(lock, &last, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        hand_over(me);
}

VOID KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    struct kernel_thread *t = thread_self();

    irql_check_max("KeAcquireInStackQueuedSpinLock", DISPATCH_LEVEL);
    LockHandle->OldIrql = t->irql;
    t->irql = DISPATCH_LEVEL;
    enqueue("KeAcquireInStackQueuedSpinLock", SpinLock, &LockHandle->LockQueue, LOCK_CALLER);
}

VOID KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle)
{
    irql_check_min("KeReleaseInStackQueuedSpinLock", DISPATCH_LEVEL);
    dequeue("KeReleaseInStackQueuedSpinLock", &LockHandle->LockQueue);
    KeLowerIrql(LockHandle->OldIrql);
}

VOID KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    irql_check_min("KeAcquireInStackQueuedSpinLockAtDpcLevel", DISPATCH_LEVEL);
    LockHandle->OldIrql = DISPATCH_LEVEL;
    enqueue("KeAcquireInStackQueuedSpinLockAtDpcLevel", SpinLock, &LockHandle->LockQueue, LOCK_CALLER);
}

VOID KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle)
{
    irql_check_min("KeReleaseInStackQueuedSpinLockFromDpcLevel", DISPATCH_LEVEL);
    dequeue("KeReleaseInStackQueuedSpinLockFromDpcLevel", &LockHandle->LockQueue);
}

VOID KeAcquireInStackQueuedSpinLockForDpc(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeAcquireInStackQueuedSpinLock(SpinLock, LockHandle);
}

VOID KeReleaseInStackQueuedSpinLockForDpc(PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeReleaseInStackQueuedSpinLock(LockHandle);
}
