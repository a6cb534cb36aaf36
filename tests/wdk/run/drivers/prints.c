/* SPDX-License-Identifier: MIT */
/* Prints what a terminal would obey. */
#include <wdm.h>

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    DbgPrint("odd: \x1b]0;owned\x07 \x1b[2J\rndkrun: nothing left \x7f \xc2\x9b" "31m \xc3\xa4 \xff\tend\r\n");
    return STATUS_SUCCESS;
}
