/* SPDX-License-Identifier: MIT */
/* DriverUnload waits for its work item's last step, but not for the return of its routine. */
#include <wdm.h>

static KEVENT done;
static PIO_WORKITEM item;
static PDEVICE_OBJECT device;

static IO_WORKITEM_ROUTINE run;
static VOID run(PDEVICE_OBJECT object, PVOID context)
{
    LARGE_INTEGER while_ = { .QuadPart = -500000 };

    UNREFERENCED_PARAMETER(object);
    UNREFERENCED_PARAMETER(context);
    IoFreeWorkItem(item);
    KeSetEvent(&done, IO_NO_INCREMENT, FALSE);
    KeDelayExecutionThread(KernelMode, FALSE, &while_); /* another thread runs */
}

static DRIVER_UNLOAD unload;
static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    IoQueueWorkItem(item, run, DelayedWorkQueue, NULL);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
    IoDeleteDevice(device);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    NTSTATUS status = IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    UNREFERENCED_PARAMETER(path);
    if (!NT_SUCCESS(status))
        return status;
    item = IoAllocateWorkItem(device);
    if (!item) {
        IoDeleteDevice(device);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    driver->DriverUnload = unload;
    return STATUS_SUCCESS;
}
