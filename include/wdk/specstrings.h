/* SPDX-License-Identifier: MIT */
/*
 * Source annotations, which sal.h defines.
 */
#ifndef ONDK_WDK_SPECSTRINGS_H
#define ONDK_WDK_SPECSTRINGS_H

#include "sal.h"

#endif
