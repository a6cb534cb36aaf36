/* SPDX-License-Identifier: MIT */
/*
 * Calls an object's function `deliver` on the object's shard, in callback context. Calls for one object never overlap.
 * The invariant: if delivery_add is called while `deliver` runs, `deliver` runs once more afterwards. If a delivery is
 * queued or running when delivery_close is called, delivery_run posts the task `close`. Otherwise delivery_close posts
 * it.
 */
#include <stddef.h>

#include "fabric/iwarp/delivery.h"

static void delivery_run(struct task *task)
{
    struct delivery *d = (struct delivery *)((char *)task - offsetof(struct delivery, task));
    bool due, again, close;

    spin_lock(&d->lock);
    due = d->due && !d->closing;
    d->due = false;
    d->queued = false;
    d->running = true;
    spin_unlock(&d->lock);
    if (due)
        d->deliver(d);
    spin_lock(&d->lock);
    d->running = false;
    close = d->closing;
    again = !close && d->due;
    d->queued = again;
    spin_unlock(&d->lock);
    if (again)
        shard_call(d->home->shard, &d->task);
    if (close)
        shard_post(d->home->shard, &d->close);
}

static void delivery_run_close(struct task *task)
{
    struct delivery *d = (struct delivery *)((char *)task - offsetof(struct delivery, close));

    d->closed(d);
}

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*deliver)(struct delivery *d),
                   void (*closed)(struct delivery *d))
{
    *d = (struct delivery){ .home = home, .deliver = deliver, .closed = closed };
    d->task.run = delivery_run;
    d->close.run = delivery_run_close;
    spin_init(&d->lock);
}

void delivery_move(struct delivery *d, struct iwarp_shard *home)
{
    spin_lock(&d->lock);
    d->home = home;
    spin_unlock(&d->lock);
}

void delivery_add(struct delivery *d)
{
    bool queue;

    spin_lock(&d->lock);
    d->due = true;
    queue = !d->queued && !d->running && !d->closing;
    d->queued = d->queued || queue;
    spin_unlock(&d->lock);
    if (queue)
        shard_call(d->home->shard, &d->task);
}

void delivery_close(struct delivery *d)
{
    bool busy;

    spin_lock(&d->lock);
    d->closing = true;
    busy = d->queued || d->running;
    spin_unlock(&d->lock);
    if (!busy)
        shard_post(d->home->shard, &d->close);
}
