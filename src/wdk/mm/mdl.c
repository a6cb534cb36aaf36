/* SPDX-License-Identifier: MIT */
/*
 * Implements memory descriptor lists: see wdm/mdl.h. The driver and the host program share one address space. So a page
 * frame number is a virtual page number, and the mapping of an MDL is the buffer itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wdm.h"

#include "verify/stack.h"
#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/accessible.h"
#include "wdk/mm/locked_pages.h"
#include "wdk/mm/mdl_use.h"
#include "wdk/mm/pool.h"
#include "wdk/mm/readable.h"

enum { TAG_CONTIGUOUS = 0x6d436d4d /* "MmCm" */, TAG_PAGES = 0x206c644d /* "Mdl " */ };

static const uint64_t MAX_MDL_BYTES = ((uint64_t)1 << 32) - PAGE_SIZE;

static bool mdl_has_flags(const MDL *mdl, unsigned flags)
{
    return (unsigned)mdl->MdlFlags & flags;
}

static void mdl_set_flags(PMDL mdl, unsigned on, unsigned off)
{
    mdl->MdlFlags = (CSHORT)(((unsigned)mdl->MdlFlags & ~off) | on);
}

/* Returns true if the MDL's pages are locked or nonpaged, or if the MDL describes a part of such an MDL. */
static bool mdl_is_built(const MDL *mdl)
{
    return mdl_has_flags(mdl, MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL);
}

/* Returns true if the MDL is mapped, and does not share the mapping of the MDL that it describes a part of. */
static bool mdl_has_own_mapping(const MDL *mdl)
{
    return mdl_has_flags(mdl, MDL_MAPPED_TO_SYSTEM_VA) &&
           (!mdl_has_flags(mdl, MDL_PARTIAL) || mdl_has_flags(mdl, MDL_PARTIAL_HAS_BEEN_MAPPED));
}

static void mdl_remove_mapping(const MDL *mdl)
{
    if (mdl_has_own_mapping(mdl))
        mapped_pages_remove(mdl);
}

static ULONG mdl_page_count(const MDL *mdl)
{
    return ADDRESS_AND_SIZE_TO_SPAN_PAGES(MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
}

static void mdl_fill_pages(PMDL mdl)
{
    PPFN_NUMBER pages = MmGetMdlPfnArray(mdl);
    ULONG n = mdl_page_count(mdl);

    for (ULONG i = 0; i < n; i++)
        pages[i] = ((ULONG_PTR)mdl->StartVa >> PAGE_SHIFT) + i;
}

static void mdl_report(enum check_rule rule, const char *routine, const MDL *mdl, const char *what)
{
    if (check_on())
        check_failed(rule, routine, (uintptr_t)mdl, (USHORT)mdl->MdlFlags, (uintptr_t)MmGetMdlVirtualAddress(mdl),
                     mdl->ByteCount, "MDL %p: %s", (const void *)mdl, what);
}

/* ---- Allocate and free ------------------------------------------------------------------------------------------- */

SIZE_T MmSizeOfMdl(PVOID Base, SIZE_T Length)
{
    return sizeof(MDL) + sizeof(PFN_NUMBER) * ADDRESS_AND_SIZE_TO_SPAN_PAGES(Base, Length);
}

static void mdl_chain(PIRP irp, PMDL mdl, bool secondary)
{
    PMDL *at = &irp->MdlAddress;

    while (secondary && *at)
        at = &(*at)->Next;
    *at = mdl;
}

PMDL IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer, BOOLEAN ChargeQuota, PIRP Irp)
{
    PMDL mdl = NULL;

    (void)ChargeQuota;
    irql_check_max(__func__, DISPATCH_LEVEL);
    if (Length <= MAX_MDL_BYTES)
        mdl = pool_alloc(MmSizeOfMdl(VirtualAddress, Length));
    if (!mdl)
        return NULL;
    MmInitializeMdl(mdl, VirtualAddress, Length);
    live_add(LIVE_MDL, mdl, "MDL");
    if (Irp)
        mdl_chain(Irp, mdl, SecondaryBuffer);
    return mdl;
}

/*
 * Frees the MDL. Does not access the buffer, which may already be freed. If the MDL is mapped, removes the record of
 * the mapping. There is no memory to unmap, because the mapping of an MDL is the buffer itself.
 */
VOID IoFreeMdl(PMDL Mdl)
{
    bool ours;

    irql_check_max(__func__, DISPATCH_LEVEL);
    ours = live_remove(LIVE_MDL, Mdl);
    if (ours && mdl_has_flags(Mdl, MDL_PAGES_LOCKED))
        mdl_report(CHECK_MDL_FREED_LOCKED, __func__, Mdl, "its pages are still locked");
    if (ours)
        mdl_remove_mapping(Mdl);
    pool_free(__func__, Mdl);
}

