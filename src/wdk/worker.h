/* SPDX-License-Identifier: MIT */
/*
 * The pool of system worker threads.
 */
#ifndef WDK_WORKER_H
#define WDK_WORKER_H

#include <stdbool.h>

#include "wdm.h"

/* False: it is queued already. */
bool worker_queue(WORK_QUEUE_ITEM *item);

/* Takes it out of the queue. False: it was not in it. */
bool worker_remove(WORK_QUEUE_ITEM *item);

bool worker_is_queued(const WORK_QUEUE_ITEM *item);

/* The driver's routine that the item is for. */
const void *worker_routine(const WORK_QUEUE_ITEM *item);

/* The worker says what it is calling now: who unloads the driver sees it. NULL: nothing of the driver's. */
void worker_runs(const void *routine);

#endif
