/* SPDX-License-Identifier: MIT */
/*
 * Doubly and singly linked lists, SLists.
 */
#ifndef ONDK_WDK_WDM_LIST_H
#define ONDK_WDK_WDM_LIST_H

#include "../ntdef.h"

EXTERN_C_START

EXTERN_C_END

#endif
