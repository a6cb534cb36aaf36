/* SPDX-License-Identifier: MIT */
/*
 * Calls the driver: see callback.h. If a thread already holds a callback lock (struct wdf_sync), a worker makes a call
 * for a request or queue that needs another callback lock. So two such calls do not wait for each other.
 */
#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/lock.h"
#include "wdk/wdf/callback.h"

/*
 * The number of callback locks that this thread holds. The TLS model is initial-exec, because LeakSanitizer of GCC 12
 * often crashes with other models if the library is loaded after the program's start.
 */
static _Thread_local unsigned syncs_held __attribute__((tls_model("initial-exec")));

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

void wdf_sync_init(struct wdf_sync *s, bool passive)
{
    s->passive = passive;
    KeInitializeSpinLock(&s->spin);
    KeInitializeEvent(&s->is_free, SynchronizationEvent, TRUE);
}

/* If this thread already has the lock, reports that and returns, because otherwise the thread would wait for itself. */
void wdf_sync_acquire(const char *routine, struct wdf_sync *s)
{
    KIRQL before = irql_now();

    if (wdf_sync_is_mine(s)) {
        if (check_on())
            check_failed(CHECK_WDF_LOCK, routine, WDF_LOCK_RECURSIVE, (uintptr_t)s, 0, 0,
                         "this thread has the lock of the callbacks already");
        return;
    }
    if (s->passive) {
        (void)KeWaitForSingleObject(&s->is_free, Executive, KernelMode, FALSE, NULL);
        thread_self()->critical++;
    } else {
        KeAcquireSpinLock(&s->spin, &before);
    }
    s->before = before;
    atomic_store(&s->owner, thread_self());
    syncs_held++;
}

void wdf_sync_release(const char *routine, struct wdf_sync *s)
{
    KIRQL before;

    if (!wdf_sync_is_mine(s)) {
        if (check_on())
            check_failed(CHECK_WDF_LOCK, routine, WDF_LOCK_ERROR, (uintptr_t)s, 1, 0,
                         "this thread has not acquired the lock of the callbacks");
        return;
    }
    before = s->before;
    atomic_store(&s->owner, NULL);
    syncs_held--;
    if (s->passive) {
        thread_self()->critical--;
        KeSetEvent(&s->is_free, IO_NO_INCREMENT, FALSE);
    } else {
        KeReleaseSpinLock(&s->spin, before);
    }
}

static const struct wdf_object *wdf_nearest_with_sync(const struct wdf_object *o)
{
    while (o && !o->sync)
        o = o->parent;
    return o;
}

struct wdf_sync *wdf_callback_sync(const struct wdf_object *o)
{
    const struct wdf_object *owner = wdf_nearest_with_sync(o);

    if (!owner || owner->scope == WdfSynchronizationScopeNone)
        return NULL;
    /* In WdfSynchronizationScopeQueue each queue has a lock, and the callbacks of the device itself hold none. */
    return owner->kind == WDF_DEVICE && owner->scope == WdfSynchronizationScopeQueue ? NULL : owner->sync;
}

NTSTATUS wdf_serialize(PWDF_OBJECT_ATTRIBUTES attributes, bool passive, struct wdf_sync **sync)
{
    struct wdf_object *parent = attributes && attributes->ParentObject ? wdf_parent_of(attributes) : NULL;

    *sync = wdf_callback_sync(parent);
    if (!passive && parent && parent->passive)
        return STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL;
    return *sync && (*sync)->passive != passive ? STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL : STATUS_SUCCESS;
}

static struct wdf_sync *wdf_driver_sync(const char *routine, WDFOBJECT handle)
{
    struct wdf_object *o = wdf_object_lookup(routine, handle, WDF_ANY);

    if (o && !o->sync && check_on())
        check_failed(CHECK_WDF_LOCK, routine, WDF_LOCK_ERROR, (uintptr_t)o, 0, 0,
                     "%s %p has no lock: only devices and queues have one", wdf_kind_name(o), (void *)o);
    return o ? o->sync : NULL;
}

VOID WdfObjectAcquireLock(WDFOBJECT Object)
{
    struct wdf_sync *s = wdf_driver_sync("WdfObjectAcquireLock", Object);

    if (!s)
        return;
    irql_check_max("WdfObjectAcquireLock", s->passive ? PASSIVE_LEVEL : DISPATCH_LEVEL);
    wdf_sync_acquire("WdfObjectAcquireLock", s);
}

VOID WdfObjectReleaseLock(WDFOBJECT Object)
{
    struct wdf_sync *s = wdf_driver_sync("WdfObjectReleaseLock", Object);

    if (s)
        wdf_sync_release("WdfObjectReleaseLock", s);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

bool wdf_can_call(const struct wdf_object *o, const struct wdf_sync *sync)
{
    return !(o->passive && irql_now() > PASSIVE_LEVEL) && !(sync && syncs_held);
}

void wdf_call_begin(struct wdf_call *c, struct wdf_sync *sync)
{
    c->sync = sync;
    if (sync)
        wdf_sync_acquire("a callback", sync);
    c->region = irql_now() == PASSIVE_LEVEL;
    if (c->region)
        thread_self()->critical++;
    c->critical = thread_self()->critical;
    c->mark = thread_mark_get();
}

void wdf_call_end(struct wdf_call *c, const char *name, const void *callback)
{
    struct kernel_thread *self = thread_self();

    if (check_on() && self->irql != c->mark.irql) {
        check_failed(CHECK_WDF_CALLBACK, name, WDF_IRQL_CHANGED, c->mark.irql, self->irql, 0,
                     "the callback at %p was called at IRQL %u and returned at IRQL %u", callback, c->mark.irql,
                     self->irql);
        (void)irql_set(c->mark.irql);
    }
    thread_mark_check(&c->mark, name, callback);
    if (check_on() && self->critical != c->critical)
        check_failed(CHECK_WDF_CALLBACK, name, WDF_CRITICAL_REGION, (uintptr_t)callback, 0, 0,
                     "the callback at %p has %s a critical region", callback,
                     self->critical > c->critical ? "entered and not left" : "left");
    self->critical = c->critical - c->region;
    if (c->sync)
        wdf_sync_release(name, c->sync);
}

/* ---- Later calls ------------------------------------------------------------------------------------------------- */

static VOID wdf_deferred_run(PVOID context)
{
    struct wdf_deferred *d = context;
    struct wdf_object *root = d->root; /* `run` may free *d */

    d->run(d->context);
    wdf_activity_end(root);
}

void wdf_defer(struct wdf_deferred *d, struct wdf_object *o, void (*run)(void *context), void *context)
{
    d->root = wdf_root_of(o);
    d->run = run;
    d->context = context;
    wdf_activity_begin(d->root);
    worker_add_own_routine(wdf_deferred_run);
    ExInitializeWorkItem(&d->item, wdf_deferred_run, d);
    (void)worker_queue(&d->item, NULL, NULL);
}
