/* SPDX-License-Identifier: MIT */
/*
 * Push locks: readers are counted in the word's low half, which waiting threads sleep on. Once somebody waits, all who
 * come later wait too, until the holders have gone; then all are woken.
 */
#include "wdm.h"

#include "wdk/common/futex.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/lock.h"

static const struct lock_kind push_lock = { .name = "EX_PUSH_LOCK" };

#define EXCLUSIVE 0x80000000u
#define WAITERS 0x40000000u
#define READERS 0x3fffffffu

static uint32_t *word_of(EX_PUSH_LOCK *lock)
{
    return (uint32_t *)(uintptr_t)&lock->Value; /* little-endian */
}

static bool change(uint32_t *word, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Sleeps until something has changed. */
static void wait_while(uint32_t *word, uint32_t now)
{
    if ((now & WAITERS) || change(word, now, now | WAITERS))
        (void)futex_sleep(word, now | WAITERS, NULL);
}

static void acquire(const char *routine, EX_PUSH_LOCK *lock, bool exclusive, const void *by)
{
    const uint32_t writer = EXCLUSIVE;
    const uint32_t keeps_out = exclusive ? EXCLUSIVE | READERS : writer | WAITERS;
    uint32_t *word = word_of(lock), now;

    irql_check_max(routine, APC_LEVEL);
    if (check_on() && lock_check_recursive(routine, &push_lock, lock, by))
        return;
    do {
        while ((now = __atomic_load_n(word, __ATOMIC_RELAXED)) & keeps_out)
            wait_while(word, now);
    } while (!change(word, now, exclusive ? now | EXCLUSIVE : now + 1));
    if (check_on())
        thread_add_lock(lock, &push_lock, by);
}

static void release(const char *routine, EX_PUSH_LOCK *lock, bool exclusive)
{
    uint32_t *word = word_of(lock), now = __atomic_load_n(word, __ATOMIC_RELAXED), to;

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
    acquire("ExAcquirePushLockExclusive", PushLock, true, LOCK_CALLER);
}

VOID ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    acquire("ExAcquirePushLockShared", PushLock, false, LOCK_CALLER);
}

VOID ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    release("ExReleasePushLockExclusive", PushLock, true);
}

VOID ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Flags);
    release("ExReleasePushLockShared", PushLock, false);
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
    acquire("FltAcquirePushLockExclusive", PushLock, true, LOCK_CALLER);
}

VOID FltAcquirePushLockShared(PEX_PUSH_LOCK PushLock)
{
    thread_self()->critical++;
    acquire("FltAcquirePushLockShared", PushLock, false, LOCK_CALLER);
}

VOID FltReleasePushLock(PEX_PUSH_LOCK PushLock)
{
    struct kernel_thread *t = thread_self();

    release("FltReleasePushLock", PushLock, __atomic_load_n(word_of(PushLock), __ATOMIC_RELAXED) & EXCLUSIVE);
    if (t->critical > 0)
        t->critical--;
}
