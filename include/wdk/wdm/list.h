/* SPDX-License-Identifier: MIT */
/*
 * Lists: doubly linked, singly linked, and sequenced singly linked (SLists), plain and interlocked. Any IRQL.
 *
 * A second removal of an entry, or the insertion of an entry that is already in a list, leaves inconsistent links.
 * Windows stops when it finds such links; here the checks report them.
 */
#ifndef ONDK_WDK_WDM_LIST_H
#define ONDK_WDK_WDM_LIST_H

#include "../ntdef.h"

EXTERN_C_START

typedef ULONG_PTR KSPIN_LOCK, *PKSPIN_LOCK;

/* ---- Doubly linked ----------------------------------------------------------------------------------------------- */

/* Reports inconsistent links. Does not return if the checks are set to stop the program. */
NTKERNELAPI VOID FatalListEntryError(_In_ PVOID p1, _In_ PVOID p2, _In_ PVOID p3);

FORCEINLINE VOID RtlpCheckListEntry(_In_ PLIST_ENTRY Entry)
{
    if (__builtin_expect(Entry->Flink->Blink != Entry || Entry->Blink->Flink != Entry, 0))
        FatalListEntryError(Entry->Blink, Entry, Entry->Flink);
}

FORCEINLINE VOID InitializeListHead(_Out_ PLIST_ENTRY ListHead)
{
    ListHead->Flink = ListHead->Blink = ListHead;
}

FORCEINLINE BOOLEAN IsListEmpty(_In_ const LIST_ENTRY *ListHead)
{
    return ListHead->Flink == ListHead;
}

/* Returns TRUE if the list is empty after the call. */
FORCEINLINE BOOLEAN RemoveEntryList(_In_ PLIST_ENTRY Entry)
{
    PLIST_ENTRY next = Entry->Flink, previous = Entry->Blink;

    if (__builtin_expect(next->Blink != Entry || previous->Flink != Entry, 0))
        FatalListEntryError(previous, Entry, next);
    previous->Flink = next;
    next->Blink = previous;
    return next == previous;
}

/* Returns the head itself if the list is empty, as on Windows. So callers must check IsListEmpty first. */
FORCEINLINE PLIST_ENTRY RemoveHeadList(_Inout_ PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Flink;

    (void)RemoveEntryList(entry);
    return entry;
}

FORCEINLINE PLIST_ENTRY RemoveTailList(_Inout_ PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Blink;

    (void)RemoveEntryList(entry);
    return entry;
}

FORCEINLINE VOID InsertHeadList(_Inout_ PLIST_ENTRY ListHead, _Out_ PLIST_ENTRY Entry)
{
    PLIST_ENTRY next = ListHead->Flink;

    RtlpCheckListEntry(ListHead);
    Entry->Flink = next;
    Entry->Blink = ListHead;
    next->Blink = Entry;
    ListHead->Flink = Entry;
}

FORCEINLINE VOID InsertTailList(_Inout_ PLIST_ENTRY ListHead, _Out_ PLIST_ENTRY Entry)
{
    PLIST_ENTRY previous = ListHead->Blink;

    RtlpCheckListEntry(ListHead);
    Entry->Flink = ListHead;
    Entry->Blink = previous;
    previous->Flink = Entry;
    ListHead->Blink = Entry;
}

/* Appends a ring of entries without a head. ListToAppend is the ring's first entry. */
FORCEINLINE VOID AppendTailList(_Inout_ PLIST_ENTRY ListHead, _Inout_ PLIST_ENTRY ListToAppend)
{
    PLIST_ENTRY end = ListHead->Blink, last = ListToAppend->Blink;

    RtlpCheckListEntry(ListHead);
    RtlpCheckListEntry(ListToAppend);
    end->Flink = ListToAppend;
    ListHead->Blink = last;
    last->Flink = ListHead;
    ListToAppend->Blink = end;
}

/* ---- Singly linked ----------------------------------------------------------------------------------------------- */

FORCEINLINE VOID PushEntryList(_Inout_ PSINGLE_LIST_ENTRY ListHead, _Inout_ PSINGLE_LIST_ENTRY Entry)
{
    Entry->Next = ListHead->Next;
    ListHead->Next = Entry;
}

/* Returns NULL if the list is empty. */
FORCEINLINE PSINGLE_LIST_ENTRY PopEntryList(_Inout_ PSINGLE_LIST_ENTRY ListHead)
{
    PSINGLE_LIST_ENTRY first = ListHead->Next;

    if (first)
        ListHead->Next = first->Next;
    return first;
}

/* ---- Interlocked lists: the driver must not use their spin lock elsewhere ---------------------------------------- */

