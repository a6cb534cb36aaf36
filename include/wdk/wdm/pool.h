/* SPDX-License-Identifier: MIT */
/*
 * Pools and lookaside lists. Here all memory is pageable and none is executable. The pool type matters only to the
 * checks, which allow paged pool up to APC_LEVEL and nonpaged pool up to DISPATCH_LEVEL. Blocks of PAGE_SIZE and more
 * begin at a page; smaller blocks are aligned to 16 bytes and lie in one page. Quotas are never exceeded. Routines that
 * raise exceptions on Windows also raise them here.
 */
#ifndef ONDK_WDK_WDM_POOL_H
#define ONDK_WDK_WDM_POOL_H

#include "../ntdef.h"
#include "list.h"

EXTERN_C_START

/* ---- Pool types -------------------------------------------------------------------------------------------------- */

typedef enum _POOL_TYPE {
    NonPagedPool = 0,
    NonPagedPoolExecute = NonPagedPool,
    PagedPool = 1,
    NonPagedPoolMustSucceed = 2,
    DontUseThisType = 3,
    NonPagedPoolCacheAligned = 4,
    PagedPoolCacheAligned = 5,
    NonPagedPoolCacheAlignedMustS = 6,
    MaxPoolType = 7,
    NonPagedPoolBase = 0,
    NonPagedPoolBaseMustSucceed = 2,
    NonPagedPoolBaseCacheAligned = 4,
    NonPagedPoolBaseCacheAlignedMustS = 6,
    NonPagedPoolSession = 32,
    PagedPoolSession = 33,
    NonPagedPoolMustSucceedSession = 34,
    DontUseThisTypeSession = 35,
    NonPagedPoolCacheAlignedSession = 36,
    PagedPoolCacheAlignedSession = 37,
    NonPagedPoolCacheAlignedMustSSession = 38,
    NonPagedPoolNx = 512,
    NonPagedPoolNxCacheAligned = 516,
    NonPagedPoolSessionNx = 544
} POOL_TYPE;

/* Bits that may be combined with a POOL_TYPE. */
#define POOL_QUOTA_FAIL_INSTEAD_OF_RAISE 8
#define POOL_RAISE_IF_ALLOCATION_FAILURE 16
#define POOL_COLD_ALLOCATION 256
#define POOL_NX_ALLOCATION 512
#define POOL_ZERO_ALLOCATION 1024

/* An unknown flag in the low 32 bits makes the allocation fail. Unknown flags in the high 32 bits are ignored. */
typedef ULONG64 POOL_FLAGS;
#define POOL_FLAG_REQUIRED_START 0x0000000000000001ULL
#define POOL_FLAG_USE_QUOTA 0x0000000000000001ULL
#define POOL_FLAG_UNINITIALIZED 0x0000000000000002ULL
#define POOL_FLAG_SESSION 0x0000000000000004ULL
#define POOL_FLAG_CACHE_ALIGNED 0x0000000000000008ULL
#define POOL_FLAG_RESERVED1 0x0000000000000010ULL
#define POOL_FLAG_RAISE_ON_FAILURE 0x0000000000000020ULL
#define POOL_FLAG_NON_PAGED 0x0000000000000040ULL
#define POOL_FLAG_NON_PAGED_EXECUTE 0x0000000000000080ULL
#define POOL_FLAG_PAGED 0x0000000000000100ULL
#define POOL_FLAG_RESERVED2 0x0000000000000200ULL
#define POOL_FLAG_RESERVED3 0x0000000000000400ULL
#define POOL_FLAG_REQUIRED_END 0x0000000080000000ULL
#define POOL_FLAG_OPTIONAL_START 0x0000000100000000ULL
#define POOL_FLAG_SPECIAL_POOL 0x0000000100000000ULL
#define POOL_FLAG_OPTIONAL_END 0x8000000000000000ULL