/* ---- Build and lock ---------------------------------------------------------------------------------------------- */

VOID MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (mdl_is_built(mdl))
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl, "built or locked already");
    else if (check_on() && pool_is_paged(MmGetMdlVirtualAddress(mdl)))
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl, "built over paged pool: MmProbeAndLockPages is for that");
    else if (check_on() && stack_contains(MmGetMdlVirtualAddress(mdl)))
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl, "built over the stack: MmProbeAndLockPages is for that");
    mdl->Process = NULL;
    mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
    mdl_set_flags(mdl, MDL_SOURCE_IS_NONPAGED_POOL, 0);
    mdl_fill_pages(mdl);
}

static bool mdl_allows(const MDL *mdl, bool write)
{
    return memory_allows(mdl->StartVa, (size_t)mdl_page_count(mdl) << PAGE_SHIFT, write);
}

VOID MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode, LOCK_OPERATION Operation)
{
    PMDL mdl = MemoryDescriptorList;

    (void)AccessMode;
    irql_check_max(__func__, pool_is_paged(MmGetMdlVirtualAddress(mdl)) ? APC_LEVEL : DISPATCH_LEVEL);
    if (mdl_is_built(mdl))
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl, "locked or built already");
    if (!mdl_allows(mdl, Operation != IoReadAccess))
        ExRaiseStatus(STATUS_ACCESS_VIOLATION);
    mdl_set_flags(mdl, MDL_PAGES_LOCKED | (Operation != IoReadAccess ? MDL_WRITE_OPERATION : 0), 0);
    locked_pages_add(mdl, MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
    mdl_fill_pages(mdl);
}

VOID MmUnlockPages(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!mdl_has_flags(mdl, MDL_PAGES_LOCKED)) {
        mdl_report(CHECK_MDL_NOT_LOCKED, __func__, mdl, "unlocked, but MmProbeAndLockPages has not locked it");
        return;
    }
    locked_pages_remove(mdl);
    mdl_remove_mapping(mdl);
    mdl_use_check_unlocked(__func__, mdl);
    mdl_set_flags(mdl, 0, MDL_PAGES_LOCKED | MDL_WRITE_OPERATION | MDL_MAPPED_TO_SYSTEM_VA);
    mdl->MappedSystemVa = NULL;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static const char *mdl_part_error(const MDL *source, const MDL *target, SIZE_T start, ULONG length, ULONG pages)
{
    if (start > source->ByteCount || length > source->ByteCount - start)
        return "the part does not lie in the source";
    if (sizeof(MDL) + pages * sizeof(PFN_NUMBER) > (USHORT)target->Size)
        return "it has no room for the part's pages";
    return NULL;
}

VOID IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress, ULONG Length)
{
    SIZE_T start = (SIZE_T)((PCHAR)VirtualAddress - (PCHAR)MmGetMdlVirtualAddress(SourceMdl));
    ULONG length = Length ? Length : start <= SourceMdl->ByteCount ? SourceMdl->ByteCount - (ULONG)start : 0;
    ULONG pages = ADDRESS_AND_SIZE_TO_SPAN_PAGES(VirtualAddress, length);
    const char *wrong = mdl_part_error(SourceMdl, TargetMdl, start, length, pages);

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!mdl_is_built(SourceMdl))
        mdl_report(CHECK_MDL_NOT_LOCKED, __func__, SourceMdl, "the source is neither locked nor built");
    if (wrong) {
        mdl_report(CHECK_MDL_MISUSED, __func__, TargetMdl, wrong);
        return;
    }
    mdl_remove_mapping(TargetMdl);
    TargetMdl->Process = SourceMdl->Process;
    TargetMdl->StartVa = PAGE_ALIGN(VirtualAddress);
    TargetMdl->ByteOffset = BYTE_OFFSET(VirtualAddress);
    TargetMdl->ByteCount = length;
    TargetMdl->MdlFlags = (CSHORT)((TargetMdl->MdlFlags & MDL_ALLOCATED_FIXED_SIZE) | MDL_PARTIAL |
                                   (SourceMdl->MdlFlags & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA)));
    TargetMdl->MappedSystemVa = mdl_has_flags(TargetMdl, MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA)
                                    ? (PCHAR)SourceMdl->MappedSystemVa + start
                                    : NULL;
    memcpy(MmGetMdlPfnArray(TargetMdl),
           MmGetMdlPfnArray(SourceMdl) +
               (((ULONG_PTR)TargetMdl->StartVa - (ULONG_PTR)SourceMdl->StartVa) >> PAGE_SHIFT),
           pages * sizeof(PFN_NUMBER));
}

