/* SPDX-License-Identifier: MIT */
/* Functions that are called when a thread of a queue (KQUEUE) begins or ends a wait, or leaves the queue. */
#ifndef WDK_QUEUE_H
#define WDK_QUEUE_H

#include "wdk/ke/wait.h"

/*
 * Called when a thread that belongs to a queue begins a wait. Lets another thread of the queue run in its place. The
 * caller holds the dispatcher's lock.
 */
void queue_thread_waits(struct kernel_thread *t, struct wake_list *wake);

/* Removes a running thread from its queue, if it belongs to one. The caller holds the dispatcher's lock. */
void queue_remove_thread(struct kernel_thread *t, struct wake_list *wake);

/* Removes the calling thread from its queue, if it belongs to one. */
void queue_remove_self(void);

/*
 * A wait that does not use wait.c begins with queue_begin_wait and ends with queue_end_wait. During the wait, another
 * thread of the queue may run. Both functions do nothing if the calling thread belongs to no queue.
 */
void queue_begin_wait(void);
void queue_end_wait(void);

#endif
