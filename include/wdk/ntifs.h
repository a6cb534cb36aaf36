/* SPDX-License-Identifier: MIT */
/*
 * What file system drivers include. Nothing of file systems is here; what other drivers take from it is in wdm.h.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

#endif
