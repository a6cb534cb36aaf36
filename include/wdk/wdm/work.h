/* SPDX-License-Identifier: MIT */
/*
 * Work items.
 */
#ifndef ONDK_WDK_WDM_WORK_H
#define ONDK_WDK_WDM_WORK_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
