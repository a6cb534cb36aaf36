/* SPDX-License-Identifier: MIT */
/* Raises an exception in a kernel routine because the driver has called the routine wrongly. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * Raises the status as an exception for the driver's handler. If there is no handler, the exception is a bug check
 * while checks are off. While checks are on, the function returns instead, and the caller reports the broken rule. The
 * caller must hold no lock.
 */
void seh_raise(NTSTATUS status);

#endif
