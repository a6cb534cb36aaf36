/* SPDX-License-Identifier: MIT */
/*
 * Objects with a count of references: threads, files, devices, what a handle stands for. The header lies before the
 * object, so that ObReferenceObject takes the pointer that the driver knows.
 */
#ifndef WDK_OBJECT_H
#define WDK_OBJECT_H

#include <stddef.h>

#include "wdm.h"

struct _OBJECT_TYPE {
    const char *name; /* as reports call it: "thread" */
    void (*destroy)(void *object); /* last reference gone; the memory goes after it. NULL: nothing to do */
    void (*closed)(void *object);  /* its handle is closed; references may be left. NULL: nothing to do */
};

/* Zeroed, with one reference. NULL: no memory. */
void *ob_new(POBJECT_TYPE type, size_t size);
void ob_ref(void *object);
void ob_unref(void *object);
POBJECT_TYPE ob_type(void *object);

/*
 * References that a driver holds and gives back with ObDereferenceObject. They are counted beside the others, so that
 * what is left of them is reported at unload (LIVE_REFERENCE). ob_lend turns the caller's reference into the
 * driver's.
 */
void ob_lend(void *object);

#endif
