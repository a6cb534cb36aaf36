/* SPDX-License-Identifier: MIT */
/*
 * Memory descriptor lists, pages, contiguous memory. There is one address space, and a physical address equals the
 * virtual address. A page frame number is an address without its lowest twelve bits. The mapping of a locked buffer is
 * the buffer's own address, so a read-only mapping can be written. MmMapIoSpace does not exist.
 */
#ifndef ONDK_WDK_WDM_MDL_H
#define ONDK_WDK_WDM_MDL_H

#include "../ntdef.h"
#include "dispatcher.h"

EXTERN_C_START

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

#define PAGE_SHIFT 12
#define PAGE_SIZE 0x1000

#define PAGE_ALIGN(Va) ((PVOID)((ULONG_PTR)(Va) & ~((ULONG_PTR)PAGE_SIZE - 1)))
#define BYTE_OFFSET(Va) ((ULONG)((ULONG_PTR)(Va) & (PAGE_SIZE - 1)))
#define BYTES_TO_PAGES(Size) (((Size) >> PAGE_SHIFT) + (((Size) & (PAGE_SIZE - 1)) != 0))
#define ROUND_TO_PAGES(Size) (((ULONG_PTR)(Size) + PAGE_SIZE - 1) & ~((ULONG_PTR)PAGE_SIZE - 1))
#define ROUND_TO_SIZE(length, alignment) ((((ULONG_PTR)(length)) + ((alignment) - 1)) & ~((ULONG_PTR)(alignment) - 1))
#define IS_PAGE_ALIGNED(Va) (BYTE_OFFSET(Va) == 0)
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(Va, Size) \
    ((ULONG)(((SIZE_T)BYTE_OFFSET(Va) + (SIZE_T)(Size) + (PAGE_SIZE - 1)) >> PAGE_SHIFT))
#define COMPUTE_PAGES_SPANNED(Va, Size) ADDRESS_AND_SIZE_TO_SPAN_PAGES(Va, Size)

#define PAGE_NOACCESS 0x01
#define PAGE_READONLY 0x02
#define PAGE_READWRITE 0x04
#define PAGE_WRITECOPY 0x08
#define PAGE_EXECUTE 0x10
#define PAGE_EXECUTE_READ 0x20
#define PAGE_EXECUTE_READWRITE 0x40
#define PAGE_EXECUTE_WRITECOPY 0x80
#define PAGE_GUARD 0x100
#define PAGE_NOCACHE 0x200
#define PAGE_WRITECOMBINE 0x400

typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;
typedef ULONG NODE_REQUIREMENT;

typedef enum _MEMORY_CACHING_TYPE {
    MmNonCached = 0,
    MmCached = 1,
    MmWriteCombined = 2,
    MmHardwareCoherentCached = 3,
    MmNonCachedUnordered = 4,
    MmUSWCCached = 5,
    MmMaximumCacheType = 6,
    MmNotMapped = -1
} MEMORY_CACHING_TYPE;

typedef enum _MM_PAGE_PRIORITY { LowPagePriority = 0, NormalPagePriority = 16, HighPagePriority = 32 } MM_PAGE_PRIORITY;
#define MdlMappingNoWrite 0x80000000u
#define MdlMappingNoExecute 0x40000000u
#define MdlMappingWithGuardPtes 0x20000000u

typedef enum _LOCK_OPERATION { IoReadAccess = 0, IoWriteAccess = 1, IoModifyAccess = 2 } LOCK_OPERATION;

/* Any IRQL. */
FORCEINLINE PHYSICAL_ADDRESS MmGetPhysicalAddress(_In_ PVOID BaseAddress)
{
    PHYSICAL_ADDRESS address;

    address.QuadPart = (LONGLONG)(ULONG_PTR)BaseAddress;
    return address;
}

NTKERNELAPI BOOLEAN MmIsAddressValid(_In_ PVOID VirtualAddress);

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

struct _EPROCESS;
struct _IRP;

