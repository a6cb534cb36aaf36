/* SPDX-License-Identifier: MIT */
/*
 * The objects of an adapter that lists show. One enters when it has been made and leaves first thing in its destroy, so
 * that what is in a list, while the lock is held, is there.
 *
 * Order of locks: this one, then an object's own. Nobody comes here with an object's lock held.
 */
#ifndef PROVIDER_LIVE_H
#define PROVIDER_LIVE_H

#include <sys/queue.h>

#include "base/spin.h"

struct object;

enum live_kind { LIVE_CONNECTORS, LIVE_LISTENERS, LIVE_ENDPOINTS, LIVE_KINDS };

/* Embedded in the object, zero while in no list. */
struct live_entry {
    LIST_ENTRY(live_entry) link;
    struct object *object;
};

struct live {
    struct spin lock; /* guards the lists */
    LIST_HEAD(, live_entry) lists[LIVE_KINDS];
};

void live_init(struct live *live);
void live_enter(struct live *live, enum live_kind kind, struct live_entry *entry, struct object *object);
void live_leave(struct live *live, struct live_entry *entry); /* one that never entered, too */

#endif
