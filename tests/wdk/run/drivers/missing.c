/* SPDX-License-Identifier: MIT */
/* Calls what nobody has. */
#include <ntddk.h>

DRIVER_INITIALIZE DriverEntry;
NTSTATUS KeFrobnicate(ULONG Times);

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    UNREFERENCED_PARAMETER(DriverObject);
    UNREFERENCED_PARAMETER(RegistryPath);
    return KeFrobnicate(1);
}
