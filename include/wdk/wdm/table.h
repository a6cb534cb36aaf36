/* SPDX-License-Identifier: MIT */
/*
 * Generic tables: elements in the order of a driver's compare routine, in a splay tree (RTL_GENERIC_TABLE) or an AVL
 * tree (RTL_AVL_TABLE). If a driver defines RTL_USE_AVL_TABLES, the names of the splay tree's type and routines stand
 * for the type and the routines of the AVL tree.
 *
 * An element has a header and a copy of the driver's data. The driver's allocate routine returns the memory of an
 * element, which does not move until the element is deleted. The driver must serialize all calls for a table. This
 * includes lookups, because a lookup changes a splay tree. IRQL <= DISPATCH_LEVEL, if the driver's routines and memory
 * permit it.
 */
#ifndef ONDK_WDK_WDM_TABLE_H
#define ONDK_WDK_WDM_TABLE_H

#include "../ntdef.h"

#ifndef __MINGW32__ /* mingw-w64's ntddk.h has them */

EXTERN_C_START

typedef enum _RTL_GENERIC_COMPARE_RESULTS {
    GenericLessThan,
    GenericGreaterThan,
    GenericEqual
} RTL_GENERIC_COMPARE_RESULTS;

typedef enum _TABLE_SEARCH_RESULT {
    TableEmptyTree,
    TableFoundNode,
    TableInsertAsLeft,
    TableInsertAsRight
} TABLE_SEARCH_RESULT;

/* ---- AVL trees --------------------------------------------------------------------------------------------------- */

struct _RTL_AVL_TABLE;
typedef RTL_GENERIC_COMPARE_RESULTS NTAPI RTL_AVL_COMPARE_ROUTINE(struct _RTL_AVL_TABLE *Table, PVOID FirstStruct,
                                                                  PVOID SecondStruct);
typedef RTL_AVL_COMPARE_ROUTINE *PRTL_AVL_COMPARE_ROUTINE;
typedef PVOID NTAPI RTL_AVL_ALLOCATE_ROUTINE(struct _RTL_AVL_TABLE *Table, CLONG ByteSize);
typedef RTL_AVL_ALLOCATE_ROUTINE *PRTL_AVL_ALLOCATE_ROUTINE;
typedef VOID NTAPI RTL_AVL_FREE_ROUTINE(struct _RTL_AVL_TABLE *Table, PVOID Buffer);
typedef RTL_AVL_FREE_ROUTINE *PRTL_AVL_FREE_ROUTINE;

typedef struct _RTL_BALANCED_LINKS {
    struct _RTL_BALANCED_LINKS *Parent;
    struct _RTL_BALANCED_LINKS *LeftChild;
    struct _RTL_BALANCED_LINKS *RightChild;
    CHAR Balance; /* depth of the right subtree minus depth of the left subtree */
    UCHAR Reserved[3];
} RTL_BALANCED_LINKS, *PRTL_BALANCED_LINKS;

