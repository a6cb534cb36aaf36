/* SPDX-License-Identifier: MIT */
/* Notifies drivers of the process. */
#ifndef WDK_PROCESS_H
#define WDK_PROCESS_H

#include "ntdef.h"

/*
 * Notifies the registered routines that the host program begins, if they are not yet notified. Returns the failure that
 * a routine has set, which the program's open must return.
 */
NTSTATUS process_begin(void);

/* Notifies the registered routines that the host program exits, if they are notified that it has begun. */
void process_exit(void);

#endif
