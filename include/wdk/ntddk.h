/* SPDX-License-Identifier: MIT */
/* The header that drivers without Plug and Play include. */
#ifndef ONDK_WDK_NTDDK_H
#define ONDK_WDK_NTDDK_H

#include "wdm.h"
#include "wdm/process.h"
#include "wdm/table.h"

#endif
