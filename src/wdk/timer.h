/* SPDX-License-Identifier: MIT */
/*
 * Setting a timer without checks, its period in units of 100 ns; by: who it is said to have been set by.
 */
#ifndef WDK_TIMER_H
#define WDK_TIMER_H

#include <stdbool.h>

#include "wdm.h"

/* True: it was set already. */
bool timer_set(KTIMER *timer, LONGLONG due, LONGLONG period, KDPC *dpc, const void *by);

#endif
