/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers include. It has no file system declarations; the others are in wdm.h.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

#endif
