/* SPDX-License-Identifier: MIT */
/*
 * Implements fast and guarded mutexes, each of which is a futex. A fast mutex raises the IRQL when it is acquired; a
 * guarded mutex makes the thread enter a guarded region.
 */
#include "wdm.h"

#include "wdk/common/futex.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/lock.h"
#include "wdk/ke/queue.h"

static const struct lock_kind fast_mutex = { .name = "FAST_MUTEX" }, guarded_mutex = { .name = "KGUARDED_MUTEX" };

enum { FREE, HELD, WAITED_FOR };

static void fast_mutex_init(const char *routine, FAST_MUTEX *m)
{
    inuse_check_init(routine, m, sizeof *m);
    *m = (FAST_MUTEX){ .Count = FREE };
}

static bool fast_mutex_try_lock(FAST_MUTEX *m)
{
    LONG expected = FREE;

    return __atomic_compare_exchange_n(&m->Count, &expected, HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void fast_mutex_wait(FAST_MUTEX *m)
{
    __atomic_fetch_add(&m->Contention, 1, __ATOMIC_RELAXED);
    queue_begin_wait();
    while (__atomic_exchange_n(&m->Count, WAITED_FOR, __ATOMIC_ACQUIRE) != FREE)
        (void)futex_sleep((void *)(uintptr_t)&m->Count, WAITED_FOR, NULL);
    queue_end_wait();
}

static void fast_mutex_acquire(const char *routine, FAST_MUTEX *m, const struct lock_kind *kind, const void *by)
{
    irql_check_max(routine, APC_LEVEL);
    if (check_on() && lock_check_recursive(routine, kind, m, by))
        return;
    if (!fast_mutex_try_lock(m))
        fast_mutex_wait(m);
    __atomic_store_n(&m->Owner, thread_self(), __ATOMIC_RELAXED);
    if (check_on())
        thread_add_lock(m, kind, by);
}

static bool fast_mutex_try_acquire(const char *routine, FAST_MUTEX *m, const struct lock_kind *kind, const void *by)
{
    irql_check_max(routine, APC_LEVEL);
    if (!fast_mutex_try_lock(m))
        return false;
    __atomic_store_n(&m->Owner, thread_self(), __ATOMIC_RELAXED);
    if (check_on())
        thread_add_lock(m, kind, by);
    return true;
}

static void fast_mutex_release(const char *routine, FAST_MUTEX *m, const struct lock_kind *kind)
{
    irql_check_max(routine, APC_LEVEL);
    if (check_on() && !lock_check_release(routine, kind, m, __atomic_load_n(&m->Owner, __ATOMIC_RELAXED)))
        return;
    __atomic_store_n(&m->Owner, NULL, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&m->Count, FREE, __ATOMIC_RELEASE) == WAITED_FOR)
        futex_wake((void *)(uintptr_t)&m->Count, 1);
}

/* Reports the caller if it has not disabled APCs. Called by routines that do not disable APCs themselves. */
static void fast_mutex_check_apcs_disabled(const char *routine)
{
    if (check_on() && !KeAreApcsDisabled())
        check_failed(CHECK_IRQL_TOO_LOW, routine, irql_now(), APC_LEVEL, 0, 0,
                     "IRQL is %d, outside of a critical or guarded region", irql_now());
}

VOID ExInitializeFastMutex(PFAST_MUTEX FastMutex)
{
    fast_mutex_init("ExInitializeFastMutex", FastMutex);
}

VOID ExAcquireFastMutex(PFAST_MUTEX FastMutex)
{
    KIRQL irql = irql_now();

    fast_mutex_acquire("ExAcquireFastMutex", FastMutex, &fast_mutex, LOCK_CALLER);
    FastMutex->OldIrql = irql;
    (void)irql_set(irql > APC_LEVEL ? irql : APC_LEVEL);
}

BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex)
{
    if (!fast_mutex_try_acquire("ExTryToAcquireFastMutex", FastMutex, &fast_mutex, LOCK_CALLER))
        return FALSE;
    FastMutex->OldIrql = irql_set(APC_LEVEL);
    return TRUE;
}

VOID ExReleaseFastMutex(PFAST_MUTEX FastMutex)
{
    bool own = __atomic_load_n(&FastMutex->Owner, __ATOMIC_RELAXED) == (PVOID)thread_self();
    KIRQL irql = own ? (KIRQL)FastMutex->OldIrql : irql_now();

    fast_mutex_release("ExReleaseFastMutex", FastMutex, &fast_mutex);
    (void)irql_set(irql);
}

VOID ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
    fast_mutex_check_apcs_disabled("ExAcquireFastMutexUnsafe");
    fast_mutex_acquire("ExAcquireFastMutexUnsafe", FastMutex, &fast_mutex, LOCK_CALLER);
}

VOID ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
    fast_mutex_release("ExReleaseFastMutexUnsafe", FastMutex, &fast_mutex);
}

VOID KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    fast_mutex_init("KeInitializeGuardedMutex", Mutex);
}

VOID KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    thread_self()->guarded++;
    fast_mutex_acquire("KeAcquireGuardedMutex", Mutex, &guarded_mutex, LOCK_CALLER);
}

BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    if (!fast_mutex_try_acquire("KeTryToAcquireGuardedMutex", Mutex, &guarded_mutex, LOCK_CALLER))
        return FALSE;
    thread_self()->guarded++;
    return TRUE;
}

VOID KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    bool own = __atomic_load_n(&Mutex->Owner, __ATOMIC_RELAXED) == (PVOID)thread_self();

    fast_mutex_release("KeReleaseGuardedMutex", Mutex, &guarded_mutex);
    if (own)
        thread_self()->guarded--;
}

VOID KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex)
{
    fast_mutex_check_apcs_disabled("KeAcquireGuardedMutexUnsafe");
    fast_mutex_acquire("KeAcquireGuardedMutexUnsafe", Mutex, &guarded_mutex, LOCK_CALLER);
}

VOID KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex)
{
    fast_mutex_release("KeReleaseGuardedMutexUnsafe", Mutex, &guarded_mutex);
}
