/* SPDX-License-Identifier: MIT */
/*
 * Device types and control codes: wdm/io.h has them.
 */
#ifndef ONDK_WDK_DEVIOCTL_H
#define ONDK_WDK_DEVIOCTL_H

#include "wdm.h"

#endif
