/* SPDX-License-Identifier: MIT */
/* Records the I/O system's events (trace/wdk_events.h): a driver's entry and unload, and the IRPs that go to it. */
#ifndef WDK_IO_TRACE_H
#define WDK_IO_TRACE_H

#include "wdm.h"

#include "wdk/common/kernel_call.h"

/* Begins to record if ONDK_TRACE requests it. On failure, prints the reason to the stream of reports. */
void io_trace_start(void);

/* These functions call the driver's routine and record the call. */
NTSTATUS io_trace_driver_entry(PDRIVER_OBJECT driver, PUNICODE_STRING registry_path);
void io_trace_driver_unload(PDRIVER_OBJECT driver);

/*
 * Records that IoCallDriver begins. Requires the parameters to be in the IRP's current location. The caller passes the
 * result to kernel_call_return after the dispatch routine has returned.
 */
struct kernel_call io_trace_call_driver(PDEVICE_OBJECT device, PIRP irp);

#endif
