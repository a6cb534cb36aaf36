/* SPDX-License-Identifier: MIT */
/* Memory descriptor lists: see wdm/mdl.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "wdm.h"

#include "verify/stack.h"
#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/mm/readable.h"

/* Linux 5.14; the host's headers may be older. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { TAG_CONTIGUOUS = 0x6d436d4d /* "MmCm" */, TAG_PAGES = 0x206c644d /* "Mdl " */ };

static const uint64_t MDL_OCTETS_MOST = ((uint64_t)1 << 32) - PAGE_SIZE;

static bool is_flagged(const MDL *mdl, unsigned flags)
{
    return (unsigned)mdl->MdlFlags & flags;
}

static void set_flags(PMDL mdl, unsigned on, unsigned off)
{
    mdl->MdlFlags = (CSHORT)(((unsigned)mdl->MdlFlags & ~off) | on);
}

/* Its pages stay where they are: locked, not pageable at all, or part of such. */
static bool is_built(const MDL *mdl)
{
    return is_flagged(mdl, MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL);
}

static ULONG pages_of(const MDL *mdl)
{
    return ADDRESS_AND_SIZE_TO_SPAN_PAGES(MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
}

static void fill_pages(PMDL mdl)
{
    PPFN_NUMBER pages = MmGetMdlPfnArray(mdl);
    ULONG n = pages_of(mdl);

    for (ULONG i = 0; i < n; i++)
        pages[i] = ((ULONG_PTR)mdl->StartVa >> PAGE_SHIFT) + i;
}

static void misused(enum check_rule rule, const char *routine, const MDL *mdl, const char *what)
{
    if (check_on())
        check_failed(rule, routine, (uintptr_t)mdl, (USHORT)mdl->MdlFlags, (uintptr_t)MmGetMdlVirtualAddress(mdl),
                     mdl->ByteCount, "MDL %p: %s", (const void *)mdl, what);
}

/* ---- Make and free ----------------------------------------------------------------------------------------------- */

SIZE_T MmSizeOfMdl(PVOID Base, SIZE_T Length)
{
    return sizeof(MDL) + sizeof(PFN_NUMBER) * ADDRESS_AND_SIZE_TO_SPAN_PAGES(Base, Length);
}

static void chain(PIRP irp, PMDL mdl, bool secondary)
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
    if (Length <= MDL_OCTETS_MOST)
        mdl = pool_alloc(MmSizeOfMdl(VirtualAddress, Length));
    if (!mdl)
        return NULL;
    MmInitializeMdl(mdl, VirtualAddress, Length);
    live_add(LIVE_MDL, mdl, "MDL");
    if (Irp)
        chain(Irp, mdl, SecondaryBuffer);
    return mdl;
}

/* The buffer may be gone already. The mapping of a partial MDL ends with it, and there is nothing to undo for that. */
VOID IoFreeMdl(PMDL Mdl)
{
    bool ours;

    irql_check_max(__func__, DISPATCH_LEVEL);
    ours = live_remove(LIVE_MDL, Mdl);
    if (ours && is_flagged(Mdl, MDL_PAGES_LOCKED))
        misused(CHECK_MDL_FREED_LOCKED, __func__, Mdl, "its pages are still locked");
    pool_free(__func__, Mdl);
}

/* ---- Build and lock ---------------------------------------------------------------------------------------------- */

VOID MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (is_built(mdl))
        misused(CHECK_MDL_MISUSED, __func__, mdl, "built or locked already");
    else if (check_on() && pool_is_paged(MmGetMdlVirtualAddress(mdl)))
        misused(CHECK_MDL_MISUSED, __func__, mdl, "built over paged pool: MmProbeAndLockPages is for that");
    else if (check_on() && stack_contains(MmGetMdlVirtualAddress(mdl)))
        misused(CHECK_MDL_MISUSED, __func__, mdl, "built over the stack: MmProbeAndLockPages is for that");
    mdl->Process = NULL;
    mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
    set_flags(mdl, MDL_SOURCE_IS_NONPAGED_POOL, 0);
    fill_pages(mdl);
}

