/* SPDX-License-Identifier: MIT */
/* The parts of queues (KQUEUE) that waits need. The caller of each function holds the dispatcher's lock. */
#ifndef WDK_QUEUE_H
#define WDK_QUEUE_H

#include "wdk/ke/wait.h"

/* Called when a thread that belongs to a queue begins a wait. Lets another thread of the queue run in its place. */
void queue_thread_waits(struct kernel_thread *t, struct wake_list *wake);

/* Removes the thread, which runs, from its queue. Does nothing if the thread belongs to none. */
void queue_remove_thread(struct kernel_thread *t, struct wake_list *wake);

#endif
