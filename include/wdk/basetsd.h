/* SPDX-License-Identifier: MIT */
/*
 * Integers as wide as their names say: ntdef.h has them.
 */
#ifndef ONDK_WDK_BASETSD_H
#define ONDK_WDK_BASETSD_H

#include "ntdef.h"

#endif
