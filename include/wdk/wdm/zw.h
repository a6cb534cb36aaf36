/* SPDX-License-Identifier: MIT */
/*
 * The registry, files and handles.
 */
#ifndef ONDK_WDK_WDM_ZW_H
#define ONDK_WDK_WDM_ZW_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
