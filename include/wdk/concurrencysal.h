/* SPDX-License-Identifier: MIT */
/*
 * Annotations about locks, which sal.h defines.
 */
#ifndef ONDK_WDK_CONCURRENCYSAL_H
#define ONDK_WDK_CONCURRENCYSAL_H

#include "sal.h"

#endif
