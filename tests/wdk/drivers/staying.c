/* SPDX-License-Identifier: MIT */
/* Has no DriverUnload. */
#include <wdm.h>

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(driver);
    UNREFERENCED_PARAMETER(path);
    return STATUS_SUCCESS;
}
