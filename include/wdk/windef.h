/* SPDX-License-Identifier: MIT */
/*
 * The base types under the name that user-mode headers have: ntdef.h has them.
 */
#ifndef ONDK_WDK_WINDEF_H
#define ONDK_WDK_WINDEF_H

#include "ntdef.h"

#endif