/*
 * Describes the ByteCount bytes at StartVa + ByteOffset. StartVa is the start of the page that has the first byte. Next
 * links the descriptors of a chain. The page frame numbers follow the structure; Size includes them.
 */
typedef struct _MDL {
    struct _MDL *Next;
    CSHORT Size;
    CSHORT MdlFlags;
    struct _EPROCESS *Process;
    PVOID MappedSystemVa;
    PVOID StartVa;
    ULONG ByteCount;
    ULONG ByteOffset;
} MDL, *PMDL;
typedef MDL *PMDLX;

#define MDL_MAPPED_TO_SYSTEM_VA 0x0001
#define MDL_PAGES_LOCKED 0x0002
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#define MDL_ALLOCATED_FIXED_SIZE 0x0008
#define MDL_PARTIAL 0x0010
#define MDL_PARTIAL_HAS_BEEN_MAPPED 0x0020
#define MDL_IO_PAGE_READ 0x0040
#define MDL_WRITE_OPERATION 0x0080
#define MDL_LOCKED_PAGE_TABLES 0x0100
#define MDL_FREE_EXTRA_PTES 0x0200
#define MDL_DESCRIBES_AWE 0x0400
#define MDL_IO_SPACE 0x0800
#define MDL_NETWORK_HEADER 0x1000
#define MDL_MAPPING_CAN_FAIL 0x2000
#define MDL_PAGE_CONTENTS_INVARIANT 0x4000
#define MDL_INTERNAL 0x8000

#define MmGetMdlByteCount(Mdl) ((Mdl)->ByteCount)
#define MmGetMdlByteOffset(Mdl) ((Mdl)->ByteOffset)
#define MmGetMdlBaseVa(Mdl) ((Mdl)->StartVa)
#define MmGetMdlVirtualAddress(Mdl) ((PVOID)((PCHAR)(Mdl)->StartVa + (Mdl)->ByteOffset))
#define MmGetMdlPfnArray(Mdl) ((PPFN_NUMBER)((Mdl) + 1))

NTKERNELAPI SIZE_T MmSizeOfMdl(_In_ PVOID Base, _In_ SIZE_T Length);

FORCEINLINE VOID MmInitializeMdl(_Out_ PMDL MemoryDescriptorList, _In_ PVOID BaseVa, _In_ SIZE_T Length)
{
    MemoryDescriptorList->Next = NULL;
    MemoryDescriptorList->Size =
        (CSHORT)(sizeof(MDL) + sizeof(PFN_NUMBER) * ADDRESS_AND_SIZE_TO_SPAN_PAGES(BaseVa, Length));
    MemoryDescriptorList->MdlFlags = 0;
    MemoryDescriptorList->StartVa = PAGE_ALIGN(BaseVa);
    MemoryDescriptorList->ByteOffset = BYTE_OFFSET(BaseVa);
    MemoryDescriptorList->ByteCount = (ULONG)Length;
}

/* Returns NULL if out of memory, or if Length is over 4 GB - PAGE_SIZE. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI PMDL IoAllocateMdl(_In_opt_ PVOID VirtualAddress, _In_ ULONG Length, _In_ BOOLEAN SecondaryBuffer,
                               _In_ BOOLEAN ChargeQuota, _Inout_opt_ struct _IRP *Irp);
NTKERNELAPI VOID IoFreeMdl(_In_ PMDL Mdl);

/* Only for nonpaged pool and for memory of MmAllocateContiguousMemory..., not for a stack. */
NTKERNELAPI VOID MmBuildMdlForNonPagedPool(_Inout_ PMDL MemoryDescriptorList);

/* Raises STATUS_ACCESS_VIOLATION if the memory does not allow the access. For pageable memory IRQL <= APC_LEVEL. */
NTKERNELAPI VOID MmProbeAndLockPages(_Inout_ PMDL MemoryDescriptorList, _In_ KPROCESSOR_MODE AccessMode,
                                     _In_ LOCK_OPERATION Operation);
NTKERNELAPI VOID MmUnlockPages(_Inout_ PMDL MemoryDescriptorList);