typedef struct _RTL_AVL_TABLE {
    RTL_BALANCED_LINKS BalancedRoot; /* RightChild points at the tree's root; Parent points at BalancedRoot */
    PVOID OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    ULONG DepthOfTree;
    PRTL_BALANCED_LINKS RestartKey;
    ULONG DeleteCount;
    PRTL_AVL_COMPARE_ROUTINE CompareRoutine;
    PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_AVL_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_AVL_TABLE, *PRTL_AVL_TABLE;

NTKERNELAPI VOID RtlInitializeGenericTableAvl(_Out_ PRTL_AVL_TABLE Table, _In_ PRTL_AVL_COMPARE_ROUTINE CompareRoutine,
                                              _In_ PRTL_AVL_ALLOCATE_ROUTINE AllocateRoutine,
                                              _In_ PRTL_AVL_FREE_ROUTINE FreeRoutine, _In_opt_ PVOID TableContext);
/*
 * Inserts a copy of Buffer, sets *NewElement to TRUE, and returns the address of the copy. If an equal element exists,
 * sets *NewElement to FALSE and returns that element's data unchanged. Returns NULL if the allocate routine fails.
 */
NTKERNELAPI PVOID RtlInsertElementGenericTableAvl(_In_ PRTL_AVL_TABLE Table, _In_reads_bytes_(BufferSize) PVOID Buffer,
                                                  _In_ CLONG BufferSize, _Out_opt_ PBOOLEAN NewElement);
/*
 * NodeOrParent and SearchResult are results of RtlLookupElementGenericTableFullAvl. The table must not have changed
 * since.
 */
NTKERNELAPI PVOID RtlInsertElementGenericTableFullAvl(_In_ PRTL_AVL_TABLE Table,
                                                      _In_reads_bytes_(BufferSize) PVOID Buffer,
                                                      _In_ CLONG BufferSize, _Out_opt_ PBOOLEAN NewElement,
                                                      _In_ PVOID NodeOrParent, _In_ TABLE_SEARCH_RESULT SearchResult);
/* Deletes the element that equals Buffer, and calls the free routine. Returns FALSE if there is no such element. */
NTKERNELAPI BOOLEAN RtlDeleteElementGenericTableAvl(_In_ PRTL_AVL_TABLE Table, _In_ PVOID Buffer);
NTKERNELAPI PVOID RtlLookupElementGenericTableAvl(_In_ PRTL_AVL_TABLE Table, _In_ PVOID Buffer);
NTKERNELAPI PVOID RtlLookupElementGenericTableFullAvl(_In_ PRTL_AVL_TABLE Table, _In_ PVOID Buffer,
                                                      _Out_ PVOID *NodeOrParent,
                                                      _Out_ TABLE_SEARCH_RESULT *SearchResult);
/* Returns the next element in ascending order. The driver may delete the last returned element before the next call. */
NTKERNELAPI PVOID RtlEnumerateGenericTableAvl(_In_ PRTL_AVL_TABLE Table, _In_ BOOLEAN Restart);
/*
 * Returns the next element in ascending order. *RestartKey is NULL at first, and then the element that was returned
 * last, which must not be deleted.
 */
NTKERNELAPI PVOID RtlEnumerateGenericTableWithoutSplayingAvl(_In_ PRTL_AVL_TABLE Table, _Inout_ PVOID *RestartKey);
/* Returns the element with the index I in ascending order, or NULL if there is no such element. */
NTKERNELAPI PVOID RtlGetElementGenericTableAvl(_In_ PRTL_AVL_TABLE Table, _In_ ULONG I);
NTKERNELAPI ULONG RtlNumberGenericTableElementsAvl(_In_ PRTL_AVL_TABLE Table);
NTKERNELAPI BOOLEAN RtlIsGenericTableEmptyAvl(_In_ PRTL_AVL_TABLE Table);

/* ---- Splay trees ------------------------------------------------------------------------------------------------- */

#ifdef RTL_USE_AVL_TABLES
#define _RTL_GENERIC_TABLE _RTL_AVL_TABLE
#define RTL_GENERIC_TABLE RTL_AVL_TABLE
#define PRTL_GENERIC_TABLE PRTL_AVL_TABLE
#define RTL_GENERIC_COMPARE_ROUTINE RTL_AVL_COMPARE_ROUTINE
#define PRTL_GENERIC_COMPARE_ROUTINE PRTL_AVL_COMPARE_ROUTINE
#define RTL_GENERIC_ALLOCATE_ROUTINE RTL_AVL_ALLOCATE_ROUTINE
#define PRTL_GENERIC_ALLOCATE_ROUTINE PRTL_AVL_ALLOCATE_ROUTINE
#define RTL_GENERIC_FREE_ROUTINE RTL_AVL_FREE_ROUTINE
#define PRTL_GENERIC_FREE_ROUTINE PRTL_AVL_FREE_ROUTINE
#define RtlInitializeGenericTable RtlInitializeGenericTableAvl
#define RtlInsertElementGenericTable RtlInsertElementGenericTableAvl
#define RtlInsertElementGenericTableFull RtlInsertElementGenericTableFullAvl
#define RtlDeleteElementGenericTable RtlDeleteElementGenericTableAvl
#define RtlLookupElementGenericTable RtlLookupElementGenericTableAvl
#define RtlLookupElementGenericTableFull RtlLookupElementGenericTableFullAvl
#define RtlEnumerateGenericTable RtlEnumerateGenericTableAvl
#define RtlEnumerateGenericTableWithoutSplaying RtlEnumerateGenericTableWithoutSplayingAvl
#define RtlGetElementGenericTable RtlGetElementGenericTableAvl
#define RtlNumberGenericTableElements RtlNumberGenericTableElementsAvl
#define RtlIsGenericTableEmpty RtlIsGenericTableEmptyAvl
#else

struct _RTL_GENERIC_TABLE;
typedef RTL_GENERIC_COMPARE_RESULTS NTAPI RTL_GENERIC_COMPARE_ROUTINE(struct _RTL_GENERIC_TABLE *Table,
                                                                      PVOID FirstStruct, PVOID SecondStruct);
typedef RTL_GENERIC_COMPARE_ROUTINE *PRTL_GENERIC_COMPARE_ROUTINE;
typedef PVOID NTAPI RTL_GENERIC_ALLOCATE_ROUTINE(struct _RTL_GENERIC_TABLE *Table, CLONG ByteSize);
typedef RTL_GENERIC_ALLOCATE_ROUTINE *PRTL_GENERIC_ALLOCATE_ROUTINE;
typedef VOID NTAPI RTL_GENERIC_FREE_ROUTINE(struct _RTL_GENERIC_TABLE *Table, PVOID Buffer);
typedef RTL_GENERIC_FREE_ROUTINE *PRTL_GENERIC_FREE_ROUTINE;

typedef struct _RTL_SPLAY_LINKS {
    struct _RTL_SPLAY_LINKS *Parent; /* the root's Parent points at the root */
    struct _RTL_SPLAY_LINKS *LeftChild;
    struct _RTL_SPLAY_LINKS *RightChild;
} RTL_SPLAY_LINKS, *PRTL_SPLAY_LINKS;

typedef struct _RTL_GENERIC_TABLE {
    PRTL_SPLAY_LINKS TableRoot;
    LIST_ENTRY InsertOrderList;
    PLIST_ENTRY OrderedPointer;
    ULONG WhichOrderedElement;
    ULONG NumberGenericTableElements;
    PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine;
    PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine;
    PRTL_GENERIC_FREE_ROUTINE FreeRoutine;
    PVOID TableContext;
} RTL_GENERIC_TABLE, *PRTL_GENERIC_TABLE;

/* These routines work like those above. A lookup makes the element the root; an enumeration makes the tree a list. */
NTKERNELAPI VOID RtlInitializeGenericTable(_Out_ PRTL_GENERIC_TABLE Table,
                                           _In_ PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                                           _In_ PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine,
                                           _In_ PRTL_GENERIC_FREE_ROUTINE FreeRoutine, _In_opt_ PVOID TableContext);
NTKERNELAPI PVOID RtlInsertElementGenericTable(_In_ PRTL_GENERIC_TABLE Table, _In_reads_bytes_(BufferSize) PVOID Buffer,
                                               _In_ CLONG BufferSize, _Out_opt_ PBOOLEAN NewElement);
NTKERNELAPI PVOID RtlInsertElementGenericTableFull(_In_ PRTL_GENERIC_TABLE Table,
                                                   _In_reads_bytes_(BufferSize) PVOID Buffer, _In_ CLONG BufferSize,
                                                   _Out_opt_ PBOOLEAN NewElement, _In_ PVOID NodeOrParent,
                                                   _In_ TABLE_SEARCH_RESULT SearchResult);
NTKERNELAPI BOOLEAN RtlDeleteElementGenericTable(_In_ PRTL_GENERIC_TABLE Table, _In_ PVOID Buffer);
NTKERNELAPI PVOID RtlLookupElementGenericTable(_In_ PRTL_GENERIC_TABLE Table, _In_ PVOID Buffer);
NTKERNELAPI PVOID RtlLookupElementGenericTableFull(_In_ PRTL_GENERIC_TABLE Table, _In_ PVOID Buffer,
                                                   _Out_ PVOID *NodeOrParent, _Out_ TABLE_SEARCH_RESULT *SearchResult);
/*
 * Returns the first element in ascending order if Restart is TRUE, otherwise the element after the tree's root. The
 * root is the element that was returned last, so no other routine may be called for the table during an enumeration.
 */
NTKERNELAPI PVOID RtlEnumerateGenericTable(_In_ PRTL_GENERIC_TABLE Table, _In_ BOOLEAN Restart);
NTKERNELAPI PVOID RtlEnumerateGenericTableWithoutSplaying(_In_ PRTL_GENERIC_TABLE Table, _Inout_ PVOID *RestartKey);
/* Returns the element with the index I in the order of insertion, or NULL if there is no such element. */
NTKERNELAPI PVOID RtlGetElementGenericTable(_In_ PRTL_GENERIC_TABLE Table, _In_ ULONG I);
NTKERNELAPI ULONG RtlNumberGenericTableElements(_In_ PRTL_GENERIC_TABLE Table);
NTKERNELAPI BOOLEAN RtlIsGenericTableEmpty(_In_ PRTL_GENERIC_TABLE Table);
#endif

EXTERN_C_END

#endif
#endif
