/* SPDX-License-Identifier: MIT */
/*
 * Declares deliveries. A delivery is a call of an object's function `deliver`, which calls the consumer, for example to
 * notify the consumer of a CQ. The invariant: an object has at most one queued delivery, two deliveries of an object
 * never overlap, and the object does not end while a delivery runs.
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
/* Changes the home shard. Not allowed after the first delivery_add. */
void delivery_move(struct delivery *d, struct iwarp_shard *home);
/*
 * Causes a call of `deliver`. A single call of `deliver` serves all calls of delivery_add that were made before the
 * call of `deliver` began. Any thread may call this function.
 */
void delivery_add(struct delivery *d);
/*
 * Prevents new calls of `deliver`. After the last `deliver` has returned, calls `closed`. delivery_add must not be
 * called after delivery_close.
 */
void delivery_close(struct delivery *d);

#endif
