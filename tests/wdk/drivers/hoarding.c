/* SPDX-License-Identifier: MIT */
/* Unloads with two blocks of pool, an MDL and a lookaside list left. */
#include <ntddk.h>

static NPAGED_LOOKASIDE_LIST lookaside;

static void hoarding_unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    PVOID block = ExAllocatePoolWithTag(PagedPool, 100, 'draH');
    PMDL mdl = IoAllocateMdl(block, 100, FALSE, FALSE, NULL);

    UNREFERENCED_PARAMETER(path);
    ExInitializeNPagedLookasideList(&lookaside, NULL, NULL, POOL_NX_ALLOCATION, 64, 'kooL', 0);
    (void)ExAllocatePool2(POOL_FLAG_NON_PAGED, 5000, 'draH');
    driver->DriverUnload = hoarding_unload;
    return mdl ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}
