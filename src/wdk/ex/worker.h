/* SPDX-License-Identifier: MIT */
/* The queue of work items and the system worker threads that run them. */
#ifndef WDK_WORKER_H
#define WDK_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "wdm.h"

#include "base/private_export.h"

/*
 * The call that an item requests. A worker copies the call when it removes the item from the queue. From then on, the
 * driver may queue the item again or free it.
 */
struct worker_call {
    PWORKER_THREAD_ROUTINE routine; /* exactly one of routine, io and io_ex is set */
    PIO_WORKITEM_ROUTINE io;
    PIO_WORKITEM_ROUTINE_EX io_ex;
    PVOID object, context; /* io and io_ex receive object and context; routine receives only context */
    PIO_WORKITEM item;
};

/* Returns a copy of the call that the item requests. */
struct worker_call worker_call_of(const WORK_QUEUE_ITEM *item);
/* Returns the address of the driver's routine, for reports. */
const void *worker_call_routine(const struct worker_call *c);
/* Calls the driver's routine. Afterwards drops the reference that an IO_WORKITEM has acquired on the object. */
void worker_call_run(const struct worker_call *c);

/*
 * Queues the item. Returns false if it is already queued. If `prepare` is not NULL, calls prepare(context) before a
 * worker can remove the item.
 */
bool worker_queue(WORK_QUEUE_ITEM *item, void (*prepare)(void *context), void *context) PRIVATE_EXPORT(worker_queue);

/*
 * Registers a routine of the kernel's own work items, so that live.h does not report the routine as running. The
 * routine must call the driver, and then signal the thread that waits for that call. The routine may still run when the
 * driver is unloaded. This does no harm, because the routine then no longer uses the driver. At most eight routines can
 * be registered. Idempotent.
 */
void worker_add_own_routine(PWORKER_THREAD_ROUTINE routine) PRIVATE_EXPORT(worker_add_own_routine);

/* Removes the item from the queue. Returns false if it was not queued. */
bool worker_remove(WORK_QUEUE_ITEM *item) PRIVATE_EXPORT(worker_remove);

/*
 * Waits until no worker runs an Io work item whose routine is in [start, start + size), the driver's module. The driver
 * must stay loaded until then. The routine of an Io work item must not call this function, because it would wait for
 * itself.
 */
void worker_wait_io(const char *start, uint64_t size);

#endif
