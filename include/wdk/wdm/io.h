/* SPDX-License-Identifier: MIT */
/*
 * Drivers, devices, IRPs, files.
 */
#ifndef ONDK_WDK_WDM_IO_H
#define ONDK_WDK_WDM_IO_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
