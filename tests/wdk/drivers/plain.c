/* SPDX-License-Identifier: MIT */
/* Loads and unloads. DriverEntry fails when it is not called as documented. */
#include <wdm.h>

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD unload;

static void unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

static BOOLEAN same(const UNICODE_STRING *s, PCWSTR text, USHORT bytes)
{
    return s->Length == bytes && s->MaximumLength >= bytes && !__builtin_memcmp(s->Buffer, text, bytes);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    static const WCHAR name[] = L"\\Driver\\plain",
                       key[] = L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\plain";

    if (KeGetCurrentIrql() != PASSIVE_LEVEL || driver->Type != IO_TYPE_DRIVER || driver->DriverUnload ||
        driver->DeviceObject || driver->DriverInit != DriverEntry)
        return STATUS_INVALID_PARAMETER_1;
    if (!same(path, key, sizeof key - sizeof(WCHAR)) || !same(&driver->DriverName, name, sizeof name - sizeof(WCHAR)))
        return STATUS_INVALID_PARAMETER_2;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        if (!driver->MajorFunction[i])
            return STATUS_INVALID_PARAMETER_3;
    driver->DriverUnload = unload;
    return STATUS_SUCCESS;
}
