/* SPDX-License-Identifier: MIT */
/*
 * The deliveries of one object to its consumer, for example the notifications of a CQ. Each delivery is a call of the
 * object's `deliver`. The invariant: a delivery is queued at most once, two deliveries never overlap, and the object
 * does not end while a delivery runs.
 */
#ifndef FABRIC_IWARP_DELIVERY_H
#define FABRIC_IWARP_DELIVERY_H

#include <stdbool.h>

#include "base/spin.h"
#include "base/task.h"
#include "fabric/iwarp/adapter.h"

struct delivery {
    struct iwarp_shard *home;
    void (*deliver)(struct delivery *d); /* called in callback context */
    void (*closed)(struct delivery *d);  /* called by the owner of the home shard */
    struct task task, close;
    struct spin lock; /* guards everything below */
    bool due, queued, running, closing;
};

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*deliver)(struct delivery *d),
                   void (*closed)(struct delivery *d));
void delivery_move(struct delivery *d, struct iwarp_shard *home); /* to be called before the first delivery_add */
/*
 * Causes a call of `deliver`. One call of `deliver` serves all calls of delivery_add that came before it began. Any
 * thread.
 */
void delivery_add(struct delivery *d);
/*
 * Prevents new calls of `deliver`. When no `deliver` runs any more, `closed` is called. Must follow the last
 * delivery_add.
 */
void delivery_close(struct delivery *d);

#endif
