/* SPDX-License-Identifier: MIT */
/* Implements framework objects: see object.h. No callback of a driver is called with the lock held. */
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
    struct wdf_context_block *block; /* from pool, so that overruns are detected; NULL if the context has no data */
};

struct wdf_context_block {
    _Alignas(16) struct wdf_object *object;
    _Alignas(16) char data[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards trees, references and contexts */

static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* broadcast when an activity has ended */

/*
 * The properties of each kind: its name, what its attributes may set, and the highest IRQL at which it may be deleted.
 */
static const struct kind {
    const char *name;
    bool has_scope, has_level;
    KIRQL delete_irql;
} kinds[WDF_KINDS] = {
    [WDF_ANY] = { "object", false, false, PASSIVE_LEVEL },
    [WDF_DRIVER] = { "WDFDRIVER", true, true, PASSIVE_LEVEL },
    [WDF_DEVICE] = { "WDFDEVICE", true, true, PASSIVE_LEVEL },
    [WDF_GENERAL] = { "WDFOBJECT", false, true, DISPATCH_LEVEL },
    [WDF_TIMER] = { "WDFTIMER", false, true, PASSIVE_LEVEL },
    [WDF_WORKITEM] = { "WDFWORKITEM", false, false, PASSIVE_LEVEL },
    [WDF_SPINLOCK] = { "WDFSPINLOCK", false, false, DISPATCH_LEVEL },
    [WDF_WAITLOCK] = { "WDFWAITLOCK", false, false, DISPATCH_LEVEL },
    [WDF_QUEUE] = { "WDFQUEUE", true, true, PASSIVE_LEVEL },
    [WDF_REQUEST] = { "WDFREQUEST", false, false, DISPATCH_LEVEL },
    [WDF_FILE] = { "WDFFILEOBJECT", true, true, PASSIVE_LEVEL },
    [WDF_MEMORY] = { "WDFMEMORY", false, false, DISPATCH_LEVEL },
    [WDF_LOOKASIDE] = { "WDFLOOKASIDE", false, false, DISPATCH_LEVEL },
    [WDF_STRING] = { "WDFSTRING", false, false, PASSIVE_LEVEL },
    [WDF_COLLECTION] = { "WDFCOLLECTION", false, false, DISPATCH_LEVEL },
    [WDF_KEY] = { "WDFKEY", false, false, PASSIVE_LEVEL },
    [WDF_DPC] = { "WDFDPC", false, false, PASSIVE_LEVEL },
    [WDF_TARGET] = { "WDFIOTARGET", false, false, PASSIVE_LEVEL },
    [WDF_CMRESLIST] = { "WDFCMRESLIST", false, false, PASSIVE_LEVEL },
};

const char *wdf_kind_name(const struct wdf_object *o)
{
    return kinds[o->kind].name;
}

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
        check_failed(CHECK_WDF_HANDLE, routine, WDF_WRONG_HANDLE, (uintptr_t)handle, 0, 0,
                     "%p is not a %s, or was deleted", handle, kinds[kind].name);
    return NULL;
}

bool wdf_check_pointer(const char *routine, const void *pointer, const void *caller)
{
    if (!pointer && check_on())
        check_failed(CHECK_WDF_PARAMETER, routine, WDF_NULL_PARAMETER, 0, (uintptr_t)caller, 0,
                     "a parameter is NULL that must not be");
    return pointer != NULL;
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
    if (c->block)
        pool_free("WdfObjectDelete", c->block);
    free(c);
}

static void *wdf_context_data(const struct wdf_context *c)
{
    return c && c->block ? c->block->data : NULL;
}

static struct wdf_context *wdf_context_new(struct wdf_object *o, PWDF_OBJECT_ATTRIBUTES attributes)
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
    if (!size)
        return c;
    c->block = pool_alloc(sizeof *c->block + size);
    if (!c->block) {
        free(c);
        return NULL;
    }
    c->block->object = o;
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
    struct wdf_object *o = Handle; /* not wdf_object_lookup, which would report a call from a destroy callback */
    struct wdf_context *c;

