/* SPDX-License-Identifier: MIT */
/*
 * Conversion between addresses and text, which wdm/rtl.h declares.
 */
#ifndef ONDK_WDK_IP2STRING_H
#define ONDK_WDK_IP2STRING_H

#include "mstcpip.h"
#include "wdm.h"

#endif
