/* SPDX-License-Identifier: MIT */
/*
 * The header that drivers include if they do not support Plug and Play.
 */
#ifndef ONDK_WDK_NTDDK_H
#define ONDK_WDK_NTDDK_H

#include "wdm.h"
#include "wdm/table.h"

#endif
