/* SPDX-License-Identifier: MIT */
/*
 * Structured exception handling, which wdm/seh.h defines; MSVC has it built in.
 */
#ifndef ONDK_WDK_EXCPT_H
#define ONDK_WDK_EXCPT_H

#include "wdm/seh.h"

#endif
