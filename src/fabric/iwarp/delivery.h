/* SPDX-License-Identifier: MIT */
/* Deliveries to a consumer: queued at most once, never overlapping, waited for by the object's end. */
#ifndef FABRIC_IWARP_DELIVERY_H
#define FABRIC_IWARP_DELIVERY_H

#include <stdbool.h>

#include "base/spin.h"
#include "base/task.h"
#include "fabric/iwarp/adapter.h"

struct delivery {
    struct iwarp_shard *home;
    void (*deliver)(struct delivery *d); /* callback context; never overlaps itself */
    void (*closed)(struct delivery *d);  /* owner */
    struct task task, close;
    struct spin lock;                    /* guards everything below */
    bool due, queued, running, closing;
};

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*deliver)(struct delivery *d),
                   void (*closed)(struct delivery *d));
void delivery_move(struct delivery *d, struct iwarp_shard *home); /* nothing has been added yet */
/* Any thread. Has `deliver` called; once for several that are added before it begins. */
void delivery_add(struct delivery *d);
/* No call of `deliver` begins from now on. When none runs, `closed` is called. No add is under way or follows. */
void delivery_close(struct delivery *d);

#endif
