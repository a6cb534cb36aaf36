/* SPDX-License-Identifier: MIT */
/*
 * The provider's adapters that are open, one for each interface and version, however often drivers open it: a connector
 * that came with one open of an interface may be accepted with a QP made with another, as on an RNIC.
 */
#ifndef ONDK_WDK_ADAPTERS_H
#define ONDK_WDK_ADAPTERS_H

#include <stdint.h>

#include "wdm.h"
#include "ndkpi.h"

/* if_index is the host's. Statuses of ondk_open_adapter. */
NTSTATUS adapters_open(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
enum adapters_closed { ADAPTERS_UNKNOWN, ADAPTERS_STILL_OPEN, ADAPTERS_CLOSED };
/* Once for each open; the last blocks as ondk_close_adapter does. Unknown: it is not open (any more). */
enum adapters_closed adapters_close(NDK_ADAPTER *adapter);

#endif
