/* SPDX-License-Identifier: MIT */
/*
 * After this header DEFINE_GUID defines the GUIDs that it names in the including file.
 */
#ifndef ONDK_WDK_INITGUID_H
#define ONDK_WDK_INITGUID_H

#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"

#endif
