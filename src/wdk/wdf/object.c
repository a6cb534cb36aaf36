/* SPDX-License-Identifier: MIT */
/* Framework objects: see object.h. No callback of a driver is called with the lock held. */
#include <pthread.h>
#include <stdlib.h>

#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/wdf/object.h"

/*
 * The last context in an object's list is the context that was created with the object. That context has the callbacks
 * of the object's attributes, even if it has no type.
 */
struct wdf_context {
    struct wdf_context *next;
    PCWDF_OBJECT_CONTEXT_TYPE_INFO type;
    PFN_WDF_OBJECT_CONTEXT_CLEANUP cleanup;
    PFN_WDF_OBJECT_CONTEXT_DESTROY destroy;
    void *data; /* from pool_alloc, so that overruns are detected */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards trees, references and contexts */

static const char *const names[] = { "object",   "WDFDRIVER",   "WDFDEVICE",   "WDFOBJECT",
                                     "WDFTIMER", "WDFWORKITEM", "WDFSPINLOCK", "WDFWAITLOCK" };

static struct wdf_object *wdf_object_of_link(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, struct wdf_object, sibling);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

void *wdf_object_lookup(const char *routine, const void *handle, enum wdf_kind kind)
{
    struct wdf_object *o = (struct wdf_object *)(uintptr_t)handle;
    bool good = o && (!check_on() || live_has(LIVE_WDF, o)) && (kind == WDF_ANY || o->kind == kind);

    if (good)
        return o;
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "%p is not a %s, or was deleted",
                     handle, names[kind]);
    return NULL;
}

struct wdf_object *wdf_parent_of(PWDF_OBJECT_ATTRIBUTES attributes)
{
    return attributes && attributes->ParentObject
               ? wdf_object_lookup("the object's parent", attributes->ParentObject, WDF_ANY)
               : NULL;
}

bool wdf_is_below_device(const struct wdf_object *o)
{
    while (o && o->kind != WDF_DEVICE)
        o = o->parent;
    return o != NULL;
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

static void wdf_context_free(struct wdf_context *c)
{
    if (c->data)
        pool_free("WdfObjectDelete", c->data);
    free(c);
}

static struct wdf_context *wdf_context_new(PWDF_OBJECT_ATTRIBUTES attributes)
{
    PCWDF_OBJECT_CONTEXT_TYPE_INFO type = attributes->ContextTypeInfo;
    struct wdf_context *c = calloc(1, sizeof *c);
    size_t size = attributes->ContextSizeOverride;

    if (!c)
        return NULL;
    c->type = type;
    c->cleanup = attributes->EvtCleanupCallback;
    c->destroy = attributes->EvtDestroyCallback;
    size = !type ? 0 : size > type->ContextSize ? size : type->ContextSize;
    if (size)
        c->data = pool_alloc(size);
    if (size && !c->data) {
        free(c);
        return NULL;
    }
    return c;
}

/* Requires the lock. */
static struct wdf_context *wdf_context_find(const struct wdf_object *o, PCWDF_OBJECT_CONTEXT_TYPE_INFO type)
{
    struct wdf_context *c = o->contexts;

    while (c && c->type != type)
        c = c->next;
    return c;
}

PVOID WdfObjectGetTypedContextWorker(WDFOBJECT Handle, PCWDF_OBJECT_CONTEXT_TYPE_INFO TypeInfo)
{
    struct wdf_object *o = Handle; /* wdf_object_lookup would report a call from a destroy callback */
    struct wdf_context *c;

    pthread_mutex_lock(&lock);
    c = wdf_context_find(o, TypeInfo->UniqueType);
    pthread_mutex_unlock(&lock);
    return c ? c->data : NULL;
}

NTSTATUS WdfObjectAllocateContext(WDFOBJECT Handle, PWDF_OBJECT_ATTRIBUTES ContextAttributes, PVOID *Context)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectAllocateContext", Handle, WDF_ANY);
    struct wdf_context *c, *existing;

    irql_check_max("WdfObjectAllocateContext", DISPATCH_LEVEL);
    if (!o || !ContextAttributes || !ContextAttributes->ContextTypeInfo)
        return STATUS_INVALID_PARAMETER;
    c = wdf_context_new(ContextAttributes);
    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&lock);
    existing = wdf_context_find(o, c->type);
    if (!existing) {
        c->next = o->contexts;
        o->contexts = c;
    }
    pthread_mutex_unlock(&lock);
    *Context = existing ? existing->data : c->data;
    if (existing)
        wdf_context_free(c);
    return existing ? STATUS_OBJECT_NAME_EXISTS : STATUS_SUCCESS;
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static NTSTATUS wdf_check_attributes(const WDF_OBJECT_ATTRIBUTES *a)
{
    if (!a)
        return STATUS_SUCCESS;
    if (a->Size != sizeof *a)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (a->ContextSizeOverride && (!a->ContextTypeInfo || a->ContextSizeOverride < a->ContextTypeInfo->ContextSize))
        return STATUS_INVALID_PARAMETER;
    if (a->ExecutionLevel == WdfExecutionLevelPassive || a->SynchronizationScope == WdfSynchronizationScopeDevice ||
        a->SynchronizationScope == WdfSynchronizationScopeQueue)
        return STATUS_NOT_SUPPORTED;
    return STATUS_SUCCESS;
}

/*
 * Inserts the object below `parent`, which may be NULL. Returns false if the parent is being deleted. Requires the
 * lock.
 */
static bool wdf_object_insert_below(struct wdf_object *o, struct wdf_object *parent)
{
    o->parent = parent;
    if (!parent)
        return true;
    if (parent->deleted)
        return false;
    parent->references++;
    InsertTailList(&parent->children, &o->sibling);
    return true;
}

