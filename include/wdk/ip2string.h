/* SPDX-License-Identifier: MIT */
/*
 * Addresses as text and back: wdm/rtl.h has the routines.
 */
#ifndef ONDK_WDK_IP2STRING_H
#define ONDK_WDK_IP2STRING_H

#include "mstcpip.h"
#include "wdm.h"

#endif
