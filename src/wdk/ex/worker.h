/* SPDX-License-Identifier: MIT */
/*
 * The pool of system worker threads.
 */
#ifndef WDK_WORKER_H
#define WDK_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"

#include "base/private_export.h"

/* What an item calls: copied as it leaves the queue, since from then on it can be queued again, or be gone. */
struct worker_call {
    PWORKER_THREAD_ROUTINE routine; /* one of these three, and what they are given */
    PIO_WORKITEM_ROUTINE io;
    PIO_WORKITEM_ROUTINE_EX io_ex;
    PVOID object, context;
    PIO_WORKITEM item;
};

struct worker_call worker_call_of(const WORK_QUEUE_ITEM *item);
const void *worker_call_routine(const struct worker_call *c);
void worker_call_run(const struct worker_call *c);

/* False: it is queued already. Otherwise `prepare`, unless NULL, is called first, while nobody can take the item. */
bool worker_queue(WORK_QUEUE_ITEM *item, void (*prepare)(void *context), void *context) PRIVATE_EXPORT(worker_queue);

/*
 * A routine of the kernel's own, whose end somebody waits for inside of it: what of it is left to do then is not the
 * driver's. A second time changes nothing; at most four.
 */
void worker_add_own(PWORKER_THREAD_ROUTINE routine) PRIVATE_EXPORT(worker_add_own);

/* Takes it out of the queue. False: it was not in it. */
bool worker_remove(WORK_QUEUE_ITEM *item);

/*
 * Waits until no Io work item runs a routine in this range: such an item keeps its driver loaded until the routine has
 * returned. The caller is no work item in the range.
 */
void worker_wait_io(const char *start, uint64_t size);

#endif
