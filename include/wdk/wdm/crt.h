/* SPDX-License-Identifier: MIT */
/*
 * Memory and strings as a driver calls them.
 */
#ifndef ONDK_WDK_WDM_CRT_H
#define ONDK_WDK_WDM_CRT_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
