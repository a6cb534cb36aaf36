/* SPDX-License-Identifier: MIT */
/*
 * The deliveries of one object to its consumer. The invariant: a delivery is queued at most once, two of them never
 * overlap, and the object's end waits for one that runs.
 */
#ifndef FABRIC_IWARP_DELIVERY_H
#define FABRIC_IWARP_DELIVERY_H

#include <stdbool.h>

#include "base/spin.h"
#include "base/task.h"
#include "fabric/iwarp/adapter.h"

struct delivery {
    struct iwarp_shard *home;
    void (*deliver)(struct delivery *d); /* in callback context */
    void (*closed)(struct delivery *d);  /* called by the owner of the home shard */
    struct task task, close;
    struct spin lock; /* guards everything below */
    bool due, queued, running, closing;
};

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*deliver)(struct delivery *d),
                   void (*closed)(struct delivery *d));
void delivery_move(struct delivery *d, struct iwarp_shard *home); /* before the first delivery_add */
/* Causes a call of `deliver`, one for all additions before it begins. Any thread. */
void delivery_add(struct delivery *d);
/* Begins no new call of `deliver`, and calls `closed` when none runs. To be called after the last delivery_add. */
void delivery_close(struct delivery *d);

#endif
