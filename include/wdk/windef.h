/* SPDX-License-Identifier: MIT */
/*
 * The base types under the name of a user-mode header; ntdef.h defines them.
 */
#ifndef ONDK_WDK_WINDEF_H
#define ONDK_WDK_WINDEF_H

#include "ntdef.h"

#endif
