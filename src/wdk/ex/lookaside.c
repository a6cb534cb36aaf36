/* SPDX-License-Identifier: MIT */
/*
 * Implements lookaside lists: an SList of freed entries in front of the pool, or in front of the driver's own
 * allocation routines. If the checked pool is on (mm/checked_pool.h), the list's depth is 0, so that the checked pool
 * receives every allocation and free.
 */
#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"

/*
 * Returns true if the list can store another entry. A list of entries smaller than LOOKASIDE_MINIMUM_BLOCK_SIZE stores
 * none, because such an entry has no room for the list's link.
 */
static bool lookaside_has_room(const GENERAL_LOOKASIDE *l)
{
    return l->Size >= LOOKASIDE_MINIMUM_BLOCK_SIZE &&
           QueryDepthSList((PSLIST_HEADER)(uintptr_t)&l->ListHead) < l->Depth;
}

static void lookaside_count(ULONG *number)
{
    __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static bool lookaside_find_in_use(const void *start, size_t size, struct inuse_found *out)
{
    out->object = live_inside(LIVE_LOOKASIDE, start, size, &out->what);
    out->what = "lookaside list that has not been deleted";
    return out->object != NULL;
}

static void lookaside_init(const char *routine, GENERAL_LOOKASIDE *l, ULONG type, SIZE_T size, ULONG tag)
{
    irql_check_max(routine, type & PagedPool ? APC_LEVEL : DISPATCH_LEVEL);
    if (check_on() && live_has(LIVE_LOOKASIDE, l))
        check_failed(CHECK_OBJECT_REINITIALIZED, routine, (uintptr_t)l, 0, 0, 0,
                     "the lookaside list %p has not been deleted", (void *)l);
    *l = (GENERAL_LOOKASIDE){
        .Depth = checked_pool_is_on() ? 0 : EX_MAXIMUM_LOOKASIDE_DEPTH_BASE,
        .MaximumDepth = EX_MAXIMUM_LOOKASIDE_DEPTH_BASE,
        .Type = (POOL_TYPE)type,
        .Tag = tag,
        .Size = (ULONG)size,
    };
    InitializeSListHead(&l->ListHead);
    inuse_add_source(lookaside_find_in_use);
    live_add(LIVE_LOOKASIDE, l, "lookaside list");
}

static bool lookaside_is_paged(const GENERAL_LOOKASIDE *l)
{
    return l->Type & PagedPool;
}

/* Removes and returns an entry of the list. Returns NULL if the list is empty. */
static PVOID lookaside_pop(const char *routine, GENERAL_LOOKASIDE *l)
{
    PSLIST_ENTRY entry;

    irql_check_max(routine, lookaside_is_paged(l) ? APC_LEVEL : DISPATCH_LEVEL);
    entry = InterlockedPopEntrySList(&l->ListHead);
    lookaside_count(&l->TotalAllocates);
    if (!entry)
        lookaside_count(&l->AllocateMisses);
    return entry;
}

/* Adds a freed entry to the list. Returns false if the list is full. */
static bool lookaside_push(const char *routine, GENERAL_LOOKASIDE *l, PVOID entry)
{
    irql_check_max(routine, lookaside_is_paged(l) ? APC_LEVEL : DISPATCH_LEVEL);
    lookaside_count(&l->TotalFrees);
    if (lookaside_has_room(l)) {
        InterlockedPushEntrySList(&l->ListHead, entry);
        return true;
    }
    lookaside_count(&l->FreeMisses);
    return false;
}

/* Removes the list from the registry of live.h. If the list is not registered, reports this and returns false. */
static bool lookaside_unregister(const char *routine, GENERAL_LOOKASIDE *l)
{
    irql_check_max(routine, lookaside_is_paged(l) ? APC_LEVEL : DISPATCH_LEVEL);
    if (live_remove(LIVE_LOOKASIDE, l))
        return true;
    if (check_on())
        check_failed(CHECK_OBJECT_NOT_INITIALIZED, routine, (uintptr_t)l, 0, 0, 0,
                     "there is no lookaside list at %p, or no longer", (void *)l);
    return false;
}

/* ---- Nonpaged, paged --------------------------------------------------------------------------------------------- */

static void lookaside_init_plain(const char *routine, GENERAL_LOOKASIDE *l, ULONG type, PALLOCATE_FUNCTION allocate,
                                 PFREE_FUNCTION free, SIZE_T size, ULONG tag)
{
    lookaside_init(routine, l, type, size, tag);
    l->Allocate = allocate;
    l->Free = free;
}

static PVOID lookaside_alloc_plain(const char *routine, GENERAL_LOOKASIDE *l)
{
    PVOID entry = lookaside_pop(routine, l);

    if (entry)
        return entry;
    return l->Allocate ? l->Allocate(l->Type, l->Size, l->Tag) : ExAllocatePoolWithTag(l->Type, l->Size, l->Tag);
}

static void lookaside_free_to_pool(GENERAL_LOOKASIDE *l, PVOID entry)
{
    if (l->Free)
        l->Free(entry);
    else
        ExFreePoolWithTag(entry, l->Tag);
}

static void lookaside_free_plain(const char *routine, GENERAL_LOOKASIDE *l, PVOID entry)
{
    if (!lookaside_push(routine, l, entry))
        lookaside_free_to_pool(l, entry);
}

static void lookaside_delete_plain(const char *routine, GENERAL_LOOKASIDE *l)
{
    PSLIST_ENTRY next;

    if (!lookaside_unregister(routine, l))
        return;
    for (PSLIST_ENTRY entry = InterlockedFlushSList(&l->ListHead); entry; entry = next) {
        next = entry->Next;
        lookaside_free_to_pool(l, entry);
    }
}

VOID ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate, PFREE_FUNCTION Free,
                                     ULONG Flags, SIZE_T Size, ULONG Tag, USHORT Depth)
{
    (void)Depth;
    lookaside_init_plain(__func__, &Lookaside->L, NonPagedPool | Flags, Allocate, Free, Size, Tag);
}