/*
 * These routines check a buffer of a program. They must be called inside of __try, because they raise exceptions:
 * STATUS_DATATYPE_MISALIGNMENT if the buffer is not aligned, STATUS_ACCESS_VIOLATION if the buffer is outside of the
 * programs' addresses, wraps around, or cannot be read (ProbeForRead) or written (ProbeForWrite). On Windows,
 * ProbeForRead does not test whether the buffer can be read. This kernel tests it, because a later access raises no
 * exception. ProbeForWrite does not change the pages. Memory of the kernel passes, too, because there is only one
 * address space. A Length of 0 passes. IRQL <= APC_LEVEL.
 */
NTKERNELAPI VOID ProbeForRead(const volatile VOID *Address, SIZE_T Length, ULONG Alignment);
NTKERNELAPI VOID ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment);
extern NTKERNELAPI const ULONG_PTR MmUserProbeAddress;
#define MM_USER_PROBE_ADDRESS MmUserProbeAddress
/*
 * The routines set whether a driver's code can be paged out. They do nothing, because the code always stays in memory.
 */
FORCEINLINE PVOID MmPageEntireDriver(_In_ PVOID AddressWithinSection)
{
    return AddressWithinSection;
}
FORCEINLINE VOID MmResetDriverPaging(_In_ PVOID AddressWithinSection)
{
    (void)AddressWithinSection;
}
#define MM_LOWEST_USER_ADDRESS ((PVOID)0x10000)
#define MmHighestUserAddress ((PVOID)(MmUserProbeAddress - 1))
#define MM_HIGHEST_USER_ADDRESS MmHighestUserAddress

/* If Length is 0, the part extends to the end of SourceMdl. */
NTKERNELAPI VOID IoBuildPartialMdl(_In_ PMDL SourceMdl, _Inout_ PMDL TargetMdl, _In_ PVOID VirtualAddress,
                                   _In_ ULONG Length);
NTKERNELAPI NTSTATUS MmAdvanceMdl(_Inout_ PMDL Mdl, _In_ ULONG NumberOfBytes);

NTKERNELAPI PVOID MmMapLockedPages(_Inout_ PMDL MemoryDescriptorList, _In_ KPROCESSOR_MODE AccessMode);
NTKERNELAPI PVOID MmMapLockedPagesSpecifyCache(_Inout_ PMDL MemoryDescriptorList, _In_ KPROCESSOR_MODE AccessMode,
                                               _In_ MEMORY_CACHING_TYPE CacheType, _In_opt_ PVOID RequestedAddress,
                                               _In_ ULONG BugCheckOnFailure, _In_ ULONG Priority);
NTKERNELAPI VOID MmUnmapLockedPages(_In_ PVOID BaseAddress, _Inout_ PMDL MemoryDescriptorList);

FORCEINLINE PVOID MmGetSystemAddressForMdlSafe(_Inout_ PMDL Mdl, _In_ ULONG Priority)
{
    if (Mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL))
        return Mdl->MappedSystemVa;
    return MmMapLockedPagesSpecifyCache(Mdl, KernelMode, MmCached, NULL, FALSE, Priority);
}

/* A function, because drivers for old kits define MmGetSystemAddressForMdlSafe as a macro that calls it. */
FORCEINLINE PVOID MmGetSystemAddressForMdl(_Inout_ PMDL Mdl)
{
    return MmGetSystemAddressForMdlSafe(Mdl, HighPagePriority);
}

#define MmPrepareMdlForReuse(Mdl)                                        \
    do {                                                                 \
        if ((Mdl)->MdlFlags & MDL_PARTIAL_HAS_BEEN_MAPPED)               \
            MmUnmapLockedPages((Mdl)->MappedSystemVa, (Mdl));            \
    } while (0)

/* Does nothing, because memory is coherent. */
#define KeFlushIoBuffers(Mdl, ReadOperation, DmaOperation) ((void)(Mdl))

/* ---- Page allocation --------------------------------------------------------------------------------------------- */

