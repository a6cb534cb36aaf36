/* SPDX-License-Identifier: MIT */
/*
 * Source annotations: sal.h has them all.
 */
#ifndef ONDK_WDK_SPECSTRINGS_H
#define ONDK_WDK_SPECSTRINGS_H

#include "sal.h"

#endif
