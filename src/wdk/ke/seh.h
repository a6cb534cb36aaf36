/* SPDX-License-Identifier: MIT */
/* Exceptions that a kernel routine raises because of a mistake of its caller. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * Raises the status as an exception for the driver's handler. Without a handler and with checks off, the exception is a
 * bug check. Without a handler and with checks on, the function returns, and the caller reports the broken rule. The
 * caller must hold no lock.
 */
void seh_raise(NTSTATUS status);

#endif
