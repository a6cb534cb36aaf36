/* SPDX-License-Identifier: MIT */
/*
 * The header that drivers without plug and play include.
 */
#ifndef ONDK_WDK_NTDDK_H
#define ONDK_WDK_NTDDK_H

#include "wdm.h"

#endif
