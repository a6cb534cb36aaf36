/* SPDX-License-Identifier: MIT */
/*
 * Interlocked operations.
 */
#ifndef ONDK_WDK_WDM_INTERLOCKED_H
#define ONDK_WDK_WDM_INTERLOCKED_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
