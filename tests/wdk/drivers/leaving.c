/* SPDX-License-Identifier: MIT */
/* Unloads with one of each leaked: IRP, pool, device, symbolic link, handle, reference, view, callback. */
#include <wdm.h>

static void map_forgotten_view(void)
{
    LARGE_INTEGER size = { .QuadPart = PAGE_SIZE };
    PVOID base = NULL;
    SIZE_T view_size = 0;
    HANDLE section;

    if (!ZwCreateSection(&section, SECTION_ALL_ACCESS, NULL, &size, PAGE_READWRITE, SEC_COMMIT, NULL)) {
        (void)ZwMapViewOfSection(section, NtCurrentProcess(), &base, 0, 0, NULL, &view_size, ViewUnmap, 0,
                                 PAGE_READWRITE);
        ZwClose(section);
    }
}

static NTSTATUS ignore_operation(PVOID context, PVOID argument1, PVOID argument2)
{
    UNREFERENCED_PARAMETER(context);
    UNREFERENCED_PARAMETER(argument1);
    UNREFERENCED_PARAMETER(argument2);
    return STATUS_SUCCESS;
}

static void forgetful_unload(PDRIVER_OBJECT driver)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Left"), link = RTL_CONSTANT_STRING(L"\\DosDevices\\Left");
    PDEVICE_OBJECT device;
    LARGE_INTEGER cookie;
    HANDLE key;

    (void)IoCreateDevice(driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    (void)IoCreateSymbolicLink(&link, &name);
    (void)IoOpenDriverRegistryKey(driver, DriverRegKeyParameters, KEY_READ, 0, &key);
    ObReferenceObject(device);
    (void)IoAllocateIrp(1, FALSE);
    map_forgotten_view();
    (void)CmRegisterCallback(ignore_operation, NULL, &cookie);
    (void)ExAllocatePoolWithTag(NonPagedPoolNx, 100, 'tfeL');
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = forgetful_unload;
    return STATUS_SUCCESS;
}
