/* SPDX-License-Identifier: MIT */
/* Implements counted objects: see object.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

struct object {
    uint64_t magic;
    POBJECT_TYPE type;
    atomic_int references;
    atomic_int handles;    /* number of open handles */
    int driver_references; /* number of references that belong to the driver; guarded by driver_lock */
};

enum { HEADER = 32 }; /* a multiple of 16, which is the alignment of the object */
_Static_assert(sizeof(struct object) <= HEADER, "the header lies in front of the object");
static const uint64_t magic_alive = 0x6f626a6563743031, magic_dead = 0x64656164;
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static struct object *object_header(void *object)
{
    return (struct object *)(void *)((char *)object - HEADER);
}

void *ob_new(POBJECT_TYPE type, size_t size)
{
    struct object *o = calloc(1, HEADER + size);

    if (!o)
        return NULL;
    o->magic = magic_alive;
    o->type = type;
    atomic_init(&o->references, 1);
    return (char *)o + HEADER;
}

void ob_ref(void *object)
{
    atomic_fetch_add_explicit(&object_header(object)->references, 1, memory_order_relaxed);
}

bool ob_try_ref(void *object)
{
    atomic_int *references = &object_header(object)->references;
    int now = atomic_load_explicit(references, memory_order_relaxed);

    while (now > 0)
        if (atomic_compare_exchange_weak_explicit(references, &now, now + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

void ob_unref(void *object)
{
    struct object *o = object_header(object);

    if (atomic_fetch_sub_explicit(&o->references, 1, memory_order_acq_rel) != 1)
        return;
    if (o->type->revive && o->type->revive(object))
        return; /* the object may be freed already */
    if (o->type->destroy)
        o->type->destroy(object);
    o->magic = magic_dead;
    free(o);
}

POBJECT_TYPE ob_type(void *object)
{
    return object_header(object)->type;
}

void ob_handle_opened(void *object)
{
    atomic_fetch_add(&object_header(object)->handles, 1);
}

bool ob_handle_closed(void *object)
{
    return atomic_fetch_sub(&object_header(object)->handles, 1) == 1;
}

void ob_pass_to_driver(void *object)
{
    struct object *o = object_header(object);

    pthread_mutex_lock(&driver_lock);
    if (o->driver_references++ == 0)
        live_add(LIVE_REFERENCE, object, o->type->name);
    pthread_mutex_unlock(&driver_lock);
}

bool ob_reclaim_from_driver(void *object)
{
    struct object *o = object_header(object);
    bool has_reference;

    pthread_mutex_lock(&driver_lock);
    has_reference = o->driver_references > 0;
    if (has_reference && --o->driver_references == 0)
        (void)live_remove(LIVE_REFERENCE, object);
    pthread_mutex_unlock(&driver_lock);
    return has_reference;
}

bool ob_check(const char *routine, void *object)
{
    if (object && object_header(object)->magic == magic_alive)
        return true;
    check_failed(CHECK_REFERENCE, routine, 0, (uintptr_t)object, 0, 0, "%p is no object", object);
    return false;
}

LONG_PTR ObfReferenceObject(PVOID Object)
{
    irql_check_max("ObReferenceObject", DISPATCH_LEVEL);
    if (!ob_check("ObReferenceObject", Object))
        return 0;
    ob_ref(Object);
    ob_pass_to_driver(Object);
    return atomic_load(&object_header(Object)->references);
}

LONG_PTR ObfDereferenceObject(PVOID Object)
{
    LONG_PTR remaining;

    irql_check_max("ObDereferenceObject", DISPATCH_LEVEL);
    if (!ob_check("ObDereferenceObject", Object))
        return 0;
    if (!ob_reclaim_from_driver(Object)) {
        check_failed(CHECK_REFERENCE, "ObDereferenceObject", (uintptr_t)ob_type(Object), (uintptr_t)Object, 0, 0,
                     "%s %p has no reference of the driver's left", ob_type(Object)->name, Object);
        return 0;
    }
    remaining = atomic_load(&object_header(Object)->references) - 1;
    ob_unref(Object);
    return remaining;
}

VOID ObDereferenceObjectDeferDelete(PVOID Object)
{
    (void)ObfDereferenceObject(Object);
}

NTSTATUS ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType,
                                    KPROCESSOR_MODE AccessMode)
{
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(AccessMode);
    irql_check_max("ObReferenceObjectByPointer", DISPATCH_LEVEL);
    if (!ob_check("ObReferenceObjectByPointer", Object))
        return STATUS_INVALID_PARAMETER;
    if (ObjectType && ob_type(Object) != ObjectType)
        return STATUS_OBJECT_TYPE_MISMATCH;
    (void)ObfReferenceObject(Object);
    return STATUS_SUCCESS;
}

NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType,
                                   KPROCESSOR_MODE AccessMode, PVOID *Object,
                                   POBJECT_HANDLE_INFORMATION HandleInformation)
{
    NTSTATUS status;

    UNREFERENCED_PARAMETER(AccessMode);
    irql_check_max("ObReferenceObjectByHandle", PASSIVE_LEVEL);
    *Object = NULL;
    if (Handle == (HANDLE)(LONG_PTR)-2) {
        *Object = thread_self();
        status = ObReferenceObjectByPointer(*Object, DesiredAccess, ObjectType, AccessMode);
        if (!NT_SUCCESS(status))
            *Object = NULL;
        return status;
    }
    *Object = handle_lookup(Handle, ObjectType, &status);
    if (!*Object)
        return status;
    ob_pass_to_driver(*Object);
    if (HandleInformation) {
        HandleInformation->HandleAttributes = 0;
        HandleInformation->GrantedAccess = DesiredAccess;
    }
    return STATUS_SUCCESS;
}