/* Hosts that do not know the call say the same as of pages that forbid the access: ask for one that allows it. */
static bool can_populate(void)
{
    static const char here;

    return !madvise(PAGE_ALIGN(&here), PAGE_SIZE, MADV_POPULATE_READ);
}

/* On hosts that cannot say it in one call; writing cannot be tried there without doing it. */
static bool all_readable(const char *start, size_t octets)
{
    for (size_t at = 0; at < octets; at += PAGE_SIZE)
        if (!readable(start + at))
            return false;
    return true;
}

static bool allows(const MDL *mdl, bool write)
{
    size_t octets = (size_t)pages_of(mdl) << PAGE_SHIFT;

    if (!octets)
        return true;
    if (!madvise(mdl->StartVa, octets, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
        return true;
    return errno == EINVAL && !can_populate() && all_readable(mdl->StartVa, octets);
}

VOID MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode, LOCK_OPERATION Operation)
{
    PMDL mdl = MemoryDescriptorList;

    (void)AccessMode;
    irql_check_max(__func__, pool_is_paged(MmGetMdlVirtualAddress(mdl)) ? APC_LEVEL : DISPATCH_LEVEL);
    if (is_built(mdl))
        misused(CHECK_MDL_MISUSED, __func__, mdl, "locked or built already");
    if (!allows(mdl, Operation != IoReadAccess))
        ExRaiseStatus(STATUS_ACCESS_VIOLATION);
    set_flags(mdl, MDL_PAGES_LOCKED | (Operation != IoReadAccess ? MDL_WRITE_OPERATION : 0), 0);
    fill_pages(mdl);
}

VOID MmUnlockPages(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!is_flagged(mdl, MDL_PAGES_LOCKED)) {
        misused(CHECK_MDL_NOT_LOCKED, __func__, mdl, "unlocked, but MmProbeAndLockPages has not locked it");
        return;
    }
    set_flags(mdl, 0, MDL_PAGES_LOCKED | MDL_WRITE_OPERATION | MDL_MAPPED_TO_SYSTEM_VA);
    mdl->MappedSystemVa = NULL;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static const char *wrong_part(const MDL *source, const MDL *target, SIZE_T start, ULONG length, ULONG pages)
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
    const char *wrong = wrong_part(SourceMdl, TargetMdl, start, length, pages);

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!is_built(SourceMdl))
        misused(CHECK_MDL_NOT_LOCKED, __func__, SourceMdl, "the source is neither locked nor built");
    if (wrong) {
        misused(CHECK_MDL_MISUSED, __func__, TargetMdl, wrong);
        return;
    }
    TargetMdl->Process = SourceMdl->Process;
    TargetMdl->StartVa = PAGE_ALIGN(VirtualAddress);
    TargetMdl->ByteOffset = BYTE_OFFSET(VirtualAddress);
    TargetMdl->ByteCount = length;
    TargetMdl->MdlFlags = (CSHORT)((TargetMdl->MdlFlags & MDL_ALLOCATED_FIXED_SIZE) | MDL_PARTIAL |
                                   (SourceMdl->MdlFlags & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA)));
    TargetMdl->MappedSystemVa = is_flagged(TargetMdl, MDL_SOURCE_IS_NONPAGED_POOL | MDL_MAPPED_TO_SYSTEM_VA)
                                    ? (PCHAR)SourceMdl->MappedSystemVa + start : NULL;
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
    fill_pages(Mdl);
    return STATUS_SUCCESS;
}

/* ---- Map --------------------------------------------------------------------------------------------------------- */

