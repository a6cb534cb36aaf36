/* SPDX-License-Identifier: MIT */
/*
 * Implements rundown protection. Bit 0 of the word means that rundown has begun; the other bits count the acquired
 * protections. The thread that waits for the rundown sleeps on the word's low half until the count is 0. The
 * cache-aware kind has such a word for each processor. A protection may be acquired on one processor and released on
 * another, so only the sum of the counts has a meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/futex.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/queue.h"
#include "wdk/ke/thread.h"

enum { ACTIVE = EX_RUNDOWN_ACTIVE, ONE = EX_RUNDOWN_COUNT_INC };

static bool rundown_add(volatile ULONG_PTR *word, ULONG count)
{
    ULONG_PTR now = __atomic_load_n(word, __ATOMIC_RELAXED);

    do {
        if (now & ACTIVE)
            return false;
    } while (!__atomic_compare_exchange_n(word, &now, now + (ULONG_PTR)count * ONE, false, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED));
    return true;
}

static void rundown_check_count(const char *routine, ULONG_PTR before, ULONG count, const void *ref)
{
    if (check_on() && before / ONE < count)
        check_failed(CHECK_LOCK_NOT_HELD, routine, (uintptr_t)ref, 0, 0, 0,
                     "rundown protection %p was acquired %llu times, %u are released", ref,
                     (unsigned long long)(before / ONE), count);
}

static void rundown_subtract(const char *routine, EX_RUNDOWN_REF *ref, ULONG count)
{
    ULONG_PTR before;

    irql_check_max(routine, DISPATCH_LEVEL);
    if (check_on()) {
        before = __atomic_load_n(&ref->Count, __ATOMIC_RELAXED);
        rundown_check_count(routine, before, count, ref);
        if (before / ONE < count)
            return;
    }
    before = __atomic_fetch_sub(&ref->Count, (ULONG_PTR)count * ONE, __ATOMIC_RELEASE);
    if (before == (ULONG_PTR)count * ONE + ACTIVE)
        futex_wake((void *)(uintptr_t)&ref->Count, INT_MAX);
}

static void rundown_wait(EX_RUNDOWN_REF *ref)
{
    ULONG_PTR now = __atomic_fetch_or(&ref->Count, ACTIVE, __ATOMIC_ACQUIRE) | ACTIVE;

    if (now == ACTIVE)
        return;
    queue_begin_wait();
    while (now != ACTIVE) {
        (void)futex_sleep((void *)(uintptr_t)&ref->Count, (unsigned)now, NULL);
        now = __atomic_load_n(&ref->Count, __ATOMIC_ACQUIRE);
    }
    queue_end_wait();
}

VOID ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    irql_check_max("ExInitializeRundownProtection", DISPATCH_LEVEL);
    __atomic_store_n(&RunRef->Count, 0, __ATOMIC_RELAXED);
}

/* Must be called only after a completed rundown. */
VOID ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    irql_check_max("ExReInitializeRundownProtection", APC_LEVEL);
    if (check_on() && __atomic_load_n(&RunRef->Count, __ATOMIC_RELAXED) != ACTIVE)
        check_failed(CHECK_OBJECT_REINITIALIZED, "ExReInitializeRundownProtection", (uintptr_t)RunRef, 0, 0, 0,
                     "rundown protection %p has not been run down", (void *)RunRef);
    __atomic_store_n(&RunRef->Count, 0, __ATOMIC_RELEASE);
}

BOOLEAN ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count)
{
    irql_check_max("ExAcquireRundownProtectionEx", DISPATCH_LEVEL);
    return rundown_add(&RunRef->Count, Count);
}

BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    irql_check_max("ExAcquireRundownProtection", DISPATCH_LEVEL);
    return rundown_add(&RunRef->Count, 1);
}

VOID ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count)
{
    rundown_subtract("ExReleaseRundownProtectionEx", RunRef, Count);
}

VOID ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    rundown_subtract("ExReleaseRundownProtection", RunRef, 1);
}

VOID ExRundownCompleted(PEX_RUNDOWN_REF RunRef)
{
    irql_check_max("ExRundownCompleted", APC_LEVEL);
    __atomic_store_n(&RunRef->Count, ACTIVE, __ATOMIC_RELEASE);
}

VOID ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef)
{
    irql_check_max("ExWaitForRundownProtectionRelease", APC_LEVEL);
    rundown_wait(RunRef);
}

/* ---- Cache-aware ------------------------------------------------------------------------------------------------- */

/*
 * Each processor has a slot with a count of protections. When rundown begins, rundown_collect marks each slot and moves
 * its count to `remaining`. From then on, a release on that slot decrements `remaining`. Until all slots are collected,
 * `remaining` includes COLLECTING, so that it does not reach 0 too early. The first thread that waits for the rundown
 * collects the slots.
 */
enum { COLLECTING = 1 << 30 };

struct slot {
    volatile ULONG_PTR count;
} __attribute__((aligned(64)));

struct _EX_RUNDOWN_REF_CACHE_AWARE {
    volatile LONG remaining;
    volatile LONG collected; /* 1 when a thread has begun to collect the slots */
    ULONG slot_count;
    PVOID allocation; /* the memory of this struct and its slots; NULL if the driver supplied that memory */
    struct slot *slots;
};

static SIZE_T rundown_slots_size(ULONG slots)
{
    return sizeof(struct _EX_RUNDOWN_REF_CACHE_AWARE) + sizeof(struct slot) * (slots + 1);
}

