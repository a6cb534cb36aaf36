/* SPDX-License-Identifier: MIT */
/*
 * The objects of an adapter, by type. An object enters when it has been made. It is hidden first thing when it ends, so
 * that what a list shows, while the lock is held, can be described; it leaves after its close completion has returned.
 *
 * Order of locks: this one, then an object's own. Nobody comes here with an object's lock held.
 */
#ifndef PROVIDER_LIVE_H
#define PROVIDER_LIVE_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"

struct object;

struct live {
    struct spin lock; /* guards the lists, and live_hidden of the objects in them */
    LIST_HEAD(, object) lists[NdkObjectTypeMax];
};

void live_list_init(struct live *live);
void live_list_insert(struct live *live, struct object *o);
/* Both also of an object that never entered. */
void live_list_hide(struct live *live, struct object *o);
void live_list_remove(struct live *live, struct object *o);

#endif
