/* SPDX-License-Identifier: MIT */
/*
 * A user-mode header that drivers also include. Its base types are defined in ntdef.h.
 */
#ifndef ONDK_WDK_WINDEF_H
#define ONDK_WDK_WINDEF_H

#include "minwindef.h"

#endif
