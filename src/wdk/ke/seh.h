/* SPDX-License-Identifier: MIT */
/* Raises an exception in a kernel routine because the driver has called the routine wrongly. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * Raises the status as an exception for the driver's handler. If the driver has no handler and checks are off, causes a
 * bug check. If the driver has no handler and checks are on, returns, and the caller then reports the broken rule. The
 * caller must hold no lock.
 */
void seh_raise(NTSTATUS status);

#endif
