/* SPDX-License-Identifier: MIT */
/*
 * Framework objects: a tree below each driver's object. A child has a reference to its parent, so a parent is never
 * destroyed before its children.
 */
#ifndef ONDK_WDK_WDF_OBJECT_H
#define ONDK_WDK_WDF_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "wdf.h"

enum wdf_kind { WDF_ANY, WDF_DRIVER, WDF_DEVICE, WDF_GENERAL, WDF_TIMER, WDF_WORKITEM, WDF_SPINLOCK, WDF_WAITLOCK };

struct wdf_context;

struct wdf_object {
    enum wdf_kind kind;
    struct wdf_object *parent;
    LIST_ENTRY children, sibling; /* youngest last */
    int references;
    bool deleted;                       /* true: the cleanup of the object has begun */
    bool released;                      /* the object's first reference is being dropped or was dropped */
    void (*stop)(struct wdf_object *o); /* called before the cleanup callbacks; may be NULL */
    struct wdf_context *contexts;
    unsigned callbacks; /* in a root: running callbacks of work items below the root; under the lock of timer.c */
};

/* Allocates `size` zeroed bytes that begin with a struct wdf_object, and inserts the object below `parent`. */
NTSTATUS wdf_object_new(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent,
                        struct wdf_object **out);
/*
 * Like wdf_object_new, but inserts the object below the attributes' parent. If the attributes name no parent, inserts
 * the object below the driver whose code contains `caller`.
 */
NTSTATUS wdf_object_new_for(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller,
                            struct wdf_object **out);
/*
 * Returns the object of a handle, or NULL if the handle is NULL or of another kind. While checks are on, also returns
 * NULL for a destroyed object, and reports each failure.
 */
void *wdf_object_lookup(const char *routine, const void *handle, enum wdf_kind kind);
/* Returns the attributes' parent, or NULL if they name none. */
struct wdf_object *wdf_parent_of(PWDF_OBJECT_ATTRIBUTES attributes);
/* Returns true for a device, and for every object below a device. */
bool wdf_is_below_device(const struct wdf_object *o);
/*
 * Deletes the object and all objects below it: calls their cleanup callbacks, then drops the reference that each object
 * has had since its creation. Returns false if the object is deleted already.
 */
bool wdf_object_delete(struct wdf_object *o);
void wdf_object_ref(struct wdf_object *o);
void wdf_object_unref(struct wdf_object *o);

/* Waits for the callbacks of work items below the root, also for a callback that has deleted its own work item. */
void wdf_work_wait(struct wdf_object *root);

/* Returns the driver whose code contains the address, or NULL if that driver has not called WdfDriverCreate. */
struct wdf_object *wdf_driver_of_code(const void *address);

#endif
