/* SPDX-License-Identifier: MIT */
/*
 * Debug output, assertions, bug checks.
 */
#ifndef ONDK_WDK_WDM_DEBUG_H
#define ONDK_WDK_WDM_DEBUG_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
