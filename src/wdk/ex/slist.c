/* SPDX-License-Identifier: MIT */
/*
 * Lists that several threads change: SLists, and the lists under a spin lock. What every one of these sections does is
 * a handful of loads and stores, so each is under a lock: an SList's is a bit of its own header. (Without a lock a pop
 * reads the link of an entry that somebody else may have popped and freed, which the checked pool would report.)
 */
#include <sched.h>
#include <stdint.h>

#include "wdm.h"

#include "wdk/common/check.h"

enum { SLIST_LOCKED = 1, DEPTH_MASK = 0xffff, SEQUENCE_ONE = 0x10000, YIELD_EVERY = 128 };

static void relax(unsigned tries)
{
    if (tries % YIELD_EVERY == 0)
        sched_yield(); /* the holder may have lost its processor */
    else
        YieldProcessor();
}

/* What Region was, without the bit. */
static ULONGLONG lock_header(PSLIST_HEADER head)
{
    for (unsigned tries = 1;; tries++) {
        ULONGLONG region = __atomic_load_n(&head->Region, __ATOMIC_RELAXED);

        if (!(region & SLIST_LOCKED) &&
            __atomic_compare_exchange_n(&head->Region, &region, region | SLIST_LOCKED, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return region;
        relax(tries);
    }
}

static void unlock_header(PSLIST_HEADER head, PSLIST_ENTRY first)
{
    __atomic_store_n(&head->Region, (ULONGLONG)(uintptr_t)first, __ATOMIC_RELEASE);
}

/* Depth and sequence are in one word; readers of the depth take no lock. */
static void set_depth(PSLIST_HEADER head, ULONGLONG depth)
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
    PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)lock_header(ListHead);

    ListEntry->Next = first;
    set_depth(ListHead, QueryDepthSList(ListHead) + 1u);
    unlock_header(ListHead, ListEntry);
    return first;
}

PSLIST_ENTRY InterlockedPopEntrySList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first;

    if (!(__atomic_load_n(&ListHead->Region, __ATOMIC_ACQUIRE) & ~(ULONGLONG)SLIST_LOCKED))
        return NULL; /* empty, or about to get its first */
    first = (PSLIST_ENTRY)(uintptr_t)lock_header(ListHead);
    if (first)
        set_depth(ListHead, QueryDepthSList(ListHead) - 1);
    unlock_header(ListHead, first ? first->Next : NULL);
    return first;
}

PSLIST_ENTRY InterlockedFlushSList(PSLIST_HEADER ListHead)
{
    PSLIST_ENTRY first = (PSLIST_ENTRY)(uintptr_t)lock_header(ListHead);

    set_depth(ListHead, 0);
    unlock_header(ListHead, NULL);
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
 * The spin lock of the routines below belongs to them alone, as their reference says, and they are for any IRQL: they
 * leave the thread's as it is. 0 is a free lock, as everywhere.
 */
static void lock_list(PKSPIN_LOCK lock)
{
    KSPIN_LOCK free_lock = 0;

    for (unsigned tries = 1; !__atomic_compare_exchange_n(lock, &free_lock, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
         tries++) {
        free_lock = 0;
        relax(tries);
    }
}

static void unlock_list(PKSPIN_LOCK lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first;

    lock_list(Lock);
    first = ListHead->Flink;
    InsertHeadList(ListHead, ListEntry);
    unlock_list(Lock);
    return first == ListHead ? NULL : first;
}

PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY last;

    lock_list(Lock);
    last = ListHead->Blink;
    InsertTailList(ListHead, ListEntry);
    unlock_list(Lock);
    return last == ListHead ? NULL : last;
}

PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PLIST_ENTRY first = NULL;

    lock_list(Lock);
    if (!IsListEmpty(ListHead))
        first = RemoveHeadList(ListHead);
    unlock_list(Lock);
    return first;
}

PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead, PSINGLE_LIST_ENTRY ListEntry,
                                              PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY first;

    lock_list(Lock);
    first = ListHead->Next;
    PushEntryList(ListHead, ListEntry);
    unlock_list(Lock);
    return first;
}

PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock)
{
    PSINGLE_LIST_ENTRY first;

    lock_list(Lock);
    first = PopEntryList(ListHead);
    unlock_list(Lock);
    return first;
}

LARGE_INTEGER ExInterlockedAddLargeInteger(PLARGE_INTEGER Addend, LARGE_INTEGER Increment, PKSPIN_LOCK Lock)
{
    LARGE_INTEGER old;

    lock_list(Lock);
    old = *Addend;
    Addend->QuadPart = (LONGLONG)((ULONGLONG)old.QuadPart + (ULONGLONG)Increment.QuadPart);
    unlock_list(Lock);
    return old;
}

ULONG ExInterlockedAddUlong(PULONG Addend, ULONG Increment, PKSPIN_LOCK Lock)
{
    ULONG old;

    lock_list(Lock);
    old = *Addend;
    *Addend = old + Increment;
    unlock_list(Lock);
    return old;
}

#if defined(__x86_64__)
__attribute__((target("cx16")))
BOOLEAN InterlockedCompareExchange128(LONG64 volatile *Destination, LONG64 ExchangeHigh, LONG64 ExchangeLow,
                                      LONG64 *ComparandResult)
{
    unsigned __int128 wanted = (unsigned __int128)(ULONG64)ComparandResult[1] << 64 | (ULONG64)ComparandResult[0];
    unsigned __int128 put = (unsigned __int128)(ULONG64)ExchangeHigh << 64 | (ULONG64)ExchangeLow;
    unsigned __int128 was = __sync_val_compare_and_swap((unsigned __int128 volatile *)Destination, wanted, put);

    ComparandResult[0] = (LONG64)was;
    ComparandResult[1] = (LONG64)(was >> 64);
    return was == wanted;
}
#endif