    pthread_mutex_lock(&lock);
    c = wdf_context_find(o, TypeInfo->UniqueType);
    pthread_mutex_unlock(&lock);
    return wdf_context_data(c);
}

WDFOBJECT WdfObjectContextGetObject(PVOID ContextPointer)
{
    return CONTAINING_RECORD(ContextPointer, struct wdf_context_block, data)->object;
}

NTSTATUS WdfObjectAllocateContext(WDFOBJECT Handle, PWDF_OBJECT_ATTRIBUTES ContextAttributes, PVOID *Context)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectAllocateContext", Handle, WDF_ANY);
    struct wdf_context *c, *existing;

    irql_check_max("WdfObjectAllocateContext", DISPATCH_LEVEL);
    if (!o || !ContextAttributes || !ContextAttributes->ContextTypeInfo)
        return STATUS_INVALID_PARAMETER;
    c = wdf_context_new(o, ContextAttributes);
    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&lock);
    existing = wdf_context_find(o, c->type);
    if (!existing) {
        c->next = o->contexts;
        o->contexts = c;
    }
    pthread_mutex_unlock(&lock);
    if (Context)
        *Context = wdf_context_data(existing ? existing : c);
    if (existing)
        wdf_context_free(c);
    return existing ? STATUS_OBJECT_NAME_EXISTS : STATUS_SUCCESS;
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static NTSTATUS wdf_check_attributes(enum wdf_kind kind, const WDF_OBJECT_ATTRIBUTES *a)
{
    if (!a)
        return STATUS_SUCCESS;
    if (a->Size != sizeof *a)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (a->ContextSizeOverride && (!a->ContextTypeInfo || a->ContextSizeOverride < a->ContextTypeInfo->ContextSize))
        return STATUS_INVALID_PARAMETER;
    if (a->SynchronizationScope > WdfSynchronizationScopeNone ||
        (a->SynchronizationScope > WdfSynchronizationScopeInheritFromParent && !kinds[kind].has_scope))
        return STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID;
    if (a->ExecutionLevel > WdfExecutionLevelDispatch ||
        (a->ExecutionLevel > WdfExecutionLevelInheritFromParent && !kinds[kind].has_level))
        return STATUS_WDF_EXECUTION_LEVEL_INVALID;
    return STATUS_SUCCESS;
}

void wdf_object_set_constraints(struct wdf_object *o, const WDF_OBJECT_ATTRIBUTES *a, const struct wdf_object *from)
{
    o->passive = from && from->passive;
    o->scope = from ? from->scope : WdfSynchronizationScopeNone;
    if (a && a->ExecutionLevel > WdfExecutionLevelInheritFromParent)
        o->passive = a->ExecutionLevel == WdfExecutionLevelPassive;
    if (a && a->SynchronizationScope > WdfSynchronizationScopeInheritFromParent)
        o->scope = a->SynchronizationScope;
}

NTSTATUS wdf_object_new(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent,
                        struct wdf_object **out)
{
    NTSTATUS status = wdf_check_attributes(kind, attributes);
    struct wdf_object *o;

