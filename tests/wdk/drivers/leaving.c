/* SPDX-License-Identifier: MIT */
/* Unloads with an IRP and a block of pool not freed. */
#include <wdm.h>

static void forgetful_unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    (void)IoAllocateIrp(1, FALSE);
    (void)ExAllocatePoolWithTag(NonPagedPoolNx, 100, 'tfeL');
}

NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = forgetful_unload;
    return STATUS_SUCCESS;
}
