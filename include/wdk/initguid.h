/* SPDX-License-Identifier: MIT */
/*
 * In a file that includes this header, DEFINE_GUID not only declares but also defines a GUID.
 */
#ifndef ONDK_WDK_INITGUID_H
#define ONDK_WDK_INITGUID_H

#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"

#endif