NTSTATUS MmAdvanceMdl(PMDL Mdl, ULONG NumberOfBytes)
{
    PCHAR start = (PCHAR)MmGetMdlVirtualAddress(Mdl) + NumberOfBytes;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (NumberOfBytes > Mdl->ByteCount)
        return STATUS_INVALID_PARAMETER_2;
    if (Mdl->MappedSystemVa)
        Mdl->MappedSystemVa = (PCHAR)Mdl->MappedSystemVa + NumberOfBytes;
    Mdl->StartVa = PAGE_ALIGN(start);
    Mdl->ByteOffset = BYTE_OFFSET(start);
    Mdl->ByteCount -= NumberOfBytes;
    mdl_fill_pages(Mdl);
    return STATUS_SUCCESS;
}

/* ---- Map --------------------------------------------------------------------------------------------------------- */

static PVOID mdl_map(const char *routine, PMDL mdl, KPROCESSOR_MODE mode)
{
    irql_check_max(routine, mode == KernelMode ? DISPATCH_LEVEL : APC_LEVEL);
    if (!mdl_is_built(mdl))
        mdl_report(CHECK_MDL_NOT_LOCKED, routine, mdl,
                   "mapped, but neither built nor locked. It was never locked, or MmUnlockPages was called before the "
                   "request with this MDL completed");
    else if (mdl_has_flags(mdl, MDL_MAPPED_TO_SYSTEM_VA) ||
             (mode == KernelMode && mdl_has_flags(mdl, MDL_SOURCE_IS_NONPAGED_POOL)))
        mdl_report(CHECK_MDL_MISUSED, routine, mdl, "mapped already");
    if (!mdl_has_own_mapping(mdl))
        mapped_pages_add(mdl, MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
    mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
    mdl_set_flags(mdl, MDL_MAPPED_TO_SYSTEM_VA, 0);
    if (mdl_has_flags(mdl, MDL_PARTIAL))
        mdl_set_flags(mdl, MDL_PARTIAL_HAS_BEEN_MAPPED, 0);
    return mdl->MappedSystemVa;
}

PVOID MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode)
{
    return mdl_map(__func__, MemoryDescriptorList, AccessMode);
}

PVOID MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode, MEMORY_CACHING_TYPE CacheType,
                                   PVOID RequestedAddress, ULONG BugCheckOnFailure, ULONG Priority)
{
    (void)CacheType;
    (void)RequestedAddress;
    (void)BugCheckOnFailure;
    (void)Priority;
    return mdl_map(__func__, MemoryDescriptorList, AccessMode);
}

VOID MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!mdl_has_flags(mdl, MDL_MAPPED_TO_SYSTEM_VA) || BaseAddress != mdl->MappedSystemVa) {
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl, "unmapped, but it is not mapped there");
        return;
    }
    mdl_remove_mapping(mdl);
    mdl_use_check_unmapped(__func__, mdl);
    mdl_set_flags(mdl, 0, MDL_MAPPED_TO_SYSTEM_VA | MDL_PARTIAL_HAS_BEEN_MAPPED);
    if (!mdl_has_flags(mdl, MDL_SOURCE_IS_NONPAGED_POOL))
        mdl->MappedSystemVa = NULL;
}

BOOLEAN MmIsAddressValid(PVOID VirtualAddress)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    /* address_is_readable reads 8 bytes. The alignment keeps them in one page. */
    return address_is_readable((PVOID)((ULONG_PTR)VirtualAddress & ~(ULONG_PTR)7));
}

/* ---- Pages and contiguous memory --------------------------------------------------------------------------------- */

struct limits {
    uint64_t low, high, boundary; /* `boundary` is 0 if there is no boundary */
};

static struct limits limits_init(PHYSICAL_ADDRESS low, PHYSICAL_ADDRESS high, uint64_t boundary)
{
    return (struct limits){ (uint64_t)low.QuadPart, (uint64_t)high.QuadPart, boundary };
}

static bool limits_contain(const void *start, size_t size, const struct limits *l)
{
    uint64_t first = (uintptr_t)start, last = first + (size ? size - 1 : 0);

    return first >= l->low && last <= l->high && (!l->boundary || first / l->boundary == last / l->boundary);
}

