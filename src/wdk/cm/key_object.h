/* SPDX-License-Identifier: MIT */
/*
 * Key objects. A handle of a registry key refers to a key object. Each open of a key creates a new key object, because
 * the notifications and contexts of callbacks (callback.h) belong to one open, not to the key.
 */
#ifndef ONDK_WDK_KEY_OBJECT_H
#define ONDK_WDK_KEY_OBJECT_H

#include "wdk/cm/registry.h"

/* A counted object (object.h). */
struct key_object {
    struct registry_key *key;
    UNICODE_STRING *path; /* for CmCallbackGetKeyObjectID; NULL until it is called. Guarded by the registry's lock */
    bool is_dying;        /* the last reference was dropped; guarded by callback.c's lock */
};

/* Returns an object with one reference. Takes over the caller's reference on the key, also if it fails. */
struct key_object *key_object_new(struct registry_key *key);

/*
 * Returns the object of a handle, with a reference. If the handle is not open, or is no handle of a key, returns NULL
 * and sets *status. Reports a handle that is not open, and an IRQL above PASSIVE_LEVEL.
 */
struct key_object *key_object_of_handle(const char *routine, HANDLE handle, NTSTATUS *status);

#endif
