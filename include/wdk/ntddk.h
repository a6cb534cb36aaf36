/* SPDX-License-Identifier: MIT */
/*
 * What non-PnP drivers include.
 */
#ifndef ONDK_WDK_NTDDK_H
#define ONDK_WDK_NTDDK_H

#include "wdm.h"

#endif
