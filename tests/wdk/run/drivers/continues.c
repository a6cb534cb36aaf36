/* SPDX-License-Identifier: MIT */
/* Prints a line in parts, and a line without an end. */
#include <wdm.h>

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    DbgPrint("second ");
    DbgPrint("part\n");
    DbgPrint("no end");
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    DbgPrint("first ");
    DbgPrint("part");
    return IoAllocateMdl(path, 1, FALSE, FALSE, NULL) ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}