static struct slot *rundown_slot(PEX_RUNDOWN_REF_CACHE_AWARE ref)
{
    return &ref->slots[processor_now() % ref->slot_count];
}

static void rundown_init_slots(PEX_RUNDOWN_REF_CACHE_AWARE ref, SIZE_T size)
{
    uintptr_t after = (uintptr_t)(ref + 1);

    ref->remaining = COLLECTING;
    ref->collected = 0;
    ref->slots = (struct slot *)((after + 63) & ~(uintptr_t)63);
    ref->slot_count = (ULONG)((size - ((uintptr_t)ref->slots - (uintptr_t)ref)) / sizeof(struct slot));
    for (ULONG i = 0; i < ref->slot_count; i++)
        ref->slots[i].count = 0;
}

SIZE_T ExSizeOfRundownProtectionCacheAware(VOID)
{
    return rundown_slots_size(processor_count());
}

VOID ExInitializeRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware, SIZE_T RunRefSize)
{
    irql_check_max("ExInitializeRundownProtectionCacheAware", DISPATCH_LEVEL);
    RunRefCacheAware->allocation = NULL;
    rundown_init_slots(RunRefCacheAware, RunRefSize);
}

PEX_RUNDOWN_REF_CACHE_AWARE ExAllocateCacheAwareRundownProtection(POOL_TYPE PoolType, ULONG PoolTag)
{
    SIZE_T size = rundown_slots_size(processor_count());
    PEX_RUNDOWN_REF_CACHE_AWARE ref;

    irql_check_max("ExAllocateCacheAwareRundownProtection", APC_LEVEL);
    ref = ExAllocatePoolWithTag(PoolType, size, PoolTag);
    if (!ref)
        return NULL;
    rundown_init_slots(ref, size);
    ref->allocation = ref;
    return ref;
}

VOID ExFreeCacheAwareRundownProtection(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    irql_check_max("ExFreeCacheAwareRundownProtection", APC_LEVEL);
    ExFreePool(RunRefCacheAware->allocation);
}

BOOLEAN ExAcquireRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware, ULONG Count)
{
    irql_check_max("ExAcquireRundownProtectionCacheAwareEx", DISPATCH_LEVEL);
    return rundown_add(&rundown_slot(RunRefCacheAware)->count, Count);
}

BOOLEAN ExAcquireRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    return ExAcquireRundownProtectionCacheAwareEx(RunRefCacheAware, 1);
}

static void rundown_count_down(PEX_RUNDOWN_REF_CACHE_AWARE ref, LONG count)
{
    if (__atomic_sub_fetch(&ref->remaining, count, __ATOMIC_RELEASE) == 0)
        futex_wake((void *)(uintptr_t)&ref->remaining, INT_MAX);
}

VOID ExReleaseRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware, ULONG Count)
{
    volatile ULONG_PTR *word = &rundown_slot(RunRefCacheAware)->count;
    ULONG_PTR now = __atomic_load_n(word, __ATOMIC_RELAXED);

    irql_check_max("ExReleaseRundownProtectionCacheAwareEx", DISPATCH_LEVEL);
    while (!(now & ACTIVE))
        if (__atomic_compare_exchange_n(word, &now, now - (ULONG_PTR)Count * ONE, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    rundown_count_down(RunRefCacheAware, (LONG)Count);
}

VOID ExReleaseRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    ExReleaseRundownProtectionCacheAwareEx(RunRefCacheAware, 1);
}

static void rundown_collect(PEX_RUNDOWN_REF_CACHE_AWARE ref)
{
    LONG_PTR sum = 0;

    for (ULONG i = 0; i < ref->slot_count; i++)
        sum += (LONG_PTR)__atomic_exchange_n(&ref->slots[i].count, ACTIVE, __ATOMIC_ACQUIRE) / ONE;
    rundown_count_down(ref, COLLECTING - (LONG)sum);
}

VOID ExWaitForRundownProtectionReleaseCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    LONG remaining;

    irql_check_max("ExWaitForRundownProtectionReleaseCacheAware", APC_LEVEL);
    if (!__atomic_exchange_n(&RunRefCacheAware->collected, 1, __ATOMIC_ACQUIRE))
        rundown_collect(RunRefCacheAware);
    remaining = __atomic_load_n(&RunRefCacheAware->remaining, __ATOMIC_ACQUIRE);
    if (!remaining)
        return;
    queue_begin_wait();
    do
        (void)futex_sleep((void *)(uintptr_t)&RunRefCacheAware->remaining, (unsigned)remaining, NULL);
    while ((remaining = __atomic_load_n(&RunRefCacheAware->remaining, __ATOMIC_ACQUIRE)) != 0);
    queue_end_wait();
}

static void rundown_set_slots(PEX_RUNDOWN_REF_CACHE_AWARE ref, ULONG_PTR count)
{
    __atomic_store_n(&ref->remaining, count ? 0 : COLLECTING, __ATOMIC_RELAXED);
    __atomic_store_n(&ref->collected, count != 0, __ATOMIC_RELAXED);
    for (ULONG i = 0; i < ref->slot_count; i++)
        __atomic_store_n(&ref->slots[i].count, count, __ATOMIC_RELEASE);
}

VOID ExReInitializeRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    irql_check_max("ExReInitializeRundownProtectionCacheAware", APC_LEVEL);
    rundown_set_slots(RunRefCacheAware, 0);
}

VOID ExRundownCompletedCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRefCacheAware)
{
    irql_check_max("ExRundownCompletedCacheAware", APC_LEVEL);
    rundown_set_slots(RunRefCacheAware, ACTIVE);
}
