/* SPDX-License-Identifier: MIT */
/* Implements the IoBuild... routines, with which a driver creates an IRP for another driver's device: see wdm/io.h. */
#include "wdm.h"

#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"

static void build_set_completion(PIRP irp, PKEVENT event, PIO_STATUS_BLOCK status)
{
    irp->UserEvent = event;
    irp->UserIosb = status;
    irp->Tail.Overlay.Thread = (struct _ETHREAD *)(void *)thread_self();
}

PIRP IoBuildDeviceIoControlRequest(ULONG IoControlCode, PDEVICE_OBJECT DeviceObject, PVOID InputBuffer,
                                   ULONG InputBufferLength, PVOID OutputBuffer, ULONG OutputBufferLength,
                                   BOOLEAN InternalDeviceIoControl, PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock)
{
    struct irp_buffers buffers = { InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength };
    PIRP irp;

    irql_check_max("IoBuildDeviceIoControlRequest", PASSIVE_LEVEL);
    irp = irp_build(DeviceObject, true);
    if (!irp)
        return NULL;
    IoGetNextIrpStackLocation(irp)->MajorFunction = InternalDeviceIoControl ? IRP_MJ_INTERNAL_DEVICE_CONTROL
                                                                            : IRP_MJ_DEVICE_CONTROL;
    build_set_completion(irp, Event, IoStatusBlock);
    return NT_SUCCESS(irp_set_control(irp, IoControlCode, &buffers)) ? irp : NULL;
}

static PIRP build_transfer(PIRP irp, ULONG major, PVOID buffer, ULONG length, PLARGE_INTEGER offset)
{
    bool write = major == IRP_MJ_WRITE, transfer = write || major == IRP_MJ_READ;
    struct irp_buffers buffers = { write ? buffer : NULL, write ? length : 0, write ? NULL : buffer,
                                   write ? 0 : length };

    if (!irp)
        return NULL;
    IoGetNextIrpStackLocation(irp)->MajorFunction = (UCHAR)major;
    if (transfer && !NT_SUCCESS(irp_set_transfer(irp, &buffers, offset ? offset->QuadPart : 0)))
        return NULL;
    return irp;
}

PIRP IoBuildSynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject, PVOID Buffer, ULONG Length,
                                  PLARGE_INTEGER StartingOffset, PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock)
{
    PIRP irp;

    irql_check_max("IoBuildSynchronousFsdRequest", PASSIVE_LEVEL);
    irp = build_transfer(irp_build(DeviceObject, true), MajorFunction, Buffer, Length, StartingOffset);
    if (irp)
        build_set_completion(irp, Event, IoStatusBlock);
    return irp;
}

PIRP IoBuildAsynchronousFsdRequest(ULONG MajorFunction, PDEVICE_OBJECT DeviceObject, PVOID Buffer, ULONG Length,
                                   PLARGE_INTEGER StartingOffset, PIO_STATUS_BLOCK IoStatusBlock)
{
    PIRP irp;

    irql_check_max("IoBuildAsynchronousFsdRequest", APC_LEVEL);
    irp = build_transfer(irp_build(DeviceObject, false), MajorFunction, Buffer, Length, StartingOffset);
    if (irp)
        build_set_completion(irp, NULL, IoStatusBlock);
    return irp;
}
