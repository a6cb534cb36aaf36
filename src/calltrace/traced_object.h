/* SPDX-License-Identifier: MIT */
/*
 * The table of open objects, by address. For each object the layer stores the provider's dispatch table, and the
 * consumer's callbacks with their contexts. The invariant: the table's lock is never held while a function of the
 * provider or the consumer runs.
 *
 * A struct traced_object is allocated before the provider creates the object, so that callbacks can have it as their
 * context. The struct is removed from the table before the provider closes the object. It is freed when the close has
 * completed, because the provider makes no callbacks after that. A thread in a callback may close the object. So
 * nothing accesses the struct after the consumer's callback.
 */
#ifndef CALLTRACE_TRACED_OBJECT_H
#define CALLTRACE_TRACED_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ndk/ndkpi.h>

#include "calltrace/traced_table.h"

/* The consumer's disconnect callback. The provider receives this struct as the callback's context. */
struct traced_disconnect {
    struct traced_disconnect *next; /* of the same connector, because a failed NdkCompleteConnect may be repeated */
    const NDK_CONNECTOR *connector;
    union {
        NDK_FN_DISCONNECT_EVENT_CALLBACK plain;
        NDK_FN_DISCONNECT_EVENT_CALLBACK_EX ex;
    } routine;
    void *context;
};

struct traced_object {
    _Atomic(const void *) address; /* the provider's object; NULL before it is created */
    const void *real;              /* the provider's dispatch table */
    struct traced_object *next;    /* in the same bucket of the table */
    struct traced_sges sges;       /* the limits with which the object was created */
    unsigned opens;                /* of an adapter */
    union {                        /* the consumer's callback, which the create call has registered */
        NDK_FN_CQ_NOTIFICATION_CALLBACK cq;
        NDK_FN_SRQ_NOTIFICATION_CALLBACK srq;
        NDK_FN_CONNECT_EVENT_CALLBACK connect;
    } callback;
    void *callback_context;
    struct traced_disconnect *disconnects;
    /* First the completion routine of the create call, later the completion routine of the close call. */
    union {
        NDK_FN_CREATE_COMPLETION create;
        NDK_FN_CLOSE_COMPLETION close;
    } done;
    void *done_context;
    NDK_OBJECT_TYPE type;
    const void *called; /* the object whose entry the consumer has called */
    uint16_t routine;   /* the number of the call's event */
};

/* Returns NULL if out of memory. */
struct traced_object *traced_object_alloc(NDK_OBJECT_TYPE type);
void traced_object_free(struct traced_object *o);
/*
 * Called when the provider has created the object. Gives the object a traced table, and inserts `o` into the table of
 * open objects. `o` may be NULL (out of memory). If `o` is NULL or no traced table is available, the object keeps the
 * provider's table, and the event `untraced` is recorded.
 */
void traced_object_insert(struct traced_object *o, NDK_OBJECT_HEADER *object, NDK_OBJECT_TYPE type);
/* Removes an object that is about to be closed. Returns NULL if it is not in the table. */
struct traced_object *traced_object_remove(const void *object);
/* Returns the provider's dispatch table of the object, or NULL if the object is not in the table. */
const void *traced_object_find_real(const void *object);

/*
 * Stores a disconnect callback until the connector has been closed. Returns NULL if there is no routine, if memory ran
 * out, or if the connector is not in the table.
 */
struct traced_disconnect *traced_object_add_disconnect(const NDK_CONNECTOR *connector, bool has_routine);

#endif
