/* SPDX-License-Identifier: MIT */
/* DriverEntry fails, leaves an IRP behind. */
#include <wdm.h>

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(driver);
    UNREFERENCED_PARAMETER(path);
    return IoAllocateIrp(1, FALSE) ? STATUS_DEVICE_NOT_READY : STATUS_NO_MEMORY;
}
