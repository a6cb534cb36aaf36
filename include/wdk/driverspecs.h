/* SPDX-License-Identifier: MIT */
/*
 * Annotations for drivers, which sal.h defines.
 */
#ifndef ONDK_WDK_DRIVERSPECS_H
#define ONDK_WDK_DRIVERSPECS_H

#include "sal.h"

#endif
