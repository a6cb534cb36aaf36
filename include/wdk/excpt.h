/* SPDX-License-Identifier: MIT */
/*
 * Structured exception handling: wdm/seh.h has it, as MSVC has it built in.
 */
#ifndef ONDK_WDK_EXCPT_H
#define ONDK_WDK_EXCPT_H

#include "wdm/seh.h"

#endif
