/* SPDX-License-Identifier: MIT */
/*
 * Annotations about locks. sal.h defines them.
 */
#ifndef ONDK_WDK_CONCURRENCYSAL_H
#define ONDK_WDK_CONCURRENCYSAL_H

#include "sal.h"

#endif
