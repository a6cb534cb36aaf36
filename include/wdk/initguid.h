/* SPDX-License-Identifier: MIT */
/*
 * From here on DEFINE_GUID defines what it names, in this file.
 */
#ifndef ONDK_WDK_INITGUID_H
#define ONDK_WDK_INITGUID_H

#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"

#endif
