/* SPDX-License-Identifier: MIT */
/*
 * Pools and lookaside lists.
 */
#ifndef ONDK_WDK_WDM_POOL_H
#define ONDK_WDK_WDM_POOL_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
