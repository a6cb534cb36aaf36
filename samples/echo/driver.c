/* SPDX-License-Identifier: MIT */
/* The driver, its device and the device controls. */
#include "echo.h"

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD Unload;
static DRIVER_DISPATCH OpenOrClose, Control;

static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\Echo");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\Echo");
static ECHO_SETTINGS Settings;
static ECHO_SERVICE Service;

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS OpenOrClose(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

/* Runs the client. Copies the input before it writes the output, because METHOD_BUFFERED uses one buffer for both. */
static NTSTATUS Run(PIRP Irp, const IO_STACK_LOCATION *Stack)
{
    ECHO_REPORT report;
    ECHO_RUN run;
    NTSTATUS status;

    if (Stack->Parameters.DeviceIoControl.InputBufferLength < sizeof(run) ||
        Stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(report))
        return Complete(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    RtlCopyMemory(&run, Irp->AssociatedIrp.SystemBuffer, sizeof(run));
    status = EchoClientRun(&Settings, &run, &report);
    if (!NT_SUCCESS(status))
        return Complete(Irp, status, 0);
    DbgPrint("echo: %u rounds of %u bytes in %I64u us, %u different\n", report.Rounds, run.Length,
        report.Microseconds, report.Different);
    RtlCopyMemory(Irp->AssociatedIrp.SystemBuffer, &report, sizeof(report));
    return Complete(Irp, STATUS_SUCCESS, sizeof(report));
}

static NTSTATUS Query(PIRP Irp, const IO_STACK_LOCATION *Stack)
{
    KIRQL irql;

    if (Stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(Service.Counters))
        return Complete(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    KeAcquireSpinLock(&Service.Lock, &irql);
    RtlCopyMemory(Irp->AssociatedIrp.SystemBuffer, &Service.Counters, sizeof(Service.Counters));
    KeReleaseSpinLock(&Service.Lock, irql);
    return Complete(Irp, STATUS_SUCCESS, sizeof(Service.Counters));
}

static NTSTATUS Control(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);

    UNREFERENCED_PARAMETER(DeviceObject);
    switch (stack->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_ECHO_RUN:
        return Run(Irp, stack);
    case IOCTL_ECHO_QUERY:
        return Query(Irp, stack);
    default:
        return Complete(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
}

/* Stops the service and deletes the device. Windows calls Unload only when no handle to the device is open. */
static VOID Unload(PDRIVER_OBJECT DriverObject)
{
    EchoServiceStop(&Service);
    EchoDeregister();
    IoDeleteSymbolicLink(&LinkName);
    IoDeleteDevice(DriverObject->DeviceObject);
}

static NTSTATUS Start(PDEVICE_OBJECT Device)
{
    NTSTATUS status = EchoRegister();

    if (!NT_SUCCESS(status))
        return status;
    status = EchoServiceStart(&Service, Device, &Settings);
    if (!NT_SUCCESS(status))
        EchoDeregister();
    return status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    PDEVICE_OBJECT device;
    NTSTATUS status;

    EchoReadSettings(RegistryPath, &Settings);
    status = IoCreateDevice(DriverObject, 0, &DeviceName, FILE_DEVICE_NETWORK, FILE_DEVICE_SECURE_OPEN, FALSE,
        &device);
    if (!NT_SUCCESS(status))
        return status;
    DriverObject->DriverUnload = Unload;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = OpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    if (NT_SUCCESS(status)) {
        status = Start(device);
        if (!NT_SUCCESS(status))
            IoDeleteSymbolicLink(&LinkName);
    }
    if (!NT_SUCCESS(status)) {
        DbgPrint("echo: not started, 0x%08X\n", status);
        IoDeleteDevice(device);
    }
    return status;
}