typedef enum _EX_POOL_PRIORITY {
    LowPoolPriority = 0,
    LowPoolPrioritySpecialPoolOverrun = 8,
    LowPoolPrioritySpecialPoolUnderrun = 9,
    NormalPoolPriority = 16,
    NormalPoolPrioritySpecialPoolOverrun = 24,
    NormalPoolPrioritySpecialPoolUnderrun = 25,
    HighPoolPriority = 32,
    HighPoolPrioritySpecialPoolOverrun = 40,
    HighPoolPrioritySpecialPoolUnderrun = 41
} EX_POOL_PRIORITY;

typedef enum POOL_EXTENDED_PARAMETER_TYPE {
    PoolExtendedParameterInvalidType = 0,
    PoolExtendedParameterPriority,
    PoolExtendedParameterSecurePool,
    PoolExtendedParameterNumaNode,
    PoolExtendedParameterMax
} POOL_EXTENDED_PARAMETER_TYPE, *PPOOL_EXTENDED_PARAMETER_TYPE;

#define POOL_EXTENDED_PARAMETER_TYPE_BITS 8
#define POOL_EXTENDED_PARAMETER_REQUIRED_FIELD_BITS 1
#define POOL_EXTENDED_PARAMETER_RESERVED_BITS \
    (64 - POOL_EXTENDED_PARAMETER_TYPE_BITS - POOL_EXTENDED_PARAMETER_REQUIRED_FIELD_BITS)

typedef struct _POOL_EXTENDED_PARAMS_SECURE_POOL {
    HANDLE SecurePoolHandle;
    PVOID Buffer;
    ULONG_PTR Cookie;
    ULONG SecurePoolFlags;
} POOL_EXTENDED_PARAMS_SECURE_POOL;

typedef ULONG POOL_NODE_REQUIREMENT;
#define MM_ANY_NODE_OK 0x80000000u

typedef struct _POOL_EXTENDED_PARAMETER {
    __extension__ struct {
        ULONG64 Type : POOL_EXTENDED_PARAMETER_TYPE_BITS;
        ULONG64 Optional : POOL_EXTENDED_PARAMETER_REQUIRED_FIELD_BITS;
        ULONG64 Reserved : POOL_EXTENDED_PARAMETER_RESERVED_BITS;
    };
    __extension__ union {
        ULONG64 Reserved2;
        PVOID Reserved3;
        EX_POOL_PRIORITY Priority;
        POOL_EXTENDED_PARAMS_SECURE_POOL *SecurePoolParams;
        POOL_NODE_REQUIREMENT PreferredNode;
    };
} POOL_EXTENDED_PARAMETER, *PPOOL_EXTENDED_PARAMETER;
typedef const POOL_EXTENDED_PARAMETER *PCPOOL_EXTENDED_PARAMETER;

/* ---- Allocate and free ------------------------------------------------------------------------------------------- */

NTKERNELAPI PVOID ExAllocatePool(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes);
NTKERNELAPI PVOID ExAllocatePoolWithTag(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag);
NTKERNELAPI PVOID ExAllocatePoolWithTagPriority(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag,
                                                _In_ EX_POOL_PRIORITY Priority);
NTKERNELAPI PVOID ExAllocatePoolWithQuota(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes);
NTKERNELAPI PVOID ExAllocatePoolWithQuotaTag(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag);

/*
 * The memory is zeroed unless POOL_FLAG_UNINITIALIZED is set. Returns NULL if out of memory, if the tag is 0, or if the
 * flags contradict each other.
 */
NTKERNELAPI PVOID ExAllocatePool2(_In_ POOL_FLAGS Flags, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag);
/*
 * Works like ExAllocatePool2, with extended parameters. A priority is accepted. The preferred node is accepted if it is
 * node 0 and the pool is nonpaged. Any other parameter must be marked as optional; otherwise the function returns NULL.
 */
NTKERNELAPI PVOID ExAllocatePool3(_In_ POOL_FLAGS Flags, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag,
                                  _In_opt_ PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                                  _In_ ULONG ExtendedParametersCount);

