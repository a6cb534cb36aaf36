/* SPDX-License-Identifier: MIT */
/* DPC queues, for timers and KeFlushQueuedDpcs. The dispatcher's lock protects the queues. */
#ifndef WDK_DPC_H
#define WDK_DPC_H

#include "base/private_export.h"
#include "wdk/ke/wait.h"

/*
 * Queues a DPC. Adds to *wake the threads that dispatch_unlock must wake. `by` is the stack of the driver's call, or
 * NULL for a DPC of the kernel itself. Returns false if the DPC is already queued. Requires the dispatcher's lock.
 * After dispatch_unlock the caller must call dpc_start_threads.
 */
bool dpc_insert(KDPC *dpc, PVOID argument1, PVOID argument2, const struct stack *by, struct wake_list *wake);

/* Starts the threads of those queues that have received their first DPC. */
void dpc_start_threads(void);

/* Works like KeFlushQueuedDpcs, without the IRQL check. */
void dpc_flush(void) PRIVATE_EXPORT(dpc_flush);

#endif
