/* SPDX-License-Identifier: MIT */
/* A filter above the device of controls.c: passes every request down and counts the completions. */
#include <wdm.h>

#include "controls.h"

struct counts {
    UCHAR completed, pending, shutdowns;
};

static PDEVICE_OBJECT filter, below;
static struct counts *counts; /* the driver object's extension */

static NTSTATUS completed(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct counts *c = context;

    if (device != filter)
        return STATUS_SUCCESS; /* not counted: the test sees it */
    if (irp->PendingReturned)
        IoMarkIrpPending(irp);
    __atomic_fetch_add(&c->completed, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->pending, irp->PendingReturned, __ATOMIC_SEQ_CST);
    return STATUS_SUCCESS;
}

static NTSTATUS end(PIRP irp, ULONG_PTR information)
{
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

/* Requests may be completed by other threads at this moment. */
static NTSTATUS return_counts(PIRP irp)
{
    struct counts *out = irp->AssociatedIrp.SystemBuffer;

    out->completed = __atomic_load_n(&counts->completed, __ATOMIC_SEQ_CST);
    out->pending = __atomic_load_n(&counts->pending, __ATOMIC_SEQ_CST);
    out->shutdowns = counts->shutdowns;
    return end(irp, sizeof *out);
}

static NTSTATUS pass(PDEVICE_OBJECT device, PIRP irp)
{
    PIO_STACK_LOCATION at = IoGetCurrentIrpStackLocation(irp);

    UNREFERENCED_PARAMETER(device);
    if (at->MajorFunction == IRP_MJ_SHUTDOWN)
        counts->shutdowns++;
    if (at->MajorFunction == IRP_MJ_DEVICE_CONTROL &&
        at->Parameters.DeviceIoControl.IoControlCode == CONTROL(FILTER_COUNTS, 0))
        return return_counts(irp);
    if (at->MajorFunction == IRP_MJ_CLEANUP) { /* without a place of its own */
        IoSkipCurrentIrpStackLocation(irp);
        return IoCallDriver(below, irp);
    }
    IoCopyCurrentIrpStackLocationToNext(irp);
    IoSetCompletionRoutine(irp, completed, counts, TRUE, TRUE, TRUE);
    return IoCallDriver(below, irp);
}

static void unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    IoDetachDevice(below);
    IoDeleteDevice(filter); /* still registered for shutdown, which ends with the device */
}

/* The extension exists once, under its key. */
static NTSTATUS make_counts(PDRIVER_OBJECT driver)
{
    PVOID again;
    NTSTATUS status = IoAllocateDriverObjectExtension(driver, (PVOID)unload, sizeof *counts, (PVOID *)&counts);

    if (!NT_SUCCESS(status))
        return status;
    if (IoGetDriverObjectExtension(driver, (PVOID)unload) != counts ||
        IoGetDriverObjectExtension(driver, (PVOID)pass) ||
        IoAllocateDriverObjectExtension(driver, (PVOID)unload, 1, &again) != STATUS_OBJECT_NAME_COLLISION)
        return STATUS_INTERNAL_ERROR;
    return STATUS_SUCCESS;
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNICODE_STRING target = RTL_CONSTANT_STRING(L"\\DosDevices\\Controls");
    NTSTATUS status = make_counts(driver);

    UNREFERENCED_PARAMETER(path);
    if (!NT_SUCCESS(status))
        return status;
    status = IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &filter);
    if (!NT_SUCCESS(status))
        return status;
    status = IoAttachDevice(filter, &target, &below);
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(filter);
        return status;
    }
    if (filter->StackSize != below->StackSize + 1 || IoGetAttachedDevice(below) != filter ||
        IoGetAttachedDeviceReference(below) != filter)
        return STATUS_INTERNAL_ERROR;
    ObDereferenceObject(filter);
    filter->Flags |= below->Flags & DO_BUFFERED_IO;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        driver->MajorFunction[i] = pass;
    driver->DriverUnload = unload;
    return IoRegisterShutdownNotification(filter);
}
