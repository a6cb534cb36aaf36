/* SPDX-License-Identifier: MIT */
/*
 * On Windows, identifiers of multimedia programs. What drivers that include it need of it is the GUID itself.
 */
#ifndef ONDK_WDK_UUIDS_H
#define ONDK_WDK_UUIDS_H

#include "guiddef.h"

#endif
