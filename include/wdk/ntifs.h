/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers include. It declares the same as wdm.h, but no routine for file systems.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

#endif
