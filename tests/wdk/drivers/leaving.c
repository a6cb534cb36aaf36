/* SPDX-License-Identifier: MIT */
/* Unloads with an IRP of its own not freed. */
#include <wdm.h>

static void forgetful_unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    (void)IoAllocateIrp(1, FALSE);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = forgetful_unload;
    return STATUS_SUCCESS;
}
