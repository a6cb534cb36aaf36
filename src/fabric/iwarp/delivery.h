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
    void (*tell)(struct delivery *d, unsigned due); /* callback context; never overlaps itself */
    void (*gone)(struct delivery *d);               /* owner */
    struct task task, close;
    struct spin lock;                               /* guards everything below */
    unsigned due;
    bool queued, running, closing;
};

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*tell)(struct delivery *d, unsigned due),
                   void (*gone)(struct delivery *d));
void delivery_move(struct delivery *d, struct iwarp_shard *home); /* nothing has been added yet */
void delivery_add(struct delivery *d, unsigned due); /* bits, which are told together; any thread */
/* Nothing is told from now on but what is being told; then gone, in owner context. No add is under way or follows. */
void delivery_close(struct delivery *d);

#endif
