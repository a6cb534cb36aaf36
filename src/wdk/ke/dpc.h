/* SPDX-License-Identifier: MIT */
/*
 * DPC queues, as timers use them. The dispatcher's lock protects them.
 */
#ifndef WDK_DPC_H
#define WDK_DPC_H

#include "base/private_export.h"
#include "wdk/ke/wait.h"

/*
 * Returns false if the DPC is queued already. `by` is NULL for the kernel's own. The caller holds the dispatcher's lock
 * and calls dpc_start_threads after it has unlocked.
 */
bool dpc_insert(KDPC *dpc, PVOID argument1, PVOID argument2, const struct stack *by, struct wake_list *wake);

/* Starts the threads of queues that have received their first DPC. */
void dpc_start_threads(void);

/* KeFlushQueuedDpcs without the check. */
void dpc_flush(void) PRIVATE_EXPORT(dpc_flush);

#endif
