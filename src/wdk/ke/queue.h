/* SPDX-License-Identifier: MIT */
/* The parts of queues (KQUEUE) that waits and the ends of a driver's routines need. */
#ifndef WDK_QUEUE_H
#define WDK_QUEUE_H

#include "wdk/ke/wait.h"

/*
 * Called when a thread that belongs to a queue begins a wait. Lets another thread of the queue run in its place. The
 * caller holds the dispatcher's lock.
 */
void queue_thread_waits(struct kernel_thread *t, struct wake_list *wake);

/*
 * Removes the thread, which runs, from its queue. Does nothing if the thread belongs to none. The caller holds the
 * dispatcher's lock.
 */
void queue_remove_thread(struct kernel_thread *t, struct wake_list *wake);

/* Removes the calling thread from its queue, if it belongs to one. */
void queue_remove_self(void);

#endif
