/* SPDX-License-Identifier: MIT */
/*
 * The base types of miniport drivers. On Windows this header has a part of wdm.h, and may be included instead of it.
 */
#ifndef ONDK_WDK_MINIPORT_H
#define ONDK_WDK_MINIPORT_H

#include "wdm.h"

#endif
