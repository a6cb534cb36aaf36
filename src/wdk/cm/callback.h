/* SPDX-License-Identifier: MIT */
/*
 * Notifies the routines that drivers have registered for operations on the registry: see wdm/regcallback.h. The caller
 * of these functions must hold no lock. An operation with its notifications:
 *
 *   REG_..._INFORMATION info = { .Object = object, ... };
 *   struct registry_call call = REGISTRY_CALL(DeleteKey, object, info);
 *
 *   if (registry_call_begin(&call, &status))
 *       status = ... the operation ...
 *   status = registry_call_end(&call, status);
 */
#ifndef ONDK_WDK_CM_CALLBACK_H
#define ONDK_WDK_CM_CALLBACK_H

#include <stdbool.h>

#include "wdk/cm/key_object.h"

/* An operation on the registry. The registered routines are notified before the operation and after it. */
struct registry_call {
    REG_NOTIFY_CLASS pre, post;
    void *info;                           /* the structure of the notifications before the operation */
    PVOID *call_context, *object_context; /* members of *info */
    const struct key_object *object;      /* each routine receives its context for this object in *object_context */
    const struct key_object *result;      /* the object in the notifications after the operation; may be NULL */
    bool cannot_block;
    /*
     * Array of the routines to notify. If a routine blocks the operation, that routine and the routines after it are
     * removed from this array.
     */
    struct registry_seen *seen;
    unsigned seen_count;
};

#define REGISTRY_CALL(operation, key_object, information)                                                              \
    {                                                                                                                  \
        .pre = RegNtPre##operation, .post = RegNtPost##operation, .info = &(information),                              \
        .call_context = &(information).CallContext, .object_context = &(information).ObjectContext,                    \
        .object = (key_object), .result = (key_object)                                                                 \
    }

/*
 * Notifies the routines before the operation. Returns true if the caller must carry out the operation. Otherwise sets
 * *status to the operation's result.
 */
bool registry_call_begin(struct registry_call *call, NTSTATUS *status);
/*
 * Notifies the routines after the operation. Returns the operation's result. Must be called after each
 * registry_call_begin, even if that has returned false.
 */
NTSTATUS registry_call_end(struct registry_call *call, NTSTATUS status);

/* Returns true if a routine is registered. If it returns false, the caller need not prepare notifications. */
bool registry_has_callbacks(void);

/*
 * Notifies the registered routines. Must be called when the last handle of the object was closed. The caller holds a
 * reference on the object.
 */
void registry_notify_close(struct key_object *object);

/*
 * Must be called when the last reference on the object was dropped. If the object has contexts, adds a reference and
 * returns true.
 */
bool registry_revive(struct key_object *object);
/*
 * Removes all contexts of the object, and passes each of them back to its routine. Does not wait for contexts that
 * CmUnRegisterCallback passes back on another thread. The caller must have a reference on the object.
 */
void registry_clean_up_contexts(struct key_object *object);

#endif
