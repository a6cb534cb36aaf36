/* SPDX-License-Identifier: MIT */
/*
 * Declares how the framework calls a driver: the lock that serializes callbacks, the checks after a callback, and the
 * delay of calls that this thread cannot make because of its IRQL or because it holds a lock.
 */
#ifndef WDK_WDF_CALLBACK_H
#define WDK_WDF_CALLBACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/object.h"

/*
 * The lock of a device or queue. If `passive` is true, the lock is an event in a critical region, otherwise a spin
 * lock.
 */
struct wdf_sync {
    bool passive;
    KSPIN_LOCK spin;
    KEVENT is_free;
    KIRQL before; /* the owner's IRQL before it acquired the spin lock */
    _Atomic(struct kernel_thread *) owner;
};

void wdf_sync_init(struct wdf_sync *s, bool passive);
void wdf_sync_acquire(const char *routine, struct wdf_sync *s);
void wdf_sync_release(const char *routine, struct wdf_sync *s);
static inline bool wdf_sync_is_mine(const struct wdf_sync *s)
{
    return atomic_load(&s->owner) == thread_self();
}

/* Returns the lock that the callbacks of a device, queue or file hold, or NULL if the scope has none. */
struct wdf_sync *wdf_callback_sync(const struct wdf_object *o);
/*
 * Sets *sync to the lock that AutomaticSerialization requires for an object with these attributes, or to NULL if the
 * parent's scope has no lock. Returns STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL if the callback cannot hold the lock.
 * `passive` is true if the callback runs at PASSIVE_LEVEL.
 */
NTSTATUS wdf_serialize(PWDF_OBJECT_ATTRIBUTES attributes, bool passive, struct wdf_sync **sync);

/* Returns true if this thread can call a callback of the object now. */
bool wdf_can_call(const struct wdf_object *o, const struct wdf_sync *sync);

/* The framework calls each callback between wdf_call_begin and wdf_call_end. `sync` may be NULL. */
struct wdf_call {
    struct wdf_sync *sync;
    struct thread_mark mark;
    int critical;
    bool region; /* the callback runs in a critical region of the framework */
};
void wdf_call_begin(struct wdf_call *c, struct wdf_sync *sync);
/*
 * Reports a changed IRQL, a change of the count of critical regions, and locks that are still held. Restores the IRQL
 * and the count of critical regions.
 */
void wdf_call_end(struct wdf_call *c, const char *name, const void *callback);

/* A call that a worker makes later. The caller keeps the structure allocated until then, for example by a reference. */
struct wdf_deferred {
    WORK_QUEUE_ITEM item;
    struct wdf_object *root;
    void (*run)(void *context);
    void *context;
};
/* Makes a worker call run(context). Must not be called again for `d` before that call. */
void wdf_defer(struct wdf_deferred *d, struct wdf_object *o, void (*run)(void *context), void *context);

#endif
