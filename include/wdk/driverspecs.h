/* SPDX-License-Identifier: MIT */
/*
 * Source annotations of drivers: sal.h has them all.
 */
#ifndef ONDK_WDK_DRIVERSPECS_H
#define ONDK_WDK_DRIVERSPECS_H

#include "sal.h"

#endif
