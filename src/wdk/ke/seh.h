/* SPDX-License-Identifier: MIT */
/* Exceptions that a kernel routine raises because of a mistake of its caller. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * Raises status for the driver's handler. Without a handler it is a bug check while checks are off; while they are on
 * this returns, and the caller reports the broken rule. The caller holds no lock.
 */
void seh_raise(NTSTATUS status);

#endif
