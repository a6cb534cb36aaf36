/* SPDX-License-Identifier: MIT */
/* Exceptions that a kernel routine raises because of a mistake of its caller. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * Raises the status as an exception for the driver's handler. If there is no handler, this is a bug check while checks
 * are off. While checks are on, the function returns, and the caller reports the broken rule. The caller must hold no
 * lock.
 */
void seh_raise(NTSTATUS status);

#endif
