/* SPDX-License-Identifier: MIT */
/* Exceptions that a routine of the kernel's raises because of what its caller did. */
#ifndef WDK_SEH_H
#define WDK_SEH_H

#include "wdm.h"

/*
 * The driver's handler gets it. Without one it is a bug check while checks are off; while they are on the call comes
 * back, for the caller to report which rule was broken. Nothing may be held.
 */
void seh_raise(NTSTATUS status);

#endif
