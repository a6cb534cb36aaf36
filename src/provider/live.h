/* SPDX-License-Identifier: MIT */
/*
 * Declares the lists of an adapter's objects, one list for each type. An object is inserted when it has been created.
 * It is hidden just before its type's `destroy` runs, and removed after its close completion has returned. The
 * invariant: while the lock is held, an object that is not hidden is not destroyed, so its type's `describe` may be
 * called.
 *
 * A thread that needs the lock of the lists and the lock of an object must take the lock of the lists first.
 */
#ifndef PROVIDER_LIVE_H
#define PROVIDER_LIVE_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"
#include "openndk/netstat.h"

struct object;

/* An entry of a public list. Each public list contains the objects of one type. */
union live_entry {
    ondk_connection_t connection;
    ondk_listener_t listener;
    ondk_endpoint_t endpoint;
    ondk_protection_domain_t pd;
    ondk_completion_queue_t cq;
    ondk_queue_pair_t qp;
    ondk_shared_receive_queue_t srq;
    ondk_memory_region_t mr;
    ondk_memory_window_t mw;
};

struct live_list {
    struct spin lock;                            /* guards this struct and the live_ members of all objects */
    LIST_HEAD(, object) lists[NdkObjectTypeMax]; /* the newest first */
    uint32_t counts[NdkObjectTypeMax];           /* number of objects of the type, without the hidden ones */
    LIST_HEAD(, live_walk) walks;                /* walks and copies in progress */
    uint32_t last_ids[NdkObjectTypeMax];
    TAILQ_HEAD(, object) closes; /* pending closes, the oldest first, without those that close_report.c has reported */
    struct object *examined;     /* the object that close_report.c examines; NULL when the object has been removed */
};

void live_list_init(struct live_list *live);
void live_list_insert(struct live_list *live, struct object *o);
/* Sets o->live_retiring. Must be called before the fabric's object that belongs to `o` ends. */
void live_list_set_retiring(struct live_list *live, struct object *o);
/*
 * live_list_hide sets the object's live_hidden. live_list_remove removes the object from its list. Both functions may
 * be called for an object that was never inserted.
 */
void live_list_hide(struct live_list *live, struct object *o);
void live_list_remove(struct live_list *live, struct object *o);
/* Empties `closes`. Requires the lock. */
void live_list_forget_closes(struct live_list *live);
/*
 * Calls `visit` for each object of one type, including hidden ones, with the lock held. `visit` may access only the
 * struct object of a hidden object. The function releases the lock from time to time. An object that exists during the
 * whole call is visited once.
 */
void live_list_walk(struct live_list *live, NDK_OBJECT_TYPE type, void (*visit)(struct object *o, void *context),
                    void *context);
/*
 * Copies the entries of at most `capacity` objects of one type to the caller's array. Returns the number of objects of
 * that type, which may exceed `capacity`. Connectors without a connection are neither copied nor counted. An object
 * that exists during the whole call is copied once, unless the array is too small. `entry_size` is the size of an entry
 * in the caller's array. `own_size` is the size of an entry in this library.
 */
uint32_t live_list_copy(struct live_list *live, NDK_OBJECT_TYPE type, void *entries, uint32_t capacity,
                        size_t entry_size, size_t own_size);

#endif
