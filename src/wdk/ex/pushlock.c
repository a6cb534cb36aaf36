/* SPDX-License-Identifier: MIT */
/*
 * Implements push locks. The low half of the lock's word has the count of readers, a bit for the writer, and a bit for
 * waiting threads. Waiting threads sleep on that half. While a thread waits, new readers wait as well. The release by
 * the writer or by the last reader clears the bit for waiting threads and wakes them all.
 */
#include "wdm.h"

#include "wdk/common/futex.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/lock.h"
#include "wdk/ke/queue.h"

static const struct lock_kind push_lock = { .name = "EX_PUSH_LOCK" };

#define EXCLUSIVE 0x80000000u
#define WAITERS 0x40000000u
#define READERS 0x3fffffffu

static uint32_t *pushlock_word(EX_PUSH_LOCK *lock)
{
    return (uint32_t *)(uintptr_t)&lock->Value; /* little-endian */
}

static bool pushlock_change(uint32_t *word, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Sets WAITERS and sleeps until another thread wakes this one. Returns at once if *word does not equal `now`. */
static void pushlock_wait(uint32_t *word, uint32_t now)
{
    if (!(now & WAITERS) && !pushlock_change(word, now, now | WAITERS))
        return;
    queue_begin_wait();
    (void)futex_sleep(word, now | WAITERS, NULL);
    queue_end_wait();
}

static void pushlock_acquire(const char *routine, EX_PUSH_LOCK *lock, bool exclusive, const void *by)
{
    const uint32_t writer = EXCLUSIVE;
    const uint32_t conflicting = exclusive ? EXCLUSIVE | READERS : writer | WAITERS;
    uint32_t *word = pushlock_word(lock), now;

    irql_check_max(routine, APC_LEVEL);
    if (check_on() && lock_check_recursive(routine, &push_lock, lock, by))
        return;
    do {
        while ((now = __atomic_load_n(word, __ATOMIC_RELAXED)) & conflicting)
            pushlock_wait(word, now);
    } while (!pushlock_change(word, now, exclusive ? now | EXCLUSIVE : now + 1));
    if (check_on())
        thread_add_lock(lock, &push_lock, by);
}

static void pushlock_release(const char *routine, EX_PUSH_LOCK *lock, bool exclusive)
{
    uint32_t *word = pushlock_word(lock), now = __atomic_load_n(word, __ATOMIC_RELAXED), to;

    irql_check_max(routine, APC_LEVEL);
    if (check_on() && exclusive != !!(now & EXCLUSIVE)) {
        lock_report_not_held(routine, exclusive ? "(exclusively) EX_PUSH_LOCK" : "(shared) EX_PUSH_LOCK", lock, NULL);
        return;
    }
    if (check_on() && !lock_check_release(routine, &push_lock, lock, NULL))
        return;
    do {
        to = exclusive ? now & ~EXCLUSIVE : now - 1;
        if (!(to & READERS))
            to &= ~WAITERS;
    } while (!__atomic_compare_exchange_n(word, &now, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    if ((now & WAITERS) && !(to & WAITERS))
        futex_wake(word, INT_MAX);
}

VOID ExInitializePushLock(PEX_PUSH_LOCK PushLock)
{
    inuse_check_init("ExInitializePushLock", PushLock, sizeof *PushLock);
    PushLock->Value = 0;
}

VOID ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    pushlock_acquire("ExAcquirePushLockExclusive", PushLock, true, LOCK_CALLER);
}

VOID ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    pushlock_acquire("ExAcquirePushLockShared", PushLock, false, LOCK_CALLER);
}

VOID ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    pushlock_release("ExReleasePushLockExclusive", PushLock, true);
}

VOID ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    pushlock_release("ExReleasePushLockShared", PushLock, false);
}

VOID FltInitializePushLock(PEX_PUSH_LOCK PushLock)
{
    inuse_check_init("FltInitializePushLock", PushLock, sizeof *PushLock);
    PushLock->Value = 0;
}

VOID FltDeletePushLock(PEX_PUSH_LOCK PushLock)
{
    inuse_check("FltDeletePushLock", PushLock, sizeof *PushLock);
}

VOID FltAcquirePushLockExclusive(PEX_PUSH_LOCK PushLock)
{
    thread_self()->critical++;
    pushlock_acquire("FltAcquirePushLockExclusive", PushLock, true, LOCK_CALLER);
}

VOID FltAcquirePushLockShared(PEX_PUSH_LOCK PushLock)
{
    thread_self()->critical++;
    pushlock_acquire("FltAcquirePushLockShared", PushLock, false, LOCK_CALLER);
}

VOID FltReleasePushLock(PEX_PUSH_LOCK PushLock)
{
    struct kernel_thread *t = thread_self();
    bool exclusive = __atomic_load_n(pushlock_word(PushLock), __ATOMIC_RELAXED) & EXCLUSIVE;

    pushlock_release("FltReleasePushLock", PushLock, exclusive);
    if (t->critical > 0)
        t->critical--;
}
