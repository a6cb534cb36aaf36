/* SPDX-License-Identifier: MIT */
/*
 * Framework objects: a tree below each driver's. A child has a reference to its parent, so that what is destroyed last
 * is the root.
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
    bool deleted, released; /* cleaned up, and without its maker's reference, or about to be */
    void (*stop)(struct wdf_object *o); /* before its cleanup callbacks; NULL: nothing */
    struct wdf_context *contexts;
    unsigned callbacks; /* of a root: work items' that are under way, under the lock of timer.c */
};

/* Zeroed, of `size` octets, below `parent`, with its context. *out: the object. */
NTSTATUS wdf_object_new(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_object *parent,
                        struct wdf_object **out);
/* The same below the attributes' parent, or else the driver whose code `caller` lies in. */
NTSTATUS wdf_object_new_of(enum wdf_kind kind, size_t size, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller,
                           struct wdf_object **out);
/* The object of a handle; NULL, and reported, if it is none of that kind (checks on), or deleted. */
void *wdf_object_of(const char *routine, const void *handle, enum wdf_kind kind);
/* NULL: the attributes name none. */
struct wdf_object *wdf_parent_of(PWDF_OBJECT_ATTRIBUTES attributes);
bool wdf_is_below_device(const struct wdf_object *o);
/* False: it is deleted already. */
bool wdf_object_delete(struct wdf_object *o);
void wdf_object_get(struct wdf_object *o);
void wdf_object_put(struct wdf_object *o);

/* Until no callback of a work item below it is under way: nothing else waits for those that delete their own item. */
void wdf_work_wait(struct wdf_object *root);

/* The driver whose code the address lies in. NULL: none that has called WdfDriverCreate. */
struct wdf_object *wdf_driver_at(const void *address);

#endif
