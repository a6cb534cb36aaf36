/* SPDX-License-Identifier: MIT */
/*
 * On Windows this header has identifiers of multimedia programs. Drivers that include it use only the GUID type.
 */
#ifndef ONDK_WDK_UUIDS_H
#define ONDK_WDK_UUIDS_H

#include "guiddef.h"

#endif
