/* SPDX-License-Identifier: MIT */
/*
 * The header that file system drivers include. It declares only what wdm.h declares, and nothing of file systems.
 */
#ifndef ONDK_WDK_NTIFS_H
#define ONDK_WDK_NTIFS_H

#include "ntddk.h"

#endif
