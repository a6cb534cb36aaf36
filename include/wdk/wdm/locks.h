/* SPDX-License-Identifier: MIT */
/*
 * Spin locks, fast and guarded mutexes, push locks, ERESOURCE, rundown protection.
 */
#ifndef ONDK_WDK_WDM_LOCKS_H
#define ONDK_WDK_WDM_LOCKS_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