NTKERNELAPI VOID ExFreePool(_In_ PVOID P);
/* If Tag is 0, the block's tag is not checked. */
NTKERNELAPI VOID ExFreePoolWithTag(_In_ PVOID P, _In_ ULONG Tag);
NTKERNELAPI VOID ExFreePool2(_In_ PVOID P, _In_ ULONG Tag, _In_opt_ PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                             _In_ ULONG ExtendedParametersCount);

FORCEINLINE PVOID ExAllocatePoolZero(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag)
{
    return ExAllocatePoolWithTag((POOL_TYPE)(PoolType | POOL_ZERO_ALLOCATION), NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolUninitialized(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolQuotaZero(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag)
{
    return ExAllocatePoolWithQuotaTag((POOL_TYPE)(PoolType | POOL_ZERO_ALLOCATION), NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolQuotaUninitialized(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag)
{
    return ExAllocatePoolWithQuotaTag(PoolType, NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolPriorityZero(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag,
                                             _In_ EX_POOL_PRIORITY Priority)
{
    return ExAllocatePoolWithTagPriority((POOL_TYPE)(PoolType | POOL_ZERO_ALLOCATION), NumberOfBytes, Tag, Priority);
}

FORCEINLINE PVOID ExAllocatePoolPriorityUninitialized(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes,
                                                      _In_ ULONG Tag, _In_ EX_POOL_PRIORITY Priority)
{
    return ExAllocatePoolWithTagPriority(PoolType, NumberOfBytes, Tag, Priority);
}

#define DrvRtPoolNxOptIn 0x00000001
/*
 * On Windows this function selects the meaning of NonPagedPool at run time. Here the macros below define the meaning.
 */
FORCEINLINE VOID ExInitializeDriverRuntime(_In_ ULONG RuntimeFlags)
{
    (void)RuntimeFlags;
}

#if defined(POOL_NX_OPTIN_AUTO) || defined(POOL_NX_OPTIN)
#define NonPagedPool NonPagedPoolNx
#define NonPagedPoolCacheAligned NonPagedPoolNxCacheAligned
#endif

/* ---- Lookaside lists --------------------------------------------------------------------------------------------- */

/*
 * Lookaside lists store freed entries, at most 256, for later allocations. While checks are on, they store none, so
 * that the pool checks each entry.
 */
struct _LOOKASIDE_LIST_EX;
typedef PVOID ALLOCATE_FUNCTION(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag);
typedef VOID FREE_FUNCTION(_In_ PVOID Buffer);
typedef PVOID ALLOCATE_FUNCTION_EX(_In_ POOL_TYPE PoolType, _In_ SIZE_T NumberOfBytes, _In_ ULONG Tag,
                                   _Inout_ struct _LOOKASIDE_LIST_EX *Lookaside);
typedef VOID FREE_FUNCTION_EX(_In_ PVOID Buffer, _Inout_ struct _LOOKASIDE_LIST_EX *Lookaside);
typedef ALLOCATE_FUNCTION *PALLOCATE_FUNCTION;
typedef FREE_FUNCTION *PFREE_FUNCTION;
typedef ALLOCATE_FUNCTION_EX *PALLOCATE_FUNCTION_EX;
typedef FREE_FUNCTION_EX *PFREE_FUNCTION_EX;

typedef struct DECLSPEC_ALIGN(16) _GENERAL_LOOKASIDE {
    __extension__ union {
        SLIST_HEADER ListHead;
        SINGLE_LIST_ENTRY SingleListHead;
    };
    USHORT Depth;
    USHORT MaximumDepth;
    ULONG TotalAllocates;
    __extension__ union {
        ULONG AllocateMisses;
        ULONG AllocateHits;
    };
    ULONG TotalFrees;
    __extension__ union {
        ULONG FreeMisses;
        ULONG FreeHits;
    };
    POOL_TYPE Type;
    ULONG Tag;
    ULONG Size;
    __extension__ union {
        PALLOCATE_FUNCTION_EX AllocateEx;
        PALLOCATE_FUNCTION Allocate;
    };
    __extension__ union {
        PFREE_FUNCTION_EX FreeEx;
        PFREE_FUNCTION Free;
    };
    LIST_ENTRY ListEntry;
    ULONG LastTotalAllocates;
    __extension__ union {
        ULONG LastAllocateMisses;
        ULONG LastAllocateHits;
    };
    ULONG Future[2];
} GENERAL_LOOKASIDE, *PGENERAL_LOOKASIDE, GENERAL_LOOKASIDE_POOL, *PGENERAL_LOOKASIDE_POOL;

typedef struct _NPAGED_LOOKASIDE_LIST {
    GENERAL_LOOKASIDE L;
} NPAGED_LOOKASIDE_LIST, *PNPAGED_LOOKASIDE_LIST;

typedef struct _PAGED_LOOKASIDE_LIST {
    GENERAL_LOOKASIDE L;
} PAGED_LOOKASIDE_LIST, *PPAGED_LOOKASIDE_LIST;

typedef struct _LOOKASIDE_LIST_EX {
    GENERAL_LOOKASIDE_POOL L;
} LOOKASIDE_LIST_EX, *PLOOKASIDE_LIST_EX;

#define LOOKASIDE_MINIMUM_BLOCK_SIZE (RTL_SIZEOF_THROUGH_FIELD(SLIST_ENTRY, Next))
#define EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL 0x00000001UL
#define EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE 0x00000002UL
#define EX_MAXIMUM_LOOKASIDE_DEPTH_BASE 256
#define EX_MAXIMUM_LOOKASIDE_DEPTH_LIMIT 1024

/* IRQL <= APC_LEVEL for lists with entries in paged pool, otherwise IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI VOID ExInitializeNPagedLookasideList(_Out_ PNPAGED_LOOKASIDE_LIST Lookaside,
                                                 _In_opt_ PALLOCATE_FUNCTION Allocate, _In_opt_ PFREE_FUNCTION Free,
                                                 _In_ ULONG Flags, _In_ SIZE_T Size, _In_ ULONG Tag, _In_ USHORT Depth);
NTKERNELAPI VOID ExDeleteNPagedLookasideList(_Inout_ PNPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI PVOID ExAllocateFromNPagedLookasideList(_Inout_ PNPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID ExFreeToNPagedLookasideList(_Inout_ PNPAGED_LOOKASIDE_LIST Lookaside, _In_ PVOID Entry);

NTKERNELAPI VOID ExInitializePagedLookasideList(_Out_ PPAGED_LOOKASIDE_LIST Lookaside,
                                                _In_opt_ PALLOCATE_FUNCTION Allocate, _In_opt_ PFREE_FUNCTION Free,
                                                _In_ ULONG Flags, _In_ SIZE_T Size, _In_ ULONG Tag, _In_ USHORT Depth);
NTKERNELAPI VOID ExDeletePagedLookasideList(_Inout_ PPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI PVOID ExAllocateFromPagedLookasideList(_Inout_ PPAGED_LOOKASIDE_LIST Lookaside);
NTKERNELAPI VOID ExFreeToPagedLookasideList(_Inout_ PPAGED_LOOKASIDE_LIST Lookaside, _In_ PVOID Entry);

NTKERNELAPI NTSTATUS ExInitializeLookasideListEx(_Out_ PLOOKASIDE_LIST_EX Lookaside,
                                                 _In_opt_ PALLOCATE_FUNCTION_EX Allocate,
                                                 _In_opt_ PFREE_FUNCTION_EX Free,
                                                 _In_ POOL_TYPE PoolType, _In_ ULONG Flags, _In_ SIZE_T Size,
                                                 _In_ ULONG Tag, _In_ USHORT Depth);
NTKERNELAPI VOID ExDeleteLookasideListEx(_Inout_ PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID ExFlushLookasideListEx(_Inout_ PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI PVOID ExAllocateFromLookasideListEx(_Inout_ PLOOKASIDE_LIST_EX Lookaside);
NTKERNELAPI VOID ExFreeToLookasideListEx(_Inout_ PLOOKASIDE_LIST_EX Lookaside, _In_ PVOID Entry);

EXTERN_C_END

#endif
