/* SPDX-License-Identifier: MIT */
/* Records the I/O system's events: see io_trace.h. */
#include "wdk/io/io_trace.h"

#include <stdio.h>

#include "front/last_events.h"
#include "verify/report.h"

#define OBJECTS "\\Driver\\" /* the directory of drivers' names */

void io_trace_start(void)
{
    char problem[TRACE_MAX_PROBLEM];

    last_events_start();
    if (!trace_start(problem))
        fprintf(report_output(), "%s\n", problem);
}

/* Returns the driver's name without its directory. */
static struct trace_text16 io_trace_driver_name(const DRIVER_OBJECT *driver)
{
    const USHORT directory = (sizeof OBJECTS - 1) * sizeof(WCHAR);
    UNICODE_STRING name = driver->DriverName;

    if (name.Buffer && name.Length > directory) {
        name.Buffer += directory / sizeof(WCHAR);
        name.Length = (USHORT)(name.Length - directory);
    }
    return kernel_call_text(&name);
}

NTSTATUS io_trace_driver_entry(PDRIVER_OBJECT driver, PUNICODE_STRING registry_path)
{
    const struct kernel_call call = KERNEL_CALL(DriverEntry, .object = (uintptr_t)driver,
                                                .name = io_trace_driver_name(driver));

    return kernel_call_return(&call, driver->DriverInit(driver, registry_path));
}

void io_trace_driver_unload(PDRIVER_OBJECT driver)
{
    const struct kernel_call call = KERNEL_CALL(DriverUnload, .object = (uintptr_t)driver,
                                                .name = io_trace_driver_name(driver));

    driver->DriverUnload(driver);
    kernel_call_done(&call);
}

/* The fields of the event IoCallDriver that come from the IRP's current location. */
struct io_trace_parameters {
    ULONG code, in, out;
    int64_t offset;
};

static struct io_trace_parameters io_trace_get_parameters(const IO_STACK_LOCATION *at)
{
    switch (at->MajorFunction) {
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return (struct io_trace_parameters){ .code = at->Parameters.DeviceIoControl.IoControlCode,
                                             .in = at->Parameters.DeviceIoControl.InputBufferLength,
                                             .out = at->Parameters.DeviceIoControl.OutputBufferLength };
    case IRP_MJ_READ:
        return (struct io_trace_parameters){ .out = at->Parameters.Read.Length,
                                             .offset = at->Parameters.Read.ByteOffset.QuadPart };
    case IRP_MJ_WRITE:
        return (struct io_trace_parameters){ .in = at->Parameters.Write.Length,
                                             .offset = at->Parameters.Write.ByteOffset.QuadPart };
    default:
        return (struct io_trace_parameters){ 0 };
    }
}

struct kernel_call io_trace_call_driver(PDEVICE_OBJECT device, PIRP irp)
{
    const IO_STACK_LOCATION *at = IoGetCurrentIrpStackLocation(irp);
    const struct io_trace_parameters p = io_trace_get_parameters(at);

    return KERNEL_CALL(IoCallDriver, .object = (uintptr_t)irp, .device = (uintptr_t)device,
                       .driver = io_trace_driver_name(device->DriverObject), .major = at->MajorFunction,
                       .minor = at->MinorFunction, .code = p.code, .in = p.in, .out = p.out,
                       .offset = (uint64_t)p.offset, .mode = (uint8_t)irp->RequestorMode);
}
