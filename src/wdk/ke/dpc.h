/* SPDX-License-Identifier: MIT */
/*
 * DPC queues, as timers use them.
 */
#ifndef WDK_DPC_H
#define WDK_DPC_H

#include "base/private_export.h"
#include "wdk/ke/wait.h"

/*
 * Under the dispatcher's lock. False: it is queued already. by: NULL for the kernel's own. After the lock is free:
 * dpc_start_threads.
 */
bool dpc_insert(KDPC *dpc, PVOID argument1, PVOID argument2, const struct stack *by, struct wake_list *wake);

/* Threads for queues that have got their first DPC. */
void dpc_start_threads(void);

/* KeFlushQueuedDpcs without the check. */
void dpc_flush(void) PRIVATE_EXPORT(dpc_flush);

#endif
