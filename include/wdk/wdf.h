/* SPDX-License-Identifier: MIT */
/*
 * KMDF as far as drivers without hardware need it. A control driver calls WdfDriverCreate with
 * WdfDriverInitNonPnpDriver, and creates control devices with queues. A driver with EvtDriverDeviceAdd gets one device
 * (pnp.h). Other devices, power policy, interrupts, DMA and USB are missing. Objects that are left at unload are
 * listed. docs/threads.md has the object tree, the locks, and the thread and IRQL of each callback.
 */
#ifndef ONDK_WDK_WDF_H
#define ONDK_WDK_WDF_H

#include "wdm.h"
#include "wdmsec.h"
#include "wdf/object.h"
#include "wdf/driver.h"
#include "wdf/sync.h"
#include "wdf/memory.h"
#include "wdf/device.h"
#include "wdf/pnp.h"
#include "wdf/request.h"
#include "wdf/io.h"
#include "wdf/iotarget.h"
#include "wdf/registry.h"

#endif
