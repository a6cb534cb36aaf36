/* SPDX-License-Identifier: MIT */
/* Calls what nobody defines. */
#include <wdm.h>

void routine_of_nobody(void);

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(driver);
    UNREFERENCED_PARAMETER(path);
    routine_of_nobody();
    return STATUS_SUCCESS;
}
