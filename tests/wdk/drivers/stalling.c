/* SPDX-License-Identifier: MIT */
/*
 * A device whose requests stay with the driver. The lock guards Current, the one request that the driver has. A thread
 * that takes the request from there, under the lock and with IoSetCancelRoutine, completes it. IoCancelIrp has done
 * this exchange before it calls the cancel routine.
 */
#include <ntddk.h>

#include "stalling.h"

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD StallingUnload;
static DRIVER_DISPATCH StallingOpen, StallingControl;
static DRIVER_CANCEL StallingCancel;
static KSTART_ROUTINE StallingRival;

static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\Stalling");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\Stalling");
static KSPIN_LOCK Lock;
static PIRP Current;
static KEVENT Arrived, Cancelling, Tried, Released, CancelReleased;
static volatile LONG Ends;
static PVOID Rival;

static NTSTATUS StallingEnd(PIRP Irp, NTSTATUS Status)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = 0;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static VOID StallingWait(PKEVENT Event)
{
    (VOID)KeWaitForSingleObject(Event, Executive, KernelMode, FALSE, NULL);
}

static BOOLEAN StallingIsCancelled(PIRP Irp)
{
    return __atomic_load_n(&Irp->Cancel, __ATOMIC_SEQ_CST);
}

static ULONG StallingFunction(PIRP Irp)
{
    return IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode >> 2 & 0xfff;
}

/* Returns the function of Current, or 0. */
static ULONG StallingCurrentFunction(VOID)
{
    ULONG function;
    KIRQL irql;

    KeAcquireSpinLock(&Lock, &irql);
    function = Current ? StallingFunction(Current) : 0;
    KeReleaseSpinLock(&Lock, irql);
    return function;
}

/* Takes the request from the cancel routine. Returns NULL if there is none, or if it is being cancelled. */
static PIRP StallingTake(VOID)
{
    PIRP irp;
    KIRQL irql;

    KeAcquireSpinLock(&Lock, &irql);
    irp = Current;
    if (irp && StallingFunction(irp) == STALL_MEETING)
        while (!StallingIsCancelled(irp)) /* under the lock, so that it is not completed meanwhile */
            YieldProcessor();
    if (irp && StallingFunction(irp) != STALL_DEAF && !IoSetCancelRoutine(irp, NULL))
        irp = NULL;
    if (irp)
        Current = NULL;
    KeReleaseSpinLock(&Lock, irql);
    return irp;
}

static VOID StallingCancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG function = StallingFunction(Irp);
    KIRQL irql;

    UNREFERENCED_PARAMETER(Device);
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    if (function == STALL_CANCELLED_FIRST) {
        KeSetEvent(&Cancelling, IO_NO_INCREMENT, FALSE);
        StallingWait(&Tried);
    }
    KeAcquireSpinLock(&Lock, &irql);
    Current = NULL;
    KeReleaseSpinLock(&Lock, irql);
    StallingEnd(Irp, STATUS_CANCELLED);
    if (function == STALL_CANCEL_STAYS)
        StallingWait(&CancelReleased);
}

/* Competes with the cancel routine for each request of the three functions that name it. */
static VOID StallingRival(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    for (StallingWait(&Arrived); !ReadAcquire(&Ends); StallingWait(&Arrived)) {
        ULONG function = StallingCurrentFunction();
        PIRP irp;

        if (function == STALL_CANCELLED_FIRST)
            StallingWait(&Cancelling);
        irp = StallingTake();
        while (irp && !StallingIsCancelled(irp))
            YieldProcessor();
        if (irp)
            StallingEnd(irp, STATUS_SUCCESS);
        if (function == STALL_CANCELLED_FIRST)
            KeSetEvent(&Tried, IO_NO_INCREMENT, FALSE);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static NTSTATUS StallingPend(PIRP Irp)
{
    ULONG function = StallingFunction(Irp);
    BOOLEAN cancelled = FALSE;
    KIRQL irql;

    IoMarkIrpPending(Irp);
    KeAcquireSpinLock(&Lock, &irql);
    Current = Irp;
    if (function != STALL_DEAF) {
        (VOID)IoSetCancelRoutine(Irp, StallingCancel);
        cancelled = StallingIsCancelled(Irp) && IoSetCancelRoutine(Irp, NULL);
    }
    if (cancelled)
        Current = NULL;
    KeReleaseSpinLock(&Lock, irql);
    if (cancelled)
        StallingEnd(Irp, STATUS_CANCELLED);
    else if (function >= STALL_COMPLETED_FIRST && function <= STALL_MEETING)
        KeSetEvent(&Arrived, IO_NO_INCREMENT, FALSE);
    return STATUS_PENDING;
}

static NTSTATUS StallingRelease(PIRP Irp)
{
    PIRP taken = StallingTake();

    if (taken)
        StallingEnd(taken, STATUS_SUCCESS);
    else
        KeSetEvent(&Released, IO_NO_INCREMENT, FALSE);
    return StallingEnd(Irp, STATUS_SUCCESS);
}

static NTSTATUS StallingControl(PDEVICE_OBJECT Device, PIRP Irp)
{
    UNREFERENCED_PARAMETER(Device);
    switch (StallingFunction(Irp)) {
    case STALL_INSIDE:
        StallingWait(&Released);
        return StallingEnd(Irp, STATUS_SUCCESS);
    case STALL_RELEASE:
        return StallingRelease(Irp);
    case STALL_RELEASE_CANCEL:
        KeSetEvent(&CancelReleased, IO_NO_INCREMENT, FALSE);
        return StallingEnd(Irp, STATUS_SUCCESS);
    default:
        return StallingPend(Irp);
    }
}

static NTSTATUS StallingOpen(PDEVICE_OBJECT Device, PIRP Irp)
{
    UNREFERENCED_PARAMETER(Device);
    return StallingEnd(Irp, STATUS_SUCCESS);
}

static VOID StallingUnload(PDRIVER_OBJECT DriverObject)
{
    WriteRelease(&Ends, TRUE);
    KeSetEvent(&Arrived, IO_NO_INCREMENT, FALSE);
    (VOID)KeWaitForSingleObject(Rival, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(Rival);
    IoDeleteSymbolicLink(&LinkName);
    IoDeleteDevice(DriverObject->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    PDEVICE_OBJECT device;
    HANDLE thread;
    NTSTATUS status = IoCreateDevice(DriverObject, 0, &DeviceName, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status))
        return status;
    KeInitializeSpinLock(&Lock);
    KeInitializeEvent(&Arrived, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Cancelling, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Tried, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Released, SynchronizationEvent, FALSE);
    KeInitializeEvent(&CancelReleased, SynchronizationEvent, FALSE);
    DriverObject->DriverUnload = StallingUnload;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = StallingOpen;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = StallingOpen;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = StallingOpen;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = StallingControl;
    status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    if (NT_SUCCESS(status))
        status = PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, NULL, NULL, NULL, StallingRival, NULL);
    if (!NT_SUCCESS(status)) {
        IoDeleteSymbolicLink(&LinkName);
        IoDeleteDevice(device);
        return status;
    }
    (VOID)ObReferenceObjectByHandle(thread, THREAD_ALL_ACCESS, NULL, KernelMode, &Rival, NULL);
    ZwClose(thread);
    return STATUS_SUCCESS;
}
