/* SPDX-License-Identifier: MIT */
/* A driver that can only be built and loaded with the flags and libraries of openndk::driver or openndk-wdk.pc. */
#include <ntddk.h>

DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD DriverUnload;

C_ASSERT(sizeof(L'a') == 2); /* -fshort-wchar */

VOID DriverUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    DbgPrint("the driver is unloaded\n");
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    PVOID memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tseT');

    if (!memory)
        return STATUS_INSUFFICIENT_RESOURCES;
    ExFreePoolWithTag(memory, 'tseT');
    DriverObject->DriverUnload = DriverUnload;
    DbgPrint("the driver %wZ is loaded\n", RegistryPath);
    return STATUS_SUCCESS;
}
