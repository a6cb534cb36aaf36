/* SPDX-License-Identifier: MIT */
/* Implements memory objects and lookaside lists. A memory object of a lookaside list has a reference on the list. */
#include <string.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"

#define FRAMEWORK_TAG 'fdWF' /* for memory without a tag of the driver */

struct wdf_lookaside {
    struct wdf_object object;
    LOOKASIDE_LIST_EX list;
    size_t size;
    WDF_OBJECT_ATTRIBUTES attributes; /* the attributes of the memory objects; Size is 0 if there are none */
};

enum ownership { BUFFER_DRIVERS, BUFFER_POOL, BUFFER_LOOKASIDE };

struct wdf_memory {
    struct wdf_object object;
    PVOID buffer;
    size_t size;
    enum ownership ownership;
    struct wdf_lookaside *lookaside;
};

struct wdf_object *wdf_memory_object(struct wdf_memory *m)
{
    return &m->object;
}

PVOID wdf_memory_buffer(const struct wdf_memory *m)
{
    return m->buffer;
}

static void wdf_memory_destroy(struct wdf_object *o)
{
    struct wdf_memory *m = CONTAINING_RECORD(o, struct wdf_memory, object);

    if (m->ownership == BUFFER_POOL)
        ExFreePool(m->buffer);
    else if (m->ownership == BUFFER_LOOKASIDE)
        ExFreeToLookasideListEx(&m->lookaside->list, m->buffer);
    if (m->lookaside)
        wdf_object_unref(&m->lookaside->object);
}

/* Sets the object up, and inserts it. `lookaside` may be NULL. On failure frees the object, and not the buffer. */
static NTSTATUS wdf_memory_publish(struct wdf_object *o, const struct wdf_memory *as, struct wdf_memory **out)
{
    struct wdf_memory *m = CONTAINING_RECORD(o, struct wdf_memory, object);

    m->buffer = as->buffer;
    m->size = as->size;
    m->ownership = as->ownership;
    m->lookaside = as->lookaside;
    if (m->lookaside)
        wdf_object_ref(&m->lookaside->object);
    o->destroy = wdf_memory_destroy;
    if (wdf_object_insert(o)) {
        *out = m;
        return STATUS_SUCCESS;
    }
    m->ownership = BUFFER_DRIVERS;
    wdf_object_discard(o);
    return STATUS_DELETE_PENDING;
}

NTSTATUS wdf_memory_new(struct wdf_object *parent, PVOID buffer, size_t size, struct wdf_memory **out)
{
    struct wdf_object *o;
    NTSTATUS status = wdf_object_new(WDF_MEMORY, sizeof **out, NULL, parent, &o);

    if (!NT_SUCCESS(status))
        return status;
    o->framework = true;
    return wdf_memory_publish(o, &(struct wdf_memory){ .buffer = buffer, .size = size }, out);
}

NTSTATUS wdf_memory_allocate(PWDF_OBJECT_ATTRIBUTES attributes, POOL_TYPE type, ULONG tag, size_t size,
                             const void *caller, struct wdf_memory **out)
{
    PVOID buffer = ExAllocatePoolWithTag(type, size, tag ? tag : FRAMEWORK_TAG);
    struct wdf_object *o;
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;

    if (buffer)
        status = wdf_object_new_for(WDF_MEMORY, sizeof **out, attributes, caller, &o);
    if (NT_SUCCESS(status))
        status = wdf_memory_publish(o, &(struct wdf_memory){ .buffer = buffer, .size = size, .ownership = BUFFER_POOL },
                                    out);
    if (!NT_SUCCESS(status) && buffer)
        ExFreePool(buffer);
    return status;
}

static KIRQL wdf_highest_irql(POOL_TYPE type)
{
    return type & PagedPool ? APC_LEVEL : DISPATCH_LEVEL;
}

