/* SPDX-License-Identifier: MIT */
/*
 * The sized integer types (ULONG32, LONG_PTR...), which ntdef.h defines.
 */
#ifndef ONDK_WDK_BASETSD_H
#define ONDK_WDK_BASETSD_H

#include "ntdef.h"

#endif
