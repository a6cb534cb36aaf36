/* SPDX-License-Identifier: MIT */
/*
 * The base types of miniport drivers. On Windows this header has a part of wdm.h, and drivers may include it instead of
 * wdm.h.
 */
#ifndef ONDK_WDK_MINIPORT_H
#define ONDK_WDK_MINIPORT_H

#include "wdm.h"

#endif
