/* SPDX-License-Identifier: MIT */
/*
 * Rtl routines: strings, GUIDs, numbers, bitmaps, versions.
 */
#ifndef ONDK_WDK_WDM_RTL_H
#define ONDK_WDK_WDM_RTL_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
