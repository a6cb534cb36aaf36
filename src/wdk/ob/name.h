/* SPDX-License-Identifier: MIT */
/*
 * The object manager's names: \Device\..., and the symbolic links of \DosDevices, which is also called \?? and
 * \GLOBAL??. \BaseNamedObjects\Global is \BaseNamedObjects. Comparison ignores case. A name has no reference on its
 * object, so name_remove_object must be called before the object is freed.
 */
#ifndef ONDK_WDK_NAME_H
#define ONDK_WDK_NAME_H

#include <stdbool.h>

#include "wdm.h"

/*
 * name_add_object adds a name for an object. name_add_link adds a symbolic link. name_add_alias adds a symbolic link to
 * an object that may have no name. They fail with STATUS_OBJECT_NAME_COLLISION, STATUS_OBJECT_NAME_INVALID or
 * STATUS_INSUFFICIENT_RESOURCES.
 */
NTSTATUS name_add_object(PCUNICODE_STRING name, void *object);
NTSTATUS name_add_link(PCUNICODE_STRING name, PCUNICODE_STRING target);
NTSTATUS name_add_alias(PCUNICODE_STRING name, void *object);

/* Removes the object's name, but no link. Does nothing if the object has no name. */
void name_remove_object(const void *object);
/* Removes a symbolic link. Returns STATUS_OBJECT_NAME_NOT_FOUND if there is no such link. */
NTSTATUS name_remove_link(PCUNICODE_STRING name);

/*
 * Copies the object's name, or sets out->Buffer to NULL if it has none. The caller frees the Buffer. Returns false if
 * out of memory.
 */
bool name_of_object(const void *object, UNICODE_STRING *out);
/*
 * Copies the target of the symbolic link. The caller frees the copy's Buffer. Fails with STATUS_OBJECT_NAME_NOT_FOUND,
 * or with STATUS_OBJECT_TYPE_MISMATCH if `name` is not the name of a link.
 */
NTSTATUS name_get_target(PCUNICODE_STRING name, UNICODE_STRING *out);

/*
 * Follows symbolic links. Returns the object with a reference, which ob_unref drops. *rest receives what follows the
 * object's name; the caller frees its Buffer. Returns NULL and sets *status if there is no such object.
 */
void *name_find(PCUNICODE_STRING name, UNICODE_STRING *rest, NTSTATUS *status);

#endif
