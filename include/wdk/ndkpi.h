/* SPDX-License-Identifier: MIT */
/*
 * The Network Direct Kernel provider interface for drivers.
 */
#ifndef ONDK_WDK_NDKPI_H
#define ONDK_WDK_NDKPI_H

#include "wdm.h"
#include "ws2def.h"

#include "../ndk/ndkpi.h"

#endif
