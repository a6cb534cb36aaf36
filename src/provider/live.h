/* SPDX-License-Identifier: MIT */
/*
 * The lists of an adapter's objects, by type. An object is inserted when it has been made, and removed after its close
 * completion has returned. The invariant: an object is hidden before it ends, so objects that are not hidden may be
 * described while the lock is held.
 *
 * Order of locks: this lock is taken before an object's own lock, never after it.
 */
#ifndef PROVIDER_LIVE_H
#define PROVIDER_LIVE_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"

struct object;

struct live_list {
    struct spin lock; /* guards the lists, and live_inserted and live_hidden of all objects */
    LIST_HEAD(, object) lists[NdkObjectTypeMax];
};

void live_list_init(struct live_list *live);
void live_list_insert(struct live_list *live, struct object *o);
/* live_list_hide and live_list_remove may be called for an object that was never inserted. */
void live_list_hide(struct live_list *live, struct object *o);
void live_list_remove(struct live_list *live, struct object *o);

#endif
