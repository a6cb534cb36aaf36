/* SPDX-License-Identifier: MIT */
/*
 * A driver without a network: a device with one control, which reverses its input. A read returns what the last write
 * has stored.
 */
#include <ntddk.h>
#include <netioapi.h>

#define IOCTL_TURN CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD TeeUnload;
static DRIVER_DISPATCH TeeOpen, TeeControl, TeeRead, TeeWrite;
static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\Tee");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\Tee");
/* Names with a colon. */
static UNICODE_STRING DigitName = RTL_CONSTANT_STRING(L"\\DosDevices\\Tee:1");
static UNICODE_STRING LetterName = RTL_CONSTANT_STRING(L"\\DosDevices\\Tee:a");
static UCHAR Stored[64];
static ULONG StoredLength;

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
    if (s->Parameters.DeviceIoControl.OutputBufferLength < n)
        return TeeEnd(Irp, STATUS_BUFFER_TOO_SMALL, 0);
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

static NTSTATUS TeeWrite(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION s = IoGetCurrentIrpStackLocation(Irp);

    UNREFERENCED_PARAMETER(Device);
    if (s->Parameters.Write.Length > sizeof(Stored))
        return TeeEnd(Irp, STATUS_DISK_FULL, 0);
    StoredLength = s->Parameters.Write.Length;
    RtlCopyMemory(Stored, Irp->AssociatedIrp.SystemBuffer, StoredLength);
    return TeeEnd(Irp, STATUS_SUCCESS, StoredLength);
}

static NTSTATUS TeeRead(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION s = IoGetCurrentIrpStackLocation(Irp);
    ULONG at = s->Parameters.Read.ByteOffset.LowPart, n = s->Parameters.Read.Length;

    UNREFERENCED_PARAMETER(Device);
    if (at >= StoredLength)
        return TeeEnd(Irp, STATUS_END_OF_FILE, 0);
    n = min(n, StoredLength - at);
    RtlCopyMemory(Irp->AssociatedIrp.SystemBuffer, Stored + at, n);
    return TeeEnd(Irp, STATUS_SUCCESS, n);
}

static VOID TeeUnload(PDRIVER_OBJECT DriverObject)
{
    IoDeleteSymbolicLink(&LinkName);
    IoDeleteSymbolicLink(&DigitName);
    IoDeleteSymbolicLink(&LetterName);
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
    DriverObject->MajorFunction[IRP_MJ_READ] = TeeRead;
    DriverObject->MajorFunction[IRP_MJ_WRITE] = TeeWrite;
    device->Flags |= DO_BUFFERED_IO;
    status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    if (NT_SUCCESS(status))
        status = IoCreateSymbolicLink(&DigitName, &DeviceName);
    if (NT_SUCCESS(status))
        status = IoCreateSymbolicLink(&LetterName, &DeviceName);
    if (!NT_SUCCESS(status))
        IoDeleteDevice(device);
    return status;
}
