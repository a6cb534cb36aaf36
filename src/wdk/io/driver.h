/* SPDX-License-Identifier: MIT */
/* Loaded drivers. */
#ifndef ONDK_WDK_DRIVER_H
#define ONDK_WDK_DRIVER_H

#include <stdbool.h>

#include "wdm.h"

/*
 * Runs routine(context) at PASSIVE_LEVEL on a thread of its own, as the system calls drivers, and waits for its end.
 */
bool driver_call(void (*routine)(void *context), void *context);

/* What every entry of MajorFunction is until the driver puts its own there. */
DRIVER_DISPATCH driver_invalid_request;

#endif
