/* SPDX-License-Identifier: MIT */
/*
 * Functions that set and cancel timers without checks. A period is in units of 100 ns. `by` is the return address of
 * the call that sets the timer, for reports.
 */
#ifndef WDK_TIMER_H
#define WDK_TIMER_H

#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"

/* Sets the timer. Returns true if it was already set. */
bool timer_set(KTIMER *timer, LONGLONG due, LONGLONG period, KDPC *dpc, const void *by) PRIVATE_EXPORT(timer_set);

/* Cancels the timer. Returns true if it was set; it then does not expire. */
bool timer_cancel(KTIMER *timer) PRIVATE_EXPORT(timer_cancel);

#endif
