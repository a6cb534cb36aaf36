/* SPDX-License-Identifier: MIT */
/*
 * Timers and deferred procedure calls.
 */
#ifndef ONDK_WDK_WDM_TIMER_H
#define ONDK_WDK_WDM_TIMER_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
