/* SPDX-License-Identifier: MIT */
/*
 * Setting and cancelling timers without checks; a period is in units of 100 ns; by: who it is said to have been set by.
 */
#ifndef WDK_TIMER_H
#define WDK_TIMER_H

#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"

/* True: it was set already. */
bool timer_set(KTIMER *timer, LONGLONG due, LONGLONG period, KDPC *dpc, const void *by) PRIVATE_EXPORT(timer_set);

/* True: it was set, and will not expire. */
bool timer_cancel(KTIMER *timer) PRIVATE_EXPORT(timer_cancel);

#endif