static PMDL mdl_alloc_pages(const char *routine, const struct limits *limits, SIZE_T total)
{
    SIZE_T bytes = ROUND_TO_PAGES(total <= MAX_MDL_BYTES ? total : MAX_MDL_BYTES);
    PVOID pages;
    PMDL mdl;

    irql_check_max(routine, DISPATCH_LEVEL);
    pages = bytes ? pool_alloc(bytes) : NULL;
    if (!pages)
        return NULL;
    mdl = limits_contain(pages, bytes, limits)
              ? ExAllocatePoolWithTag(NonPagedPoolNx, MmSizeOfMdl(pages, bytes), TAG_PAGES)
              : NULL;
    if (!mdl) {
        pool_free(routine, pages);
        return NULL;
    }
    memset(mdl, 0, sizeof *mdl);
    MmInitializeMdl(mdl, pages, bytes);
    mdl_set_flags(mdl, MDL_PAGES_LOCKED, 0);
    mdl_fill_pages(mdl);
    live_add(LIVE_MDL, pages, "pages of MmAllocatePagesForMdl");
    return mdl;
}

/*
 * Returns the limits of the range `low` to `high`. If `skip` is not 0, the driver also allows higher ranges. The limits
 * then accept every address from `low` on, even one between two ranges.
 */
static struct limits limits_from_ranges(PHYSICAL_ADDRESS low, PHYSICAL_ADDRESS high, PHYSICAL_ADDRESS skip)
{
    struct limits l = limits_init(low, high, 0);

    if (skip.QuadPart)
        l.high = UINT64_MAX;
    return l;
}

PMDL MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress, PHYSICAL_ADDRESS SkipBytes,
                           SIZE_T TotalBytes)
{
    struct limits l = limits_from_ranges(LowAddress, HighAddress, SkipBytes);

    return mdl_alloc_pages(__func__, &l, TotalBytes);
}

PMDL MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress, PHYSICAL_ADDRESS SkipBytes,
                             SIZE_T TotalBytes, MEMORY_CACHING_TYPE CacheType, ULONG Flags)
{
    struct limits l = limits_from_ranges(LowAddress, HighAddress, SkipBytes);

    (void)CacheType;
    if (Flags & MM_ALLOCATE_FULLY_REQUIRED && TotalBytes > MAX_MDL_BYTES)
        return NULL;
    return mdl_alloc_pages(__func__, &l, TotalBytes);
}

VOID MmFreePagesFromMdl(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;
    PVOID pages = mdl->StartVa;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!live_remove(LIVE_MDL, pages)) {
        mdl_report(CHECK_MDL_MISUSED, __func__, mdl,
                   "MmAllocatePagesForMdl has not allocated its pages, or they are freed");
        return;
    }
    mdl_remove_mapping(mdl);
    mdl_set_flags(mdl, 0, MDL_PAGES_LOCKED | MDL_MAPPED_TO_SYSTEM_VA);
    mdl->MappedSystemVa = NULL;
    pool_free(__func__, pages);
}

static PVOID contiguous_alloc(const char *routine, SIZE_T size, const struct limits *limits)
{
    PVOID start;

    irql_check_max(routine, DISPATCH_LEVEL);
    start = pool_alloc_pages(size, TAG_CONTIGUOUS);
    if (start && !limits_contain(start, size, limits)) {
        pool_free(routine, start);
        start = NULL;
    }
    return start;
}

PVOID MmAllocateContiguousMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS HighestAcceptableAddress)
{
    struct limits l = { 0, (uint64_t)HighestAcceptableAddress.QuadPart, 0 };

    return contiguous_alloc(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousMemorySpecifyCache(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                             PHYSICAL_ADDRESS HighestAcceptableAddress,
                                             PHYSICAL_ADDRESS BoundaryAddressMultiple, MEMORY_CACHING_TYPE CacheType)
{
    struct limits l = limits_init(LowestAcceptableAddress, HighestAcceptableAddress,
                                  (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)CacheType;
    return contiguous_alloc(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousMemorySpecifyCacheNode(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                                 PHYSICAL_ADDRESS HighestAcceptableAddress,
                                                 PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                                 MEMORY_CACHING_TYPE CacheType, NODE_REQUIREMENT PreferredNode)
{
    struct limits l = limits_init(LowestAcceptableAddress, HighestAcceptableAddress,
                                  (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)CacheType;
    (void)PreferredNode;
    return contiguous_alloc(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousNodeMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                     PHYSICAL_ADDRESS HighestAcceptableAddress,
                                     PHYSICAL_ADDRESS BoundaryAddressMultiple, ULONG Protect,
                                     NODE_REQUIREMENT PreferredNode)
{
    struct limits l = limits_init(LowestAcceptableAddress, HighestAcceptableAddress,
                                  (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)Protect;
    (void)PreferredNode;
    return contiguous_alloc(__func__, NumberOfBytes, &l);
}

VOID MmFreeContiguousMemory(PVOID BaseAddress)
{
    pool_free(__func__, BaseAddress);
}

VOID MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T NumberOfBytes, MEMORY_CACHING_TYPE CacheType)
{
    (void)NumberOfBytes;
    (void)CacheType;
    pool_free(__func__, BaseAddress);
}
