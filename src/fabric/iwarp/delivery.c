/* SPDX-License-Identifier: MIT */
/*
 * Abstract: what an object has to tell its consumer. A delivery is queued at most once and runs on the object's shard,
 * whose callbacks never overlap; what falls due meanwhile makes the next one. The end waits for it.
 */
#include <stddef.h>

#include "fabric/iwarp/delivery.h"

static void run(struct task *task)
{
    struct delivery *d = (struct delivery *)((char *)task - offsetof(struct delivery, task));
    bool again, close;
    unsigned due;

    spin_lock(&d->lock);
    due = d->closing ? 0 : d->due;
    d->due = 0;
    d->queued = false;
    d->running = true;
    spin_unlock(&d->lock);
    if (due)
        d->tell(d, due);
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

static void run_close(struct task *task)
{
    struct delivery *d = (struct delivery *)((char *)task - offsetof(struct delivery, close));

    d->gone(d);
}

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*tell)(struct delivery *d, unsigned due),
                   void (*gone)(struct delivery *d))
{
    *d = (struct delivery){ .home = home, .tell = tell, .gone = gone, .task.run = run, .close.run = run_close };
    spin_init(&d->lock);
}

void delivery_move(struct delivery *d, struct iwarp_shard *home)
{
    spin_lock(&d->lock);
    d->home = home;
    spin_unlock(&d->lock);
}

void delivery_add(struct delivery *d, unsigned due)
{
    bool queue;

    spin_lock(&d->lock);
    d->due |= due;
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
