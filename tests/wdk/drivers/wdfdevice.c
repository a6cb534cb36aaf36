/* SPDX-License-Identifier: MIT */
/* A KMDF driver with a device, which counts its controls. The guide docs/port-your-driver.md shows it. */
#include <initguid.h>
#include <ntddk.h>
#include <wdf.h>

DEFINE_GUID(GUID_COUNTER, 0x8e2c4d10, 0x6a1f, 0x4b3e, 0x9d, 0x52, 0x07, 0xc1, 0xaa, 0x34, 0xf0, 0x6b);

typedef struct {
    ULONG Count;
} COUNTER;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(COUNTER, GetCounter)

DRIVER_INITIALIZE DriverEntry;
EVT_WDF_DRIVER_DEVICE_ADD CounterDeviceAdd;
EVT_WDF_DEVICE_D0_ENTRY CounterD0Entry;
EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL CounterControl;

/* The framework calls this before the device's power-managed queue delivers the first request. */
NTSTATUS CounterD0Entry(WDFDEVICE Device, WDF_POWER_DEVICE_STATE PreviousState)
{
    UNREFERENCED_PARAMETER(PreviousState);
    GetCounter(Device)->Count = 0;
    return STATUS_SUCCESS;
}

/* Returns the number of controls so far. */
VOID CounterControl(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                    ULONG IoControlCode)
{
    ULONG *Output;
    NTSTATUS Status = WdfRequestRetrieveOutputBuffer(Request, sizeof(*Output), (PVOID *)&Output, NULL);

    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    UNREFERENCED_PARAMETER(IoControlCode);
    if (NT_SUCCESS(Status))
        *Output = ++GetCounter(WdfIoQueueGetDevice(Queue))->Count;
    WdfRequestCompleteWithInformation(Request, Status, NT_SUCCESS(Status) ? sizeof(*Output) : 0);
}

/* Creates the device, its queue, and the interface by which programs open it. */
NTSTATUS CounterDeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT DeviceInit)
{
    WDF_PNPPOWER_EVENT_CALLBACKS Callbacks;
    WDF_OBJECT_ATTRIBUTES Attributes;
    WDF_IO_QUEUE_CONFIG Config;
    WDFDEVICE Device;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Driver);
    WDF_PNPPOWER_EVENT_CALLBACKS_INIT(&Callbacks);
    Callbacks.EvtDeviceD0Entry = CounterD0Entry;
    WdfDeviceInitSetPnpPowerEventCallbacks(DeviceInit, &Callbacks);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&Attributes, COUNTER);
    Status = WdfDeviceCreate(&DeviceInit, &Attributes, &Device);
    if (!NT_SUCCESS(Status))
        return Status;
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&Config, WdfIoQueueDispatchSequential);
    Config.EvtIoDeviceControl = CounterControl;
    Status = WdfIoQueueCreate(Device, &Config, WDF_NO_OBJECT_ATTRIBUTES, WDF_NO_HANDLE);
    return NT_SUCCESS(Status) ? WdfDeviceCreateDeviceInterface(Device, &GUID_COUNTER, NULL) : Status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG Config;

    WDF_DRIVER_CONFIG_INIT(&Config, CounterDeviceAdd);
    return WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &Config, WDF_NO_HANDLE);
}
