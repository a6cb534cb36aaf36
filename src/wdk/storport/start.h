/* SPDX-License-Identifier: MIT */
/* When the port driver's adapters come and go. */
#ifndef ONDK_WDK_STORPORT_START_H
#define ONDK_WDK_STORPORT_START_H

#include <stdbool.h>

#include "wdm.h"

/* After DriverEntry: the adapter of a miniport. False: it did not start, and host_error has said why. */
bool storport_start(PDRIVER_OBJECT driver);

/* Before the driver is unloaded, and its devices are looked at: service requests are completed. */
void storport_before_remove(PDRIVER_OBJECT driver);

/* Stops the adapter and takes it away; the miniport is not called any more. PASSIVE_LEVEL. */
void storport_remove(PDRIVER_OBJECT driver);

#endif
