/* SPDX-License-Identifier: MIT */
/*
 * Memory objects, lookaside lists, strings and collections. Their default parent is the driver.
 */
#ifndef ONDK_WDK_WDF_MEMORY_H
#define ONDK_WDK_WDF_MEMORY_H

#include "object.h"

EXTERN_C_START

typedef struct _WDFMEMORY_OFFSET {
    size_t BufferOffset;
    size_t BufferLength;
} WDFMEMORY_OFFSET, *PWDFMEMORY_OFFSET;

/*
 * Allocates a buffer that is not zeroed, and is freed with the object. Returns STATUS_INVALID_PARAMETER if the size is
 * zero. IRQL <= DISPATCH_LEVEL; for paged pool <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfMemoryCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES Attributes, _In_ POOL_TYPE PoolType,
                                     _In_opt_ ULONG PoolTag, _In_ size_t BufferSize, _Out_ WDFMEMORY *Memory,
                                     _Out_opt_ PVOID *Buffer);
/* The buffer belongs to the driver, and is not freed with the object. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfMemoryCreatePreallocated(_In_opt_ PWDF_OBJECT_ATTRIBUTES Attributes, _In_ PVOID Buffer,
                                                 _In_ size_t BufferSize, _Out_ WDFMEMORY *Memory);
NTKERNELAPI PVOID WdfMemoryGetBuffer(_In_ WDFMEMORY Memory, _Out_opt_ size_t *BufferSize);
/* Only for objects of WdfMemoryCreatePreallocated. */
NTKERNELAPI NTSTATUS WdfMemoryAssignBuffer(_In_ WDFMEMORY Memory, _In_ PVOID Buffer, _In_ size_t BufferSize);
/*
 * These routines copy between the object's buffer and another buffer. They return STATUS_INVALID_BUFFER_SIZE if the
 * offset is behind the object's buffer, or STATUS_BUFFER_TOO_SMALL if the object's buffer ends too early.
 */
NTKERNELAPI NTSTATUS WdfMemoryCopyToBuffer(_In_ WDFMEMORY SourceMemory, _In_ size_t SourceOffset, _Out_ PVOID Buffer,
                                           _In_ size_t NumBytesToCopyTo);
NTKERNELAPI NTSTATUS WdfMemoryCopyFromBuffer(_In_ WDFMEMORY DestinationMemory, _In_ size_t DestinationOffset,
                                             _In_ PVOID Buffer, _In_ size_t NumBytesToCopyFrom);

/* ---- Lookaside lists --------------------------------------------------------------------------------------------- */

/*
 * The memory objects that are created from the list have the attributes MemoryAttributes. IRQL <= DISPATCH_LEVEL; for
 * paged pool <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfLookasideListCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES LookasideAttributes, _In_ size_t BufferSize,
                                            _In_ POOL_TYPE PoolType, _In_opt_ PWDF_OBJECT_ATTRIBUTES MemoryAttributes,
                                            _In_opt_ ULONG PoolTag, _Out_ WDFLOOKASIDE *Lookaside);
NTKERNELAPI NTSTATUS WdfMemoryCreateFromLookaside(_In_ WDFLOOKASIDE Lookaside, _Out_ WDFMEMORY *Memory);

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

/*
 * Copies the string. If the string is NULL, the object is empty until a routine stores a string in it. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfStringCreate(_In_opt_ PCUNICODE_STRING UnicodeString,
                                     _In_opt_ PWDF_OBJECT_ATTRIBUTES StringAttributes, _Out_ WDFSTRING *String);
/* The string is valid as long as the object exists. PASSIVE_LEVEL. */
NTKERNELAPI VOID WdfStringGetUnicodeString(_In_ WDFSTRING String, _Out_ PUNICODE_STRING UnicodeString);

/* ---- Collections ------------------------------------------------------------------------------------------------- */

/* A collection has a reference on each of its objects. It has no lock: the driver holds one. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfCollectionCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES CollectionAttributes,
                                         _Out_ WDFCOLLECTION *Collection);
NTKERNELAPI ULONG WdfCollectionGetCount(_In_ WDFCOLLECTION Collection);
NTKERNELAPI NTSTATUS WdfCollectionAdd(_In_ WDFCOLLECTION Collection, _In_ WDFOBJECT Object);
NTKERNELAPI VOID WdfCollectionRemove(_In_ WDFCOLLECTION Collection, _In_ WDFOBJECT Item);
NTKERNELAPI VOID WdfCollectionRemoveItem(_In_ WDFCOLLECTION Collection, _In_ ULONG Index);
NTKERNELAPI WDFOBJECT WdfCollectionGetItem(_In_ WDFCOLLECTION Collection, _In_ ULONG Index);
NTKERNELAPI WDFOBJECT WdfCollectionGetFirstItem(_In_ WDFCOLLECTION Collection);
NTKERNELAPI WDFOBJECT WdfCollectionGetLastItem(_In_ WDFCOLLECTION Collection);

EXTERN_C_END

#endif
