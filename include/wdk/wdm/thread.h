/* SPDX-License-Identifier: MIT */
/*
 * System threads, processors, time.
 */
#ifndef ONDK_WDK_WDM_THREAD_H
#define ONDK_WDK_WDM_THREAD_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
