/* SPDX-License-Identifier: MIT */
/*
 * Cancel-safe queues. Older kits had them in a header of their own.
 */
#ifndef ONDK_WDK_CSQ_H
#define ONDK_WDK_CSQ_H

#include "wdm.h"

#endif