#define MM_DONT_ZERO_ALLOCATION 0x00000001
#define MM_ALLOCATE_FROM_LOCAL_NODE_ONLY 0x00000002
#define MM_ALLOCATE_FULLY_REQUIRED 0x00000004
#define MM_ALLOCATE_NO_WAIT 0x00000008
#define MM_ALLOCATE_PREFER_CONTIGUOUS 0x00000010
#define MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS 0x00000020
#define MM_ALLOCATE_FAST_LARGE_PAGES 0x00000040
#define MM_ALLOCATE_AND_HOT_REMOVE 0x00000100

/*
 * Allocates zeroed pages in one range, and an MDL that is not mapped yet. Returns NULL if out of memory, or if no pages
 * between LowAddress and HighAddress are available. The caller frees the pages with MmFreePagesFromMdl and then the
 * descriptor with ExFreePool. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI PMDL MmAllocatePagesForMdl(_In_ PHYSICAL_ADDRESS LowAddress, _In_ PHYSICAL_ADDRESS HighAddress,
                                       _In_ PHYSICAL_ADDRESS SkipBytes, _In_ SIZE_T TotalBytes);
NTKERNELAPI PMDL MmAllocatePagesForMdlEx(_In_ PHYSICAL_ADDRESS LowAddress, _In_ PHYSICAL_ADDRESS HighAddress,
                                         _In_ PHYSICAL_ADDRESS SkipBytes, _In_ SIZE_T TotalBytes,
                                         _In_ MEMORY_CACHING_TYPE CacheType, _In_ ULONG Flags);
NTKERNELAPI VOID MmFreePagesFromMdl(_Inout_ PMDL MemoryDescriptorList);

/*
 * The memory is page aligned and not zeroed. Returns NULL if out of memory, or if no page is at or below the highest
 * acceptable address. An allocation below 4 GB usually fails, because addresses here are higher.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI PVOID MmAllocateContiguousMemory(_In_ SIZE_T NumberOfBytes, _In_ PHYSICAL_ADDRESS HighestAcceptableAddress);
NTKERNELAPI PVOID MmAllocateContiguousMemorySpecifyCache(_In_ SIZE_T NumberOfBytes,
                                                         _In_ PHYSICAL_ADDRESS LowestAcceptableAddress,
                                                         _In_ PHYSICAL_ADDRESS HighestAcceptableAddress,
                                                         _In_opt_ PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                                         _In_ MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID MmAllocateContiguousMemorySpecifyCacheNode(
    _In_ SIZE_T NumberOfBytes, _In_ PHYSICAL_ADDRESS LowestAcceptableAddress,
    _In_ PHYSICAL_ADDRESS HighestAcceptableAddress, _In_opt_ PHYSICAL_ADDRESS BoundaryAddressMultiple,
    _In_ MEMORY_CACHING_TYPE CacheType, _In_ NODE_REQUIREMENT PreferredNode);
NTKERNELAPI PVOID MmAllocateContiguousNodeMemory(_In_ SIZE_T NumberOfBytes,
                                                 _In_ PHYSICAL_ADDRESS LowestAcceptableAddress,
                                                 _In_ PHYSICAL_ADDRESS HighestAcceptableAddress,
                                                 _In_opt_ PHYSICAL_ADDRESS BoundaryAddressMultiple, _In_ ULONG Protect,
                                                 _In_ NODE_REQUIREMENT PreferredNode);
NTKERNELAPI VOID MmFreeContiguousMemory(_In_ PVOID BaseAddress);
NTKERNELAPI VOID MmFreeContiguousMemorySpecifyCache(_In_ PVOID BaseAddress, _In_ SIZE_T NumberOfBytes,
                                                    _In_ MEMORY_CACHING_TYPE CacheType);

/*
 * Returns the address of a routine of the kernel, or NULL if no routine has this name, or if the routine is a macro or
 * an inline function here. Routines of Storport and KMDF are not found. PASSIVE_LEVEL.
 */
NTKERNELAPI PVOID MmGetSystemRoutineAddress(_In_ PUNICODE_STRING SystemRoutineName);

EXTERN_C_END

#endif
