/* SPDX-License-Identifier: MIT */
/*
 * Implements SLists, and lists under a spin lock. The lock of an SList is a bit of its header, which is held for a few
 * loads and stores. Without a lock, a pop could read the link of an entry that another thread has already popped and
 * freed. The checked pool would report that read.
 */
#include <sched.h>
#include <stdint.h>

#include "wdm.h"

#include "wdk/common/check.h"

enum { SLIST_LOCKED = 1, DEPTH_MASK = 0xffff, SEQUENCE_ONE = 0x10000, TRIES_PER_YIELD = 128 };

static void slist_pause(unsigned tries)
{
    if (tries % TRIES_PER_YIELD == 0)
        sched_yield(); /* the thread that has the lock may need this processor */
    else
        YieldProcessor();
}

/* Acquires the lock. Returns the address of the first entry, which is Region without the lock's bit. */
static ULONGLONG slist_lock(PSLIST_HEADER head)
{
    for (unsigned tries = 1;; tries++) {
        ULONGLONG region = __atomic_load_n(&head->Region, __ATOMIC_RELAXED);

        if (!(region & SLIST_LOCKED) && __atomic_compare_exchange_n(&head->Region, &region, region | SLIST_LOCKED, 0,
                                                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return region;
        slist_pause(tries);
    }
}

static void slist_unlock(PSLIST_HEADER head, PSLIST_ENTRY first)
{
    __atomic_store_n(&head->Region, (ULONGLONG)(uintptr_t)first, __ATOMIC_RELEASE);
}

/* Sets the depth by an atomic store, because QueryDepthSList reads it without the lock. Requires the lock. */
static void slist_set_depth(PSLIST_HEADER head, ULONGLONG depth)
{
    ULONGLONG old = __atomic_load_n(&head->Alignment, __ATOMIC_RELAXED);

    __atomic_store_n(&head->Alignment, ((old & ~(ULONGLONG)DEPTH_MASK) + SEQUENCE_ONE) | (depth & DEPTH_MASK),
                     __ATOMIC_RELAXED);
}

VOID InitializeSListHead(PSLIST_HEADER SListHead)
{
    __atomic_store_n(&SListHead->Alignment, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&SListHead->Region, 0, __ATOMIC_RELEASE);
}

PSLIST_ENTRY InterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry)
{
    PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)slist_lock(ListHead);

    ListEntry->Next = first;
    slist_set_depth(ListHead, QueryDepthSList(ListHead) + 1u);
    slist_unlock(ListHead, ListEntry);
    return first;
}

PSLIST_ENTRY InterlockedPopEntrySList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first;

    if (!(__atomic_load_n(&ListHead->Region, __ATOMIC_ACQUIRE) & ~(ULONGLONG)SLIST_LOCKED))
        return NULL; /* the list is empty, or another thread is inserting the first entry */
    first = (PSLIST_ENTRY)(uintptr_t)slist_lock(ListHead);
    if (first)
        slist_set_depth(ListHead, QueryDepthSList(ListHead) - 1);
    slist_unlock(ListHead, first ? first->Next : NULL);
    return first;
}

PSLIST_ENTRY InterlockedFlushSList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)slist_lock(ListHead);

    slist_set_depth(ListHead, 0);
    slist_unlock(ListHead, NULL);
    return first;
}

USHORT QueryDepthSList(PSLIST_HEADER SListHead)
{
    return (USHORT)(__atomic_load_n(&SListHead->Alignment, __ATOMIC_RELAXED) & DEPTH_MASK);
}

PSLIST_ENTRY FirstEntrySList(const SLIST_HEADER *SListHead)
{
    ULONGLONG region = __atomic_load_n(&SListHead->Region, __ATOMIC_ACQUIRE);

    return (PSLIST_ENTRY)(uintptr_t)(region & ~(ULONGLONG)SLIST_LOCKED);
}

/*
 * Acquires the spin lock of the ExInterlocked... routines. Does not change the IRQL, because these routines may be
 * called at any IRQL. KeInitializeSpinLock sets the lock to 0, which means free. A driver must not pass this lock to
 * other routines.
 */
static void list_lock(PKSPIN_LOCK lock)
{
    KSPIN_LOCK free_lock = 0;

    for (unsigned tries = 1; !__atomic_compare_exchange_n(lock, &free_lock, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
         tries++) {
        free_lock = 0;
        slist_pause(tries);
    }
}

static void list_unlock(PKSPIN_LOCK lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first;

    list_lock(Lock);
    first = ListHead->Flink;
    InsertHeadList(ListHead, ListEntry);
    list_unlock(Lock);
    return first == ListHead ? NULL : first;
}

PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY last;

    list_lock(Lock);
    last = ListHead->Blink;
    InsertTailList(ListHead, ListEntry);
    list_unlock(Lock);
    return last == ListHead ? NULL : last;
}

PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first = NULL;

    list_lock(Lock);
    if (!IsListEmpty(ListHead))
        first = RemoveHeadList(ListHead);
    list_unlock(Lock);
    return first;
}

PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead, PSINGLE_LIST_ENTRY ListEntry,
                                              PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY first;

    list_lock(Lock);
    first = ListHead->Next;
    PushEntryList(ListHead, ListEntry);
    list_unlock(Lock);
    return first;
}

PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY first;

    list_lock(Lock);
    first = PopEntryList(ListHead);
    list_unlock(Lock);
    return first;
}

LARGE_INTEGER ExInterlockedAddLargeInteger(PLARGE_INTEGER Addend, LARGE_INTEGER Increment, PKSPIN_LOCK Lock)
{
    LARGE_INTEGER old;

    list_lock(Lock);
    old = *Addend;
    Addend->QuadPart = (LONGLONG)((ULONGLONG)old.QuadPart + (ULONGLONG)Increment.QuadPart);
    list_unlock(Lock);
    return old;
}

ULONG ExInterlockedAddUlong(PULONG Addend, ULONG Increment, PKSPIN_LOCK Lock)
{
    ULONG old;

    list_lock(Lock);
    old = *Addend;
    *Addend = old + Increment;
    list_unlock(Lock);
    return old;
}

#if defined(__x86_64__)
__attribute__((target("cx16"))) BOOLEAN InterlockedCompareExchange128(LONG64 volatile *Destination, LONG64 ExchangeHigh,
                                                                      LONG64 ExchangeLow, LONG64 *ComparandResult)
{
    unsigned __int128 expected = (unsigned __int128)(ULONG64)ComparandResult[1] << 64 | (ULONG64)ComparandResult[0];
    unsigned __int128 desired = (unsigned __int128)(ULONG64)ExchangeHigh << 64 | (ULONG64)ExchangeLow;
    unsigned __int128 old = __sync_val_compare_and_swap((unsigned __int128 volatile *)Destination, expected, desired);

    ComparandResult[0] = (LONG64)old;
    ComparandResult[1] = (LONG64)(old >> 64);
    return old == expected;
}
#endif
