/* SPDX-License-Identifier: MIT */
/*
 * Objects with a reference count: threads, files, devices, events. The count is in a header in front of the object,
 * where ObReferenceObject finds it. The last ob_unref frees the object.
 */
#ifndef WDK_OBJECT_H
#define WDK_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "wdm.h"

struct _OBJECT_TYPE {
    const char *name;              /* the name in reports, for example "thread" */
    void (*destroy)(void *object); /* called before the object's memory is freed; may be NULL */
    /*
     * Called when the last reference was dropped, before `destroy`. Returns false if ob_unref must destroy the object.
     * Otherwise adds a reference and returns true; the reference may be dropped before it returns. May be NULL.
     */
    bool (*revive)(void *object);
    /* Called when a handle to the object was closed, while its reference still exists. May be NULL. */
    void (*closed)(void *object, bool was_last);
    bool is_waitable; /* the object begins with a dispatcher object */
    /*
     * Sets *named to the object that has the name, and *rest to what follows that name. *named may be NULL. If this
     * function is NULL, the object itself has the name, and nothing follows.
     */
    void (*get_name)(void *object, void **named, PCUNICODE_STRING *rest);
};

/* Returns a zeroed object with one reference, or NULL if out of memory. */
void *ob_new(POBJECT_TYPE type, size_t size);
void ob_ref(void *object);
void ob_unref(void *object);
/*
 * Works like ob_ref, but returns false if the last reference has been dropped. The caller has found the object in a
 * list, and holds the list's lock. Either the type's `destroy` removes the object from the list under the same lock, or
 * `revive` returns true for an object in the list. `revive` may add a reference only under this lock.
 */
bool ob_try_ref(void *object);
POBJECT_TYPE ob_type(void *object);
/* Count the object's open handles, for handle.c. ob_handle_closed returns true if that was the last one. */
void ob_handle_opened(void *object);
bool ob_handle_closed(void *object);

/* Returns true if the driver's pointer is an object that is not freed yet. Otherwise reports the pointer. */
bool ob_check(const char *routine, void *object);

/*
 * Turns the caller's reference into a reference of the driver, which ObDereferenceObject drops. The driver's references
 * are counted separately. So ObDereferenceObject cannot drop other references, and the unload reports references that
 * the driver has not dropped (LIVE_REFERENCE).
 */
void ob_pass_to_driver(void *object);
/* Turns one of the driver's references into a reference of the caller. Returns false if the driver has none. */
bool ob_reclaim_from_driver(void *object);

#endif
