/* SPDX-License-Identifier: MIT */
/* A driver without a network: a device with one control, which reverses its input. */
#include <ntddk.h>
#include <netioapi.h>

#define IOCTL_TURN CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD TeeUnload;
static DRIVER_DISPATCH TeeOpen, TeeControl;
static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\Tee");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\Tee");

static NTSTATUS TeeEnd(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS TeeOpen(PDEVICE_OBJECT Device, PIRP Irp)
{
    UNREFERENCED_PARAMETER(Device);
    return TeeEnd(Irp, STATUS_SUCCESS, 0);
}

/* Four bytes: returns whether the interface with that index exists. Other input is reversed. */
static NTSTATUS TeeControl(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION s = IoGetCurrentIrpStackLocation(Irp);
    ULONG n = s->Parameters.DeviceIoControl.InputBufferLength;
    PUCHAR data = Irp->AssociatedIrp.SystemBuffer;
    NET_LUID luid;

    UNREFERENCED_PARAMETER(Device);
    if (s->Parameters.DeviceIoControl.IoControlCode != IOCTL_TURN || n == 0)
        return TeeEnd(Irp, STATUS_INVALID_PARAMETER, 0);
    if (n == sizeof(ULONG))
        return TeeEnd(Irp, ConvertInterfaceIndexToLuid(*(PULONG)data, &luid), 0);
    for (ULONG i = 0; i < n / 2; i++) {
        UCHAR other = data[i];

        data[i] = data[n - 1 - i];
        data[n - 1 - i] = other;
    }
    DbgPrint("tee: turned %u bytes\n", n);
    return TeeEnd(Irp, STATUS_SUCCESS, n);
}

static VOID TeeUnload(PDRIVER_OBJECT DriverObject)
{
    IoDeleteSymbolicLink(&LinkName);
    IoDeleteDevice(DriverObject->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(DriverObject, 0, &DeviceName, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status))
        return status;
    DriverObject->DriverUnload = TeeUnload;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = TeeOpen;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = TeeOpen;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = TeeOpen;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = TeeControl;
    status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    if (!NT_SUCCESS(status))
        IoDeleteDevice(device);
    return status;
}
