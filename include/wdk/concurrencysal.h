/* SPDX-License-Identifier: MIT */
/*
 * Source annotations of locks: sal.h has them all.
 */
#ifndef ONDK_WDK_CONCURRENCYSAL_H
#define ONDK_WDK_CONCURRENCYSAL_H

#include "sal.h"

#endif