/*
 * ExInterlockedInsertHeadList returns the entry that was the first before the call, ExInterlockedInsertTailList the one
 * that was the last. Both return NULL if the list was empty.
 */
NTKERNELAPI PLIST_ENTRY ExInterlockedInsertHeadList(_Inout_ PLIST_ENTRY ListHead, _Inout_ PLIST_ENTRY ListEntry,
                                                    _Inout_ PKSPIN_LOCK Lock);
NTKERNELAPI PLIST_ENTRY ExInterlockedInsertTailList(_Inout_ PLIST_ENTRY ListHead, _Inout_ PLIST_ENTRY ListEntry,
                                                    _Inout_ PKSPIN_LOCK Lock);
/* Returns NULL if the list is empty. */
NTKERNELAPI PLIST_ENTRY ExInterlockedRemoveHeadList(_Inout_ PLIST_ENTRY ListHead, _Inout_ PKSPIN_LOCK Lock);
NTKERNELAPI PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(_Inout_ PSINGLE_LIST_ENTRY ListHead,
                                                          _Inout_ PSINGLE_LIST_ENTRY ListEntry,
                                                          _Inout_ PKSPIN_LOCK Lock);
NTKERNELAPI PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(_Inout_ PSINGLE_LIST_ENTRY ListHead, _Inout_ PKSPIN_LOCK Lock);

/* Returns the previous value. */
NTKERNELAPI LARGE_INTEGER ExInterlockedAddLargeInteger(_Inout_ PLARGE_INTEGER Addend, _In_ LARGE_INTEGER Increment,
                                                       _Inout_ PKSPIN_LOCK Lock);
NTKERNELAPI ULONG ExInterlockedAddUlong(_Inout_ PULONG Addend, _In_ ULONG Increment, _Inout_ PKSPIN_LOCK Lock);

#define ExInterlockedAddLargeStatistic(Addend, Increment) \
    ((void)__atomic_fetch_add(&(Addend)->QuadPart, (LONGLONG)(ULONG)(Increment), __ATOMIC_RELAXED))
#define ExInterlockedCompareExchange64(Destination, Exchange, Comperand, Lock) \
    InterlockedCompareExchange64(Destination, *(Exchange), *(Comperand))

/* ---- Sequenced singly linked ------------------------------------------------------------------------------------- */

typedef struct DECLSPEC_ALIGN(16) _SLIST_ENTRY {
    struct _SLIST_ENTRY *Next;
} SLIST_ENTRY, *PSLIST_ENTRY;

/*
 * Only the SList routines access the members. A zeroed header is an empty list. Bit 0 of Region is set during a change.
 */
typedef union DECLSPEC_ALIGN(16) _SLIST_HEADER {
    __extension__ struct {
        ULONGLONG Alignment;
        ULONGLONG Region;
    };
    struct {
        ULONGLONG Depth : 16;
        ULONGLONG Sequence : 48;
        ULONGLONG Reserved : 4;
        ULONGLONG NextEntry : 60;
    } HeaderX64;
} SLIST_HEADER, *PSLIST_HEADER;

NTKERNELAPI VOID InitializeSListHead(_Out_ PSLIST_HEADER SListHead);
/* Returns the entry that was the first before the call, or NULL if the list was empty. */
NTKERNELAPI PSLIST_ENTRY InterlockedPushEntrySList(_Inout_ PSLIST_HEADER ListHead, _Inout_ PSLIST_ENTRY ListEntry);
/* Returns NULL if the list is empty. */
NTKERNELAPI PSLIST_ENTRY InterlockedPopEntrySList(_Inout_ PSLIST_HEADER ListHead);
/* Removes all entries. Returns the newest entry; the others follow through its member Next. */
NTKERNELAPI PSLIST_ENTRY InterlockedFlushSList(_Inout_ PSLIST_HEADER ListHead);
NTKERNELAPI USHORT QueryDepthSList(_In_ PSLIST_HEADER SListHead);
/* The list must not change during the call. */
NTKERNELAPI PSLIST_ENTRY FirstEntrySList(_In_ const SLIST_HEADER *SListHead);

#define ExInitializeSListHead InitializeSListHead
#define ExQueryDepthSList QueryDepthSList
#define ExpInterlockedPushEntrySList InterlockedPushEntrySList
#define ExpInterlockedPopEntrySList InterlockedPopEntrySList
#define ExInterlockedFlushSList InterlockedFlushSList
/* These forms ignore the parameter Lock, as on 64-bit Windows. */
#define ExInterlockedPushEntrySList(ListHead, ListEntry, Lock) InterlockedPushEntrySList(ListHead, ListEntry)
#define ExInterlockedPopEntrySList(ListHead, Lock) InterlockedPopEntrySList(ListHead)

EXTERN_C_END

#endif
