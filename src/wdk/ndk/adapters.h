/* SPDX-License-Identifier: MIT */
/*
 * The list of the provider's open adapters. All drivers that open an interface with the same NDK version share one
 * adapter. Therefore a driver may accept a connector with a QP that another driver has created, as on an RNIC.
 */
#ifndef ONDK_WDK_ADAPTERS_H
#define ONDK_WDK_ADAPTERS_H

#include <stdint.h>

#include "wdm.h"
#include "ndkpi.h"

/* Opens the adapter of the host's interface `if_index`. Returns the provider's status. */
NTSTATUS adapters_open(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
enum adapters_closed { ADAPTERS_UNKNOWN, ADAPTERS_STILL_OPEN, ADAPTERS_CLOSED };
/*
 * Undoes one adapters_open of the adapter. If no adapters_open remains, closes the adapter, and blocks as
 * ondk_close_adapter does.
 */
enum adapters_closed adapters_close(NDK_ADAPTER *adapter);

#endif