NTSTATUS wdf_object_new(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent,
                        struct wdf_object **out)
{
    NTSTATUS status = wdf_check_attributes(attributes);
    struct wdf_object *o;
    bool inserted;

    if (status)
        return status;
    o = calloc(1, size);
    if (!o || (attributes && !(o->contexts = wdf_context_new(attributes)))) {
        free(o);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    o->kind = kind;
    o->references = 1;
    InitializeListHead(&o->children);
    InitializeListHead(&o->sibling);
    pthread_mutex_lock(&lock);
    inserted = wdf_object_insert_below(o, parent);
    pthread_mutex_unlock(&lock);
    if (!inserted) {
        if (o->contexts)
            wdf_context_free(o->contexts);
        free(o);
        return STATUS_DELETE_PENDING;
    }
    live_add(LIVE_WDF, o, names[kind]);
    *out = o;
    return STATUS_SUCCESS;
}

NTSTATUS wdf_object_new_for(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller,
                            struct wdf_object **out)
{
    struct wdf_object *parent = wdf_parent_of(attributes);

    if (attributes && attributes->ParentObject && !parent)
        return STATUS_INVALID_PARAMETER;
    if (!parent)
        parent = wdf_driver_of_code(caller);
    return parent ? wdf_object_new(kind, size, attributes, parent, out) : STATUS_INVALID_DEVICE_STATE;
}

NTSTATUS WdfObjectCreate(PWDF_OBJECT_ATTRIBUTES Attributes, WDFOBJECT *Object)
{
    struct wdf_object *o = NULL;
    NTSTATUS status;

    irql_check_max("WdfObjectCreate", DISPATCH_LEVEL);
    status = wdf_object_new_for(WDF_GENERAL, sizeof *o, Attributes, __builtin_return_address(0), &o);
    *Object = o;
    return status;
}

/* ---- Deleting ---------------------------------------------------------------------------------------------------- */

static void wdf_object_destroy(struct wdf_object *o)
{
    (void)live_remove(LIVE_WDF, o);
    for (struct wdf_context *c = o->contexts; c; c = c->next)
        if (c->destroy)
            c->destroy(o);
    for (struct wdf_context *c = o->contexts, *next; c; c = next) {
        next = c->next;
        wdf_context_free(c);
    }
    free(o);
}

void wdf_object_ref(struct wdf_object *o)
{
    pthread_mutex_lock(&lock);
    o->references++;
    pthread_mutex_unlock(&lock);
}

void wdf_object_unref(struct wdf_object *o)
{
    while (o) {
        struct wdf_object *parent = o->parent;
        bool last;

        pthread_mutex_lock(&lock);
        last = --o->references == 0;
        if (last)
            RemoveEntryList(&o->sibling);
        pthread_mutex_unlock(&lock);
        if (!last)
            return;
        wdf_object_destroy(o);
        o = parent; /* drop the child's reference to its parent */
    }
}

enum pass { PASS_CLEAN, PASS_RELEASE };

/* Marks and returns the youngest child that this pass has not marked yet, or NULL. */
static struct wdf_object *wdf_object_next_child(struct wdf_object *o, enum pass pass)
{
    struct wdf_object *found = NULL;

    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *e = o->children.Blink; e != &o->children && !found; e = e->Blink) {
        bool *mark = pass == PASS_CLEAN ? &wdf_object_of_link(e)->deleted : &wdf_object_of_link(e)->released;

        if (!*mark) {
            *mark = true;
            found = wdf_object_of_link(e);
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void wdf_object_call_cleanups(struct wdf_object *o)
{
    if (o->stop)
        o->stop(o);
    for (struct wdf_context *c = o->contexts; c; c = c->next)
        if (c->cleanup)
            c->cleanup(o);
}

/* Calls the cleanup callbacks of all objects below the object, then the object's own callbacks. */
static void wdf_object_clean(struct wdf_object *o)
{
    struct wdf_object *child;

    while ((child = wdf_object_next_child(o, PASS_CLEAN)))
        wdf_object_clean(child);
    wdf_object_call_cleanups(o);
}

/*
 * Each object has one reference from its creation. Drops this reference for all objects below `o`, then for `o` itself.
 */
static void wdf_object_release(struct wdf_object *o)
{
    struct wdf_object *child;

    while ((child = wdf_object_next_child(o, PASS_RELEASE)))
        wdf_object_release(child);
    wdf_object_unref(o);
}

bool wdf_object_delete(struct wdf_object *o)
{
    bool first;

    pthread_mutex_lock(&lock);
    first = !o->deleted;
    o->deleted = o->released = true;
    pthread_mutex_unlock(&lock);
    if (first) {
        wdf_object_clean(o);
        wdf_object_release(o);
    }
    return first;
}

VOID WdfObjectDelete(WDFOBJECT Object)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectDelete", Object, WDF_ANY);

    if (!o)
        return;
    irql_check_max("WdfObjectDelete", o->kind == WDF_TIMER || o->kind == WDF_WORKITEM ? PASSIVE_LEVEL : DISPATCH_LEVEL);
    if ((o->kind == WDF_DRIVER || !wdf_object_delete(o)) && check_on())
        check_failed(CHECK_HANDLE_INVALID, "WdfObjectDelete", (uintptr_t)o, 0, 0, 0, "%s %p %s", names[o->kind],
                     (void *)o, o->kind == WDF_DRIVER ? "must be deleted by the framework" : "is deleted already");
}

VOID WdfObjectReference(WDFOBJECT Handle)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectReference", Handle, WDF_ANY);

    if (o)
        wdf_object_ref(o);
}

VOID WdfObjectDereference(WDFOBJECT Handle)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectDereference", Handle, WDF_ANY);

    if (o)
        wdf_object_unref(o);
}
