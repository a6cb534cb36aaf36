/* SPDX-License-Identifier: MIT */
/*
 * A user-mode header that drivers also include. Its base types are defined in ntdef.h. WINAPI is defined only here,
 * because headers that drivers share with programs ask for it to find out for which of them they are compiled.
 */
#ifndef ONDK_WDK_MINWINDEF_H
#define ONDK_WDK_MINWINDEF_H

#include "ntdef.h"

#define WINAPI
#define WINAPIV
#define CALLBACK
#define APIENTRY

#endif
