/* SPDX-License-Identifier: MIT */
/* In a file that includes this header, DEFINE_GUID also defines the GUID that it declares. */
#ifndef ONDK_WDK_INITGUID_H
#define ONDK_WDK_INITGUID_H

#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"

#endif
