/* SPDX-License-Identifier: MIT */
/*
 * Processor topology: cores, packages, caches, nodes, groups.
 */
#ifndef ONDK_WDK_WDM_PROCESSOR_H
#define ONDK_WDK_WDM_PROCESSOR_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "thread.h"

EXTERN_C_START

typedef enum _LOGICAL_PROCESSOR_RELATIONSHIP {
    RelationProcessorCore,
    RelationNumaNode,
    RelationCache,
    RelationProcessorPackage,
    RelationGroup,
    RelationProcessorDie,
    RelationNumaNodeEx,
    RelationProcessorModule,
    RelationAll = 0xffff,
} LOGICAL_PROCESSOR_RELATIONSHIP;

typedef enum _PROCESSOR_CACHE_TYPE {
    CacheUnified,
    CacheInstruction,
    CacheData,
    CacheTrace,
    CacheUnknown,
} PROCESSOR_CACHE_TYPE;

#define LTP_PC_SMT 0x1 /* the core has more than one logical processor */
#define CACHE_FULLY_ASSOCIATIVE 0xff

typedef struct _PROCESSOR_RELATIONSHIP {
    UCHAR Flags;
    UCHAR EfficiencyClass;
    UCHAR Reserved[20];
    USHORT GroupCount;
    GROUP_AFFINITY GroupMask[1]; /* GroupCount elements */
} PROCESSOR_RELATIONSHIP, *PPROCESSOR_RELATIONSHIP;

typedef struct _NUMA_NODE_RELATIONSHIP {
    ULONG NodeNumber;
    UCHAR Reserved[18];
    USHORT GroupCount;
    __extension__ union {
        GROUP_AFFINITY GroupMask;
        GROUP_AFFINITY GroupMasks[1];
    };
} NUMA_NODE_RELATIONSHIP, *PNUMA_NODE_RELATIONSHIP;

typedef struct _CACHE_RELATIONSHIP {
    UCHAR Level;
    UCHAR Associativity;
    USHORT LineSize;
    ULONG CacheSize;
    PROCESSOR_CACHE_TYPE Type;
    UCHAR Reserved[18];
    USHORT GroupCount;
    __extension__ union {
        GROUP_AFFINITY GroupMask;
        GROUP_AFFINITY GroupMasks[1];
    };
} CACHE_RELATIONSHIP, *PCACHE_RELATIONSHIP;

typedef struct _PROCESSOR_GROUP_INFO {
    UCHAR MaximumProcessorCount;
    UCHAR ActiveProcessorCount;
    UCHAR Reserved[38];
    KAFFINITY ActiveProcessorMask;
} PROCESSOR_GROUP_INFO, *PPROCESSOR_GROUP_INFO;

typedef struct _GROUP_RELATIONSHIP {
    USHORT MaximumGroupCount;
    USHORT ActiveGroupCount;
    UCHAR Reserved[20];
    PROCESSOR_GROUP_INFO GroupInfo[1]; /* ActiveGroupCount elements */
} GROUP_RELATIONSHIP, *PGROUP_RELATIONSHIP;

typedef struct _SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX {
    LOGICAL_PROCESSOR_RELATIONSHIP Relationship;
    ULONG Size; /* bytes to the next entry */
    __extension__ union {
        PROCESSOR_RELATIONSHIP Processor;
        NUMA_NODE_RELATIONSHIP NumaNode;
        CACHE_RELATIONSHIP Cache;
        GROUP_RELATIONSHIP Group;
    };
} SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, *PSYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;

C_ASSERT(offsetof(PROCESSOR_RELATIONSHIP, GroupMask) == 24);
C_ASSERT(offsetof(CACHE_RELATIONSHIP, GroupMask) == 32);
C_ASSERT(sizeof(PROCESSOR_GROUP_INFO) == 48);
C_ASSERT(offsetof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX, Processor) == 8);

/*
 * Returns the sets of processors that share a core, package, cache, node or group: all sets, or only the sets that
 * contain ProcessorNumber. After STATUS_INFO_LENGTH_MISMATCH, *Length is the size needed. If the host reports no
 * topology, there are one package, cores of one processor each, and no caches. Modules are not reported.
 */
NTKERNELAPI NTSTATUS KeQueryLogicalProcessorRelationship(
    _In_opt_ PPROCESSOR_NUMBER ProcessorNumber, _In_ LOGICAL_PROCESSOR_RELATIONSHIP RelationshipType,
    _Out_opt_ PSYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX Information, _Inout_ PULONG Length);

/* The state of the floating point unit. On x64 the kernel saves it for each thread, and the routines do nothing. */
typedef struct _KFLOATING_SAVE {
    ULONG Dummy;
} KFLOATING_SAVE, *PKFLOATING_SAVE;

FORCEINLINE NTSTATUS KeSaveFloatingPointState(_Out_ PKFLOATING_SAVE FloatSave)
{
    FloatSave->Dummy = 0;
    return STATUS_SUCCESS;
}

FORCEINLINE NTSTATUS KeRestoreFloatingPointState(_In_ PKFLOATING_SAVE FloatSave)
{
    (void)FloatSave;
    return STATUS_SUCCESS;
}

EXTERN_C_END

#endif
