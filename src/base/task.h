/* SPDX-License-Identifier: MIT */
/*
 * A piece of work in a queue, or a callback, embedded in the object that it concerns. The invariant: a queued task is
 * not moved or freed before `run` is called. From then on, the task may be queued again or freed.
 */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include <stdatomic.h>

struct task {
    struct task *_Atomic next;
    void (*run)(struct task *task);
    atomic_uchar queued; /* not 0 while shard_post_once, shard_post_lazy or shard_enqueue has queued the task */
};

#endif