static PVOID map(const char *routine, PMDL mdl, KPROCESSOR_MODE mode)
{
    irql_check_max(routine, mode == KernelMode ? DISPATCH_LEVEL : APC_LEVEL);
    if (!is_built(mdl))
        misused(CHECK_MDL_NOT_LOCKED, routine, mdl, "mapped, but neither locked nor built");
    else if (is_flagged(mdl, MDL_MAPPED_TO_SYSTEM_VA) ||
             (mode == KernelMode && is_flagged(mdl, MDL_SOURCE_IS_NONPAGED_POOL)))
        misused(CHECK_MDL_MISUSED, routine, mdl, "mapped already");
    mdl->MappedSystemVa = MmGetMdlVirtualAddress(mdl);
    set_flags(mdl, MDL_MAPPED_TO_SYSTEM_VA | (is_flagged(mdl, MDL_PARTIAL) ? MDL_PARTIAL_HAS_BEEN_MAPPED : 0), 0);
    return mdl->MappedSystemVa;
}

PVOID MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode)
{
    return map(__func__, MemoryDescriptorList, AccessMode);
}

PVOID MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode, MEMORY_CACHING_TYPE CacheType,
                                   PVOID RequestedAddress, ULONG BugCheckOnFailure, ULONG Priority)
{
    (void)CacheType;
    (void)RequestedAddress;
    (void)BugCheckOnFailure;
    (void)Priority;
    return map(__func__, MemoryDescriptorList, AccessMode);
}

VOID MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!is_flagged(mdl, MDL_MAPPED_TO_SYSTEM_VA) || BaseAddress != mdl->MappedSystemVa) {
        misused(CHECK_MDL_MISUSED, __func__, mdl, "unmapped, but it is not mapped there");
        return;
    }
    set_flags(mdl, 0, MDL_MAPPED_TO_SYSTEM_VA | MDL_PARTIAL_HAS_BEEN_MAPPED);
    if (!is_flagged(mdl, MDL_SOURCE_IS_NONPAGED_POOL))
        mdl->MappedSystemVa = NULL;
}

BOOLEAN MmIsAddressValid(PVOID VirtualAddress)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    return readable((PVOID)((ULONG_PTR)VirtualAddress & ~(ULONG_PTR)7)); /* what is read lies in one page */
}

/* ---- Pages of their own ------------------------------------------------------------------------------------------ */

struct limits {
    uint64_t low, high, boundary; /* boundary 0: none */
};

static struct limits limits_of(PHYSICAL_ADDRESS low, PHYSICAL_ADDRESS high, uint64_t boundary)
{
    return (struct limits){ (uint64_t)low.QuadPart, (uint64_t)high.QuadPart, boundary };
}

static bool is_within(const void *start, size_t size, const struct limits *l)
{
    uint64_t first = (uintptr_t)start, last = first + (size ? size - 1 : 0);

    return first >= l->low && last <= l->high && (!l->boundary || first / l->boundary == last / l->boundary);
}

static PMDL allocate_pages(const char *routine, const struct limits *limits, SIZE_T total)
{
    SIZE_T octets = ROUND_TO_PAGES(total <= MDL_OCTETS_MOST ? total : MDL_OCTETS_MOST);
    PVOID pages;
    PMDL mdl;

    irql_check_max(routine, DISPATCH_LEVEL);
    pages = octets ? pool_alloc(octets) : NULL;
    if (!pages)
        return NULL;
    mdl = is_within(pages, octets, limits)
              ? ExAllocatePoolWithTag(NonPagedPoolNx, MmSizeOfMdl(pages, octets), TAG_PAGES)
              : NULL;
    if (!mdl) {
        pool_free(routine, pages);
        return NULL;
    }
    memset(mdl, 0, sizeof *mdl);
    MmInitializeMdl(mdl, pages, octets);
    set_flags(mdl, MDL_PAGES_LOCKED, 0);
    fill_pages(mdl);
    live_add(LIVE_MDL, pages, "pages of MmAllocatePagesForMdl");
    return mdl;
}

