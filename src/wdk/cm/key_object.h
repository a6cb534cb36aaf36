/* SPDX-License-Identifier: MIT */
/*
 * Key objects. A handle of a registry key refers to a key object. Each open of a key creates a new key object, because
 * the notifications and contexts of callbacks (callback.h) belong to one open, not to the key.
 *
 * An object that has contexts is never destroyed. Each thread that passes a context back has a reference on the object
 * meanwhile. So the thread that has dropped the last reference need not wait for CmUnRegisterCallback, which passes
 * contexts back on another thread. The states of an object:
 *
 *   state     references  contexts  next state
 *   alive     > 0         any       released: the last reference was dropped
 *   released  0           any       alive: there are contexts. destroyed: there are none
 *
 * Only the thread that has dropped the last reference acts on a released object. It calls no routine of a driver in
 * this state. If there are contexts, it adds a reference, passes the contexts back, and drops the reference.
 * CmUnRegisterCallback waits while an object of one of its contexts is released.
 */
#ifndef ONDK_WDK_KEY_OBJECT_H
#define ONDK_WDK_KEY_OBJECT_H

#include "wdk/cm/registry.h"

/* A counted object (object.h). */
struct key_object {
    struct registry_key *key;
    UNICODE_STRING *path; /* for CmCallbackGetKeyObjectID; NULL until it is called. Guarded by the registry's lock */
};

/* Returns an object with one reference. Takes over the caller's reference on the key, also if it fails. */
struct key_object *key_object_new(struct registry_key *key);

/*
 * Returns the object of a handle, with a reference. If the handle is not open, or is no handle of a key, returns NULL
 * and sets *status. Reports a handle that is not open, and an IRQL above PASSIVE_LEVEL.
 */
struct key_object *key_object_of_handle(const char *routine, HANDLE handle, NTSTATUS *status);

#endif