NTSTATUS WdfMemoryCreate(PWDF_OBJECT_ATTRIBUTES Attributes, POOL_TYPE PoolType, ULONG PoolTag, size_t BufferSize,
                         WDFMEMORY *Memory, PVOID *Buffer)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_memory *m;
    NTSTATUS status;

    irql_check_max("WdfMemoryCreate", wdf_highest_irql(PoolType));
    if (!BufferSize || !wdf_check_pointer("WdfMemoryCreate", Memory, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_memory_allocate(Attributes, PoolType, PoolTag, BufferSize, caller, &m);
    if (!NT_SUCCESS(status))
        return status;
    *Memory = (WDFMEMORY)m;
    if (Buffer)
        *Buffer = m->buffer;
    return status;
}

NTSTATUS WdfMemoryCreatePreallocated(PWDF_OBJECT_ATTRIBUTES Attributes, PVOID Buffer, size_t BufferSize,
                                     WDFMEMORY *Memory)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_memory *m;
    struct wdf_object *o;
    NTSTATUS status;

    irql_check_max("WdfMemoryCreatePreallocated", DISPATCH_LEVEL);
    if (!Buffer || !BufferSize || !wdf_check_pointer("WdfMemoryCreatePreallocated", Memory, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new_for(WDF_MEMORY, sizeof(struct wdf_memory), Attributes, caller, &o);
    if (NT_SUCCESS(status))
        status = wdf_memory_publish(o, &(struct wdf_memory){ .buffer = Buffer, .size = BufferSize }, &m);
    if (NT_SUCCESS(status))
        *Memory = (WDFMEMORY)m;
    return status;
}

PVOID WdfMemoryGetBuffer(WDFMEMORY Memory, size_t *BufferSize)
{
    struct wdf_memory *m = wdf_object_lookup("WdfMemoryGetBuffer", Memory, WDF_MEMORY);

    if (!m)
        return NULL;
    if (BufferSize)
        *BufferSize = m->size;
    return m->buffer;
}

NTSTATUS WdfMemoryAssignBuffer(WDFMEMORY Memory, PVOID Buffer, size_t BufferSize)
{
    struct wdf_memory *m = wdf_object_lookup("WdfMemoryAssignBuffer", Memory, WDF_MEMORY);

    if (!m || !Buffer || !BufferSize || m->ownership != BUFFER_DRIVERS || m->object.framework)
        return STATUS_INVALID_PARAMETER;
    m->buffer = Buffer;
    m->size = BufferSize;
    return STATUS_SUCCESS;
}

static NTSTATUS wdf_memory_check_range(const struct wdf_memory *m, size_t offset, const void *other, size_t count)
{
    if (!m || !other || !count)
        return STATUS_INVALID_PARAMETER;
    if (offset >= m->size)
        return STATUS_INVALID_BUFFER_SIZE;
    return count > m->size - offset ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
}

NTSTATUS WdfMemoryCopyToBuffer(WDFMEMORY SourceMemory, size_t SourceOffset, PVOID Buffer, size_t NumBytesToCopyTo)
{
    struct wdf_memory *m = wdf_object_lookup("WdfMemoryCopyToBuffer", SourceMemory, WDF_MEMORY);
    NTSTATUS status = wdf_memory_check_range(m, SourceOffset, Buffer, NumBytesToCopyTo);

    if (NT_SUCCESS(status))
        memcpy(Buffer, (char *)m->buffer + SourceOffset, NumBytesToCopyTo);
    return status;
}

NTSTATUS WdfMemoryCopyFromBuffer(WDFMEMORY DestinationMemory, size_t DestinationOffset, PVOID Buffer,
                                 size_t NumBytesToCopyFrom)
{
    struct wdf_memory *m = wdf_object_lookup("WdfMemoryCopyFromBuffer", DestinationMemory, WDF_MEMORY);
    NTSTATUS status = wdf_memory_check_range(m, DestinationOffset, Buffer, NumBytesToCopyFrom);

    if (NT_SUCCESS(status))
        memcpy((char *)m->buffer + DestinationOffset, Buffer, NumBytesToCopyFrom);
    return status;
}

/* ---- Lookaside lists --------------------------------------------------------------------------------------------- */

static void wdf_lookaside_destroy(struct wdf_object *o)
{
    ExDeleteLookasideListEx(&CONTAINING_RECORD(o, struct wdf_lookaside, object)->list);
}

NTSTATUS WdfLookasideListCreate(PWDF_OBJECT_ATTRIBUTES LookasideAttributes, size_t BufferSize, POOL_TYPE PoolType,
                                PWDF_OBJECT_ATTRIBUTES MemoryAttributes, ULONG PoolTag, WDFLOOKASIDE *Lookaside)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_lookaside *l;
    struct wdf_object *o;
    NTSTATUS status;

    irql_check_max("WdfLookasideListCreate", wdf_highest_irql(PoolType));
    if (!BufferSize || !wdf_check_pointer("WdfLookasideListCreate", Lookaside, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new_for(WDF_LOOKASIDE, sizeof *l, LookasideAttributes, caller, &o);
    if (!NT_SUCCESS(status))
        return status;
    l = CONTAINING_RECORD(o, struct wdf_lookaside, object);
    status = ExInitializeLookasideListEx(&l->list, NULL, NULL, PoolType, 0, BufferSize,
                                         PoolTag ? PoolTag : FRAMEWORK_TAG, 0);
    if (!NT_SUCCESS(status)) {
        wdf_object_discard(o);
        return status;
    }
    l->size = BufferSize;
    if (MemoryAttributes)
        l->attributes = *MemoryAttributes;
    o->destroy = wdf_lookaside_destroy;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *Lookaside = (WDFLOOKASIDE)l;
    return status;
}

NTSTATUS WdfMemoryCreateFromLookaside(WDFLOOKASIDE Lookaside, WDFMEMORY *Memory)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_lookaside *l = wdf_object_lookup("WdfMemoryCreateFromLookaside", Lookaside, WDF_LOOKASIDE);
    struct wdf_memory *m;
    struct wdf_object *o;
    NTSTATUS status;
    PVOID buffer;

    irql_check_max("WdfMemoryCreateFromLookaside", DISPATCH_LEVEL);
    if (!l || !wdf_check_pointer("WdfMemoryCreateFromLookaside", Memory, caller))
        return STATUS_INVALID_PARAMETER;
    buffer = ExAllocateFromLookasideListEx(&l->list);
    if (!buffer)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = wdf_object_new_for(WDF_MEMORY, sizeof *m, l->attributes.Size ? &l->attributes : NULL, caller, &o);
    if (NT_SUCCESS(status))
        status = wdf_memory_publish(
            o, &(struct wdf_memory){ .buffer = buffer, .size = l->size, .ownership = BUFFER_LOOKASIDE, .lookaside = l },
            &m);
    if (NT_SUCCESS(status))
        *Memory = (WDFMEMORY)m;
    else
        ExFreeToLookasideListEx(&l->list, buffer);
    return status;
}
