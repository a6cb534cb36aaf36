/* SPDX-License-Identifier: MIT */
/*
 * Keeps a table of the open objects, by address. For each object the layer stores the provider's dispatch table, and
 * the consumer's callbacks with their contexts. The invariant: the lock of the table is never held while a function of
 * the provider or the consumer runs.
 *
 * A struct traced_object is the context of callbacks, so it is allocated before the provider creates the object. It is
 * removed from the table before the provider closes the object. It is freed when the close has completed, because no
 * callback follows. Exception: if the consumer closes the object without a completion routine, the struct stays in the
 * table until another object gets the same address. The consumer's callback may close the object, so nothing accesses
 * the struct after that callback.
 */
#ifndef CALLTRACE_TRACED_OBJECT_H
#define CALLTRACE_TRACED_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "calltrace/traced_table.h"

/* A disconnect callback of the consumer. The layer's own callback replaces it and has this struct as its context. */
struct traced_disconnect {
    struct traced_disconnect *next; /* in the connector's list; each repeat of a failed NdkCompleteConnect adds one */
    const NDK_CONNECTOR *connector;
    union {
        NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
        NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    } routine;
    void *context;
};

struct traced_object {
    _Atomic(const void *) address; /* the provider's object; NULL before it is created */
    const void *real;              /* the provider's dispatch table for the object */
    struct traced_object *next;    /* next in the list of the bucket */
    struct traced_sges sges;       /* SGE limits with which the object was created */
    unsigned opens;                /* in an adapter: number of opens after the first one */
    union {                        /* the callback that the consumer passed to the create call */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } callback;
    void *callback_context;
    struct traced_disconnect *disconnects;
    /* The completion routine of the create call, and later of the close call. */
    union {
        NDK_FN_CREATE_COMPLETION create;
        NDK_FN_CLOSE_COMPLETION close;
    } done;
    void *done_context;
    NDK_OBJECT_TYPE type;
    const void *called; /* the object on which the consumer has made the create or close call */
    uint16_t routine;   /* number of the event of that call */
};

/* Allocates a struct for an object that is about to be created. Returns NULL if out of memory. */
struct traced_object *traced_object_alloc(NDK_OBJECT_TYPE type);
void traced_object_free(struct traced_object *o);
/*
 * Inserts `o` into the table of open objects, and gives `object` a traced table. Runs when the provider has created the
 * object. If `o` is NULL because memory ran out, or no traced table is available, the object keeps the provider's
 * table, and the event `untraced` is recorded.
 */
void traced_object_insert(struct traced_object *o, NDK_OBJECT_HEADER *object, NDK_OBJECT_TYPE type);
/* Removes an object from the table before it is closed. Returns its struct, or NULL if it is not in the table. */
struct traced_object *traced_object_remove(const void *object);
/* Returns the provider's dispatch table for the object. Returns NULL if the object is not in the table. */
const void *traced_object_find_real(const void *object);

/*
 * Adds a struct for a disconnect callback to the connector. The struct exists until the connector is closed. Returns
 * NULL if `has_routine` is false, if memory ran out, or if the connector is not in the table.
 */
struct traced_disconnect *traced_object_add_disconnect(const NDK_CONNECTOR *connector, bool has_routine);

#endif
