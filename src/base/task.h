/* SPDX-License-Identifier: MIT */
/* A piece of work in a queue, or a callback: embedded in the object that it is about. */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include <stdatomic.h>

/*
 * The caller owns the memory, which stays in place until run is called. From then on it may be queued again, or freed.
 */
struct task {
    struct task *_Atomic next;
    void (*run)(struct task *task);
    atomic_uchar queued; /* the queue's: whether it is in it, if that matters */
};

#endif