/* With SkipBytes the ranges go on upwards: every address from the lowest is in one, or near one. */
static struct limits ranges_of(PHYSICAL_ADDRESS low, PHYSICAL_ADDRESS high, PHYSICAL_ADDRESS skip)
{
    struct limits l = limits_of(low, high, 0);

    if (skip.QuadPart)
        l.high = UINT64_MAX;
    return l;
}

PMDL MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress, PHYSICAL_ADDRESS SkipBytes,
                           SIZE_T TotalBytes)
{
    struct limits l = ranges_of(LowAddress, HighAddress, SkipBytes);

    return allocate_pages(__func__, &l, TotalBytes);
}

PMDL MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress, PHYSICAL_ADDRESS HighAddress, PHYSICAL_ADDRESS SkipBytes,
                             SIZE_T TotalBytes, MEMORY_CACHING_TYPE CacheType, ULONG Flags)
{
    struct limits l = ranges_of(LowAddress, HighAddress, SkipBytes);

    (void)CacheType;
    if (Flags & MM_ALLOCATE_FULLY_REQUIRED && TotalBytes > MDL_OCTETS_MOST)
        return NULL;
    return allocate_pages(__func__, &l, TotalBytes);
}

VOID MmFreePagesFromMdl(PMDL MemoryDescriptorList)
{
    PMDL mdl = MemoryDescriptorList;
    PVOID pages = mdl->StartVa;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (!live_remove(LIVE_MDL, pages)) {
        misused(CHECK_MDL_MISUSED, __func__, mdl,
                "MmAllocatePagesForMdl has not allocated its pages, or they are freed");
        return;
    }
    set_flags(mdl, 0, MDL_PAGES_LOCKED | MDL_MAPPED_TO_SYSTEM_VA);
    mdl->MappedSystemVa = NULL;
    pool_free(__func__, pages);
}

static PVOID allocate_contiguous(const char *routine, SIZE_T size, const struct limits *limits)
{
    PVOID start;

    irql_check_max(routine, DISPATCH_LEVEL);
    start = pool_alloc_pages(size, TAG_CONTIGUOUS);
    if (start && !is_within(start, size, limits)) {
        pool_free(routine, start);
        start = NULL;
    }
    return start;
}

PVOID MmAllocateContiguousMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS HighestAcceptableAddress)
{
    struct limits l = { 0, (uint64_t)HighestAcceptableAddress.QuadPart, 0 };

    return allocate_contiguous(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousMemorySpecifyCache(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                             PHYSICAL_ADDRESS HighestAcceptableAddress,
                                             PHYSICAL_ADDRESS BoundaryAddressMultiple, MEMORY_CACHING_TYPE CacheType)
{
    struct limits l = limits_of(LowestAcceptableAddress, HighestAcceptableAddress,
                                (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)CacheType;
    return allocate_contiguous(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousMemorySpecifyCacheNode(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                                 PHYSICAL_ADDRESS HighestAcceptableAddress,
                                                 PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                                 MEMORY_CACHING_TYPE CacheType,
                                                 NODE_REQUIREMENT PreferredNode)
{
    struct limits l = limits_of(LowestAcceptableAddress, HighestAcceptableAddress,
                                (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)CacheType;
    (void)PreferredNode;
    return allocate_contiguous(__func__, NumberOfBytes, &l);
}

PVOID MmAllocateContiguousNodeMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
                                     PHYSICAL_ADDRESS HighestAcceptableAddress,
                                     PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                     ULONG Protect, NODE_REQUIREMENT PreferredNode)
{
    struct limits l = limits_of(LowestAcceptableAddress, HighestAcceptableAddress,
                                (uint64_t)BoundaryAddressMultiple.QuadPart);

    (void)Protect;
    (void)PreferredNode;
    return allocate_contiguous(__func__, NumberOfBytes, &l);
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
