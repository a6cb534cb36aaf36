/* SPDX-License-Identifier: MIT */
/*
 * Calls of the routines that drivers have registered for operations on the registry: see wdm/regcallback.h. The caller
 * holds no lock.
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

/* An operation, from the first notification before it to the last one after it. */
struct registry_call {
    REG_NOTIFY_CLASS pre, post;
    void *info;                           /* the structure of the notifications before the operation */
    PVOID *call_context, *object_context; /* members of *info */
    const struct key_object *object;      /* its contexts become *object_context */
    const struct key_object *result;      /* the object of the notifications after the operation; may be NULL */
    bool cannot_block;
    struct registry_seen *seen; /* the routines whose first notification succeeded */
    unsigned seen_count;
};

#define REGISTRY_CALL(operation, key_object, information)                                                              \
    {                                                                                                                  \
        .pre = RegNtPre##operation, .post = RegNtPost##operation, .info = &(information),                              \
        .call_context = &(information).CallContext, .object_context = &(information).ObjectContext,                    \
        .object = (key_object), .result = (key_object)                                                                 \
    }

/* Returns true if the operation is to be carried out. Otherwise sets *status to its result. */
bool registry_call_begin(struct registry_call *call, NTSTATUS *status);
/* Returns the operation's result. Must be called after each registry_call_begin. */
NTSTATUS registry_call_end(struct registry_call *call, NTSTATUS status);

/* Returns true if a routine is registered. If none is, the notifications need no preparation. */
bool registry_has_callbacks(void);

/* Notifies that the object's last reference was dropped. */
void registry_notify_close(struct key_object *object);

#endif