VOID ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
    lookaside_delete_plain(__func__, &Lookaside->L);
}

PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
    return lookaside_alloc_plain(__func__, &Lookaside->L);
}

VOID ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
    lookaside_free_plain(__func__, &Lookaside->L, Entry);
}

VOID ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate, PFREE_FUNCTION Free,
                                    ULONG Flags, SIZE_T Size, ULONG Tag, USHORT Depth)
{
    (void)Depth;
    lookaside_init_plain(__func__, &Lookaside->L, PagedPool | Flags, Allocate, Free, Size, Tag);
}

VOID ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
    lookaside_delete_plain(__func__, &Lookaside->L);
}

PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
    return lookaside_alloc_plain(__func__, &Lookaside->L);
}

VOID ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
    lookaside_free_plain(__func__, &Lookaside->L, Entry);
}

/* ---- Ex ---------------------------------------------------------------------------------------------------------- */

static void lookaside_ex_free_to_pool(PLOOKASIDE_LIST_EX list, PVOID entry)
{
    if (list->L.FreeEx)
        list->L.FreeEx(entry, list);
    else
        ExFreePoolWithTag(entry, list->L.Tag);
}

static void lookaside_ex_flush(PLOOKASIDE_LIST_EX list)
{
    PSLIST_ENTRY next;

    for (PSLIST_ENTRY entry = InterlockedFlushSList(&list->L.ListHead); entry; entry = next) {
        next = entry->Next;
        lookaside_ex_free_to_pool(list, entry);
    }
}

NTSTATUS ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PALLOCATE_FUNCTION_EX Allocate,
                                     PFREE_FUNCTION_EX Free, POOL_TYPE PoolType, ULONG Flags, SIZE_T Size, ULONG Tag,
                                     USHORT Depth)
{
    const ULONG known = PagedPoolCacheAligned | NonPagedPoolNx | POOL_COLD_ALLOCATION | NonPagedPoolSession;
    ULONG type = PoolType;

    (void)Depth;
    if (type & ~known)
        return STATUS_INVALID_PARAMETER_4;
    if (Flags & ~3u || Flags == 3)
        return STATUS_INVALID_PARAMETER_5;
    if (Flags & EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL)
        type |= POOL_RAISE_IF_ALLOCATION_FAILURE;
    if (Flags & EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE)
        type |= POOL_QUOTA_FAIL_INSTEAD_OF_RAISE;
    lookaside_init(__func__, &Lookaside->L, type, Size, Tag);
    Lookaside->L.AllocateEx = Allocate;
    Lookaside->L.FreeEx = Free;
    return STATUS_SUCCESS;
}

VOID ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    if (lookaside_unregister(__func__, &Lookaside->L))
        lookaside_ex_flush(Lookaside);
}

VOID ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    irql_check_max(__func__, lookaside_is_paged(&Lookaside->L) ? APC_LEVEL : DISPATCH_LEVEL);
    lookaside_ex_flush(Lookaside);
}

PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    GENERAL_LOOKASIDE *l = &Lookaside->L;
    PVOID entry = lookaside_pop(__func__, l);

    if (entry)
        return entry;
    return l->AllocateEx ? l->AllocateEx(l->Type, l->Size, l->Tag, Lookaside)
                         : ExAllocatePoolWithTag(l->Type, l->Size, l->Tag);
}

VOID ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry)
{
    if (!lookaside_push(__func__, &Lookaside->L, Entry))
        lookaside_ex_free_to_pool(Lookaside, Entry);
}
