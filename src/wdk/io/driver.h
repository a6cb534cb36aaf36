/* SPDX-License-Identifier: MIT */
/* Loaded drivers. */
#ifndef ONDK_WDK_DRIVER_H
#define ONDK_WDK_DRIVER_H

#include <stdbool.h>

#include "wdm.h"

/*
 * Keeps the sentence that ondk_wdk_error gives, for the calling thread. Returns -1, what the host's call then returns.
 */
__attribute__((format(printf, 1, 2)))
int driver_error(const char *text, ...);

/*
 * Runs routine(context) at PASSIVE_LEVEL on a thread of its own, as the system calls drivers, and waits for its end.
 */
bool driver_call(void (*routine)(void *context), void *context);

/* What every entry of MajorFunction is until the driver puts its own there. */
DRIVER_DISPATCH driver_invalid_request;

#endif