    if (status)
        return status;
    o = calloc(1, size);
    if (!o || (attributes && !(o->contexts = wdf_context_new(o, attributes)))) {
        free(o);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    o->kind = kind;
    o->parent = parent;
    o->references = 1;
    o->unmanaged = o->framework = kind == WDF_REQUEST || kind == WDF_FILE;
    wdf_object_set_constraints(o, attributes, parent);
    InitializeListHead(&o->children);
    InitializeListHead(&o->sibling);
    if (parent)
        wdf_object_ref(parent);
    *out = o;
    return STATUS_SUCCESS;
}

bool wdf_object_insert(struct wdf_object *o)
{
    struct wdf_object *parent = o->parent;
    bool inserted;

    /* This comes before the insertion, because the parent, and thus `o`, may be deleted right after the insertion. */
    live_add(LIVE_WDF, o, kinds[o->kind].name);
    pthread_mutex_lock(&lock);
    inserted = !parent || !parent->deleted;
    if (inserted && parent)
        InsertTailList(&parent->children, &o->sibling);
    pthread_mutex_unlock(&lock);
    if (!inserted)
        (void)live_remove(LIVE_WDF, o);
    return inserted;
}

void wdf_object_discard(struct wdf_object *o)
{
    for (struct wdf_context *c = o->contexts; c; c = c->next) {
        c->cleanup = NULL;
        c->destroy = NULL;
    }
    wdf_object_unref(o);
}

NTSTATUS wdf_object_publish(struct wdf_object *o)
{
    if (wdf_object_insert(o))
        return STATUS_SUCCESS;
    wdf_object_discard(o);
    return STATUS_DELETE_PENDING;
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

NTSTATUS wdf_object_new_below_parent(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes,
                                     struct wdf_object **out)
{
    struct wdf_object *parent;

    if (!attributes || !attributes->ParentObject)
        return STATUS_WDF_PARENT_NOT_SPECIFIED;
    parent = wdf_parent_of(attributes);
    if (!parent)
        return STATUS_INVALID_PARAMETER;
    return wdf_is_below_device(parent) ? wdf_object_new(kind, size, attributes, parent, out)
                                       : STATUS_INVALID_DEVICE_REQUEST;
}

NTSTATUS WdfObjectCreate(PWDF_OBJECT_ATTRIBUTES Attributes, WDFOBJECT *Object)
{
    struct wdf_object *o = NULL;
    NTSTATUS status;

    irql_check_max("WdfObjectCreate", DISPATCH_LEVEL);
    status = wdf_object_new_for(WDF_GENERAL, sizeof *o, Attributes, __builtin_return_address(0), &o);
    if (NT_SUCCESS(status))
        status = wdf_object_publish(o);
    *Object = NT_SUCCESS(status) ? o : NULL;
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
    if (o->destroy)
        o->destroy(o);
    free(o);
}

void wdf_object_ref(struct wdf_object *o)
{
    pthread_mutex_lock(&lock);
    o->references++;
    pthread_mutex_unlock(&lock);
}

bool wdf_object_try_ref(struct wdf_object *o)
{
    bool alive;

    pthread_mutex_lock(&lock);
    alive = o->references > 0;
    if (alive)
        o->references++;
    pthread_mutex_unlock(&lock);
    return alive;
}

void wdf_object_ref_for_driver(struct wdf_object *o)
{
    pthread_mutex_lock(&lock);
    o->references++;
    o->driver_references++;
    pthread_mutex_unlock(&lock);
}

int wdf_object_driver_references(struct wdf_object *o)
{
    int n;

    pthread_mutex_lock(&lock);
    n = o->driver_references;
    pthread_mutex_unlock(&lock);
    return n;
}

bool wdf_object_is_deleted(struct wdf_object *o)
{
    bool deleted;

    pthread_mutex_lock(&lock);
    deleted = o->deleted;
    pthread_mutex_unlock(&lock);
    return deleted;
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
        o = parent; /* the next round drops the reference that the child had on its parent */
    }
}

enum pass { PASS_CLEAN, PASS_RELEASE };

/* Marks and returns the youngest child that this pass has not marked yet, or NULL. */
static struct wdf_object *wdf_object_next_child(struct wdf_object *o, enum pass pass)
{
    struct wdf_object *found = NULL;

    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *e = o->children.Blink; e != &o->children && !found; e = e->Blink) {
        struct wdf_object *child = wdf_object_of_link(e);
        bool *mark = pass == PASS_CLEAN ? &child->deleted : &child->released;

        if (!*mark && !child->unmanaged) {
            *mark = true;
            found = child;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void wdf_object_call_cleanups(struct wdf_object *o)
{
    if (o->stop && !o->cleans_up_first)
        o->stop(o);
    for (struct wdf_context *c = o->contexts; c; c = c->next)
        if (c->cleanup)
            c->cleanup(o);
    if (o->stop && o->cleans_up_first)
        o->stop(o);
}

/* Calls the cleanup callbacks of all objects below the object, then the object's own callbacks. */
static void wdf_object_clean(struct wdf_object *o)
{
    struct wdf_object *child;

    while ((child = wdf_object_next_child(o, PASS_CLEAN)))
        wdf_object_clean(child);
    wdf_object_call_cleanups(o);
}

void wdf_object_release(struct wdf_object *o)
{
    struct wdf_object *child;

    while ((child = wdf_object_next_child(o, PASS_RELEASE)))
        wdf_object_release(child);
    wdf_object_unref(o);
}

bool wdf_object_dispose(struct wdf_object *o)
{
    bool first;

    pthread_mutex_lock(&lock);
    first = !o->deleted;
    o->deleted = o->released = true;
    pthread_mutex_unlock(&lock);
    if (first)
        wdf_object_clean(o);
    return first;
}

bool wdf_object_delete(struct wdf_object *o)
{
    bool first = wdf_object_dispose(o);

    if (first)
        wdf_object_release(o);
    return first;
}

static void wdf_report_delete(const char *routine, struct wdf_object *o, const char *why)
{
    if (check_on())
        check_failed(CHECK_WDF_DELETE, routine, WDF_WRONG_DELETE, (uintptr_t)o, 0, 0, "%s %p %s", wdf_kind_name(o),
                     (void *)o, why);
}

VOID WdfObjectDelete(WDFOBJECT Object)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectDelete", Object, WDF_ANY);

    if (!o)
        return;
    irql_check_max("WdfObjectDelete", kinds[o->kind].delete_irql);
    if (o->framework)
        wdf_report_delete("WdfObjectDelete", o, "is deleted by the framework");
    else if (!wdf_object_delete(o))
        wdf_report_delete("WdfObjectDelete", o, "is deleted already");
}

VOID WdfObjectReference(WDFOBJECT Handle)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectReference", Handle, WDF_ANY);

    irql_check_max("WdfObjectReference", DISPATCH_LEVEL);
    if (o)
        wdf_object_ref_for_driver(o);
}

VOID WdfObjectDereference(WDFOBJECT Handle)
{
    struct wdf_object *o = wdf_object_lookup("WdfObjectDereference", Handle, WDF_ANY);
    bool held;

    irql_check_max("WdfObjectDereference", DISPATCH_LEVEL);
    if (!o)
        return;
    pthread_mutex_lock(&lock);
    held = o->driver_references > 0;
    if (held)
        o->driver_references--;
    pthread_mutex_unlock(&lock);
    if (held)
        wdf_object_unref(o);
    else
        wdf_report_delete("WdfObjectDereference", o, "has no reference that the driver has added");
}

/* ---- Activity ---------------------------------------------------------------------------------------------------- */

struct wdf_object *wdf_root_of(struct wdf_object *o)
{
    while (o->parent)
        o = o->parent;
    return o;
}

void wdf_activity_begin(struct wdf_object *root)
{
    pthread_mutex_lock(&lock);
    root->activity++;
    pthread_mutex_unlock(&lock);
}

bool wdf_activity_try_begin(struct wdf_object *o)
{
    struct wdf_object *root;
    bool begins;

    pthread_mutex_lock(&lock);
    begins = o->references > 0;
    root = begins ? wdf_root_of(o) : NULL;
    begins = begins && !root->ended;
    if (begins) {
        o->references++;
        root->activity++;
    }
    pthread_mutex_unlock(&lock);
    return begins;
}

void wdf_activity_end(struct wdf_object *root)
{
    pthread_mutex_lock(&lock);
    root->activity--;
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

void wdf_activity_wait(struct wdf_object *root)
{
    pthread_mutex_lock(&lock);
    while (root->activity)
        pthread_cond_wait(&idle, &lock);
    root->ended = true;
    pthread_mutex_unlock(&lock);
}
