/* SPDX-License-Identifier: MIT */
/*
 * Device types and control codes, which wdm/io.h defines.
 */
#ifndef ONDK_WDK_DEVIOCTL_H
#define ONDK_WDK_DEVIOCTL_H

#include "wdm.h"

#endif
