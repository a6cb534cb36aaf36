/* SPDX-License-Identifier: MIT */
/*
 * Declares framework objects, which form a tree below each driver's object. A child has a reference to its parent, so a
 * parent is never destroyed before its children.
 */
#ifndef WDK_WDF_OBJECT_H
#define WDK_WDF_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wdf.h"

/* Parameter 1 of bug check WDF_VIOLATION, as on Windows. */
enum {
    WDF_LOCK_RECURSIVE = 0x2,
    WDF_MEMORY_REFERENCED = 0x3, /* p2 request, p3 number of references */
    WDF_NULL_PARAMETER = 0x4,    /* p3 address of the caller */
    WDF_WRONG_HANDLE = 0x5,      /* p2 handle */
    WDF_REQUEST_ERROR = 0x6,     /* p2 the error, p3 request */
    WDF_WRONG_DELETE = 0x7,      /* p2 object */
    WDF_QUEUE_ERROR = 0xA,       /* p2 queue */
    WDF_LOCK_ERROR = 0xB,        /* p2 object, p3 0: the object has no lock, 1: another thread has acquired it */
    WDF_IRQL_CHANGED = 0xE,      /* p2 IRQL before, p3 IRQL after the callback */
    WDF_CRITICAL_REGION = 0xF,   /* p2 callback */
    /* Values of OpenNDK's own, for errors for which Windows' verifier only breaks into the debugger. */
    WDF_WAITS_FOR_ITSELF = 0x101, /* p2 object */
    WDF_TARGET_ERROR = 0x102,     /* p2 I/O target */
};

enum wdf_kind {
    WDF_ANY,
    WDF_DRIVER,
    WDF_DEVICE,
    WDF_GENERAL,
    WDF_TIMER,
    WDF_WORKITEM,
    WDF_SPINLOCK,
    WDF_WAITLOCK,
    WDF_QUEUE,
    WDF_REQUEST,
    WDF_FILE,
    WDF_MEMORY,
    WDF_LOOKASIDE,
    WDF_STRING,
    WDF_COLLECTION,
    WDF_KEY,
    WDF_DPC,
    WDF_CMRESLIST,
    WDF_TARGET,
    WDF_KINDS
};

struct wdf_context;
struct wdf_sync;

struct wdf_object {
    enum wdf_kind kind;
    struct wdf_object *parent;
    LIST_ENTRY children, sibling; /* youngest last */
    int references;
    int driver_references; /* the part of `references` that the driver has added */
    bool deleted;          /* true: the cleanup of the object has begun */
    bool released;         /* the object's first reference is being dropped or was dropped */
    bool unmanaged;        /* a request or file: the deletion of its parent does not delete it */
    bool framework;        /* only the framework deletes the object */
    bool passive;          /* execution level: callbacks run at PASSIVE_LEVEL */
    WDF_SYNCHRONIZATION_SCOPE scope;
    struct wdf_sync *sync;                 /* the lock of a device or queue; otherwise NULL */
    bool cleans_up_first;                  /* the cleanup callbacks are called before `stop`, and not after it */
    void (*stop)(struct wdf_object *o);    /* called before the cleanup callbacks; may be NULL */
    void (*destroy)(struct wdf_object *o); /* called before the object is freed; may be NULL */
    struct wdf_context *contexts;
    unsigned activity; /* in a root: see wdf_activity_begin */
    bool ended;        /* in a root: wdf_activity_wait has returned */
};

/*
 * Allocates `size` zeroed bytes that begin with a struct wdf_object, with a reference on `parent`, which may be NULL.
 * The object has the execution level and scope of its attributes or of its parent. Ignores the attributes' parent. The
 * caller sets the object up, and then calls wdf_object_publish or wdf_object_discard. Until then nothing can find the
 * object, so a deletion of the parent does not use an object that is not set up.
 */
NTSTATUS wdf_object_new(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent,
                        struct wdf_object **out);
/*
 * Works like wdf_object_new, but the parent is the attributes' parent. If the attributes name no parent, the parent is
 * the driver whose code contains `caller`.
 */
