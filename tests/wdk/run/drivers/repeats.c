/* SPDX-License-Identifier: MIT */
/* Breaks a rule several times at one place: frees pool with another tag than that of its allocation. */
#include <ntddk.h>

enum { TAG = 0x74736554, OTHER_TAG = 0x72687430, TIMES = 3 };

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    volatile int times = TIMES; /* otherwise clang unrolls the loop, and each turn is a place of its own */

    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    for (int i = 0; i < times; i++) {
        PVOID memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TAG);

        if (memory)
            ExFreePoolWithTag(memory, OTHER_TAG);
    }
    return STATUS_SUCCESS;
}