NTSTATUS wdf_object_new_for(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller,
                            struct wdf_object **out);
/*
 * Works like wdf_object_new_for, but for an object whose attributes must name a parent: a device, or an object below a
 * device.
 */
NTSTATUS wdf_object_new_below_parent(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes,
                                     struct wdf_object **out);
/* Inserts the object below its parent. Returns false, and changes nothing, if the parent is being deleted. */
bool wdf_object_insert(struct wdf_object *o);
/* Frees an object that was not inserted, without a call of the driver's callbacks. */
void wdf_object_discard(struct wdf_object *o);
/* Inserts the object below its parent. If the parent is being deleted, frees `o` and returns STATUS_DELETE_PENDING. */
NTSTATUS wdf_object_publish(struct wdf_object *o);
/*
 * Sets the execution level and the scope of `o` to those of the attributes. Uses the level or scope of `from` if the
 * attributes do not set it. `attributes` and `from` may be NULL.
 */
void wdf_object_set_constraints(struct wdf_object *o, const WDF_OBJECT_ATTRIBUTES *attributes,
                                const struct wdf_object *from);
/*
 * Returns the object of a handle, or NULL if the handle is NULL or of another kind. While checks are on, also returns
 * NULL for a destroyed object, and reports each failure.
 */
void *wdf_object_lookup(const char *routine, const void *handle, enum wdf_kind kind);
/* Returns true if the pointer is not NULL. Otherwise reports the caller's address, and returns false. */
bool wdf_check_pointer(const char *routine, const void *pointer, const void *caller);
/* Returns the attributes' parent, or NULL if they name none. */
struct wdf_object *wdf_parent_of(PWDF_OBJECT_ATTRIBUTES attributes);
/* Returns true for a device, and for every object below a device. */
bool wdf_is_below_device(const struct wdf_object *o);
/* Returns the name of the object's kind, for example "WDFQUEUE". */
const char *wdf_kind_name(const struct wdf_object *o);
bool wdf_object_is_deleted(struct wdf_object *o);

/*
 * Deletes the object and all objects below it: wdf_object_dispose, then wdf_object_release. Returns false if the object
 * is deleted already.
 */
bool wdf_object_delete(struct wdf_object *o);
/*
 * Calls the cleanup callbacks of the object and of all objects below it. Returns false if the object is deleted
 * already.
 */
bool wdf_object_dispose(struct wdf_object *o);
/* Drops the reference that each object has had since its creation, for all objects below `o`, then for `o` itself. */
void wdf_object_release(struct wdf_object *o);
void wdf_object_ref(struct wdf_object *o);
/*
 * Adds a reference, and returns true. Returns false if the last reference was already dropped. Requires that the
 * object's memory stays allocated during the call.
 */
bool wdf_object_try_ref(struct wdf_object *o);
void wdf_object_unref(struct wdf_object *o);
/* Returns the number of references that the driver has added. */
int wdf_object_driver_references(struct wdf_object *o);
/* Adds a reference that the driver drops. */
void wdf_object_ref_for_driver(struct wdf_object *o);

/*
 * A root is the object of a driver. An activity is a call that uses objects below the root, for example the callback of
 * a work item. The deletion of the driver calls wdf_activity_wait, which waits for all activities. So the driver's code
 * is not unloaded before they end.
 */
struct wdf_object *wdf_root_of(struct wdf_object *o);
void wdf_activity_begin(struct wdf_object *root);
/*
 * Begins an activity, and adds a reference on the object. Returns false, and does nothing, if the last reference was
 * already dropped, or if the driver may already be unloaded. Requires that the object's memory stays allocated during
 * the call.
 */
bool wdf_activity_try_begin(struct wdf_object *o);
void wdf_activity_end(struct wdf_object *root);
void wdf_activity_wait(struct wdf_object *root);

/* Returns the driver whose code contains the address, or NULL if that driver has not called WdfDriverCreate. */
struct wdf_object *wdf_driver_of_code(const void *address);
/* Returns the name of the driver's registry key. */
const UNICODE_STRING *wdf_driver_registry_path(struct wdf_object *driver);

#endif
