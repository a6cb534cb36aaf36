/* SPDX-License-Identifier: MIT */
/*
 * The RAM disk's notices of state changes while its adapter starts or is removed. HwStateChange frees the address of an
 * accepted notice. So a notice that does not end leaks memory, and one that ends twice or was refused frees it twice.
 */
#include "ramdisk_disk.h"

#define TAG 'tciN'

static LONG removing; /* the adapter has received IRP_MN_REMOVE_DEVICE */
static ULONG always;

VOID ramdisk_read_notices(PUNICODE_STRING path)
{
    RTL_QUERY_REGISTRY_TABLE table[2] = {
        { .Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK, .Name = L"NotifiesAlways",
          .EntryContext = &always, .DefaultType = REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT },
    };

    InterlockedExchange(&removing, 0);
    (void)RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, path->Buffer, table, NULL, NULL);
}

VOID ramdisk_removal_begins(VOID)
{
    InterlockedExchange(&removing, 1);
}

static PSTOR_ADDRESS alloc_address(struct disk *d)
{
    PSTOR_ADDR_BTL8 address = NULL;

    if (!StorPortAllocatePool(d, sizeof *address, TAG, (PVOID *)&address))
        *address = (STOR_ADDR_BTL8){ .Type = STOR_ADDRESS_TYPE_BTL8, .AddressLength = STOR_ADDR_BTL8_ADDRESS_LENGTH };
    return (PSTOR_ADDRESS)address;
}

static HW_STATE_CHANGE free_address;
static VOID free_address(PVOID HwDeviceExtension, PVOID Context, SHORT AddressType, PVOID Address, ULONG Status)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(AddressType);
    UNREFERENCED_PARAMETER(Status);
    (void)StorPortFreePool(HwDeviceExtension, Address);
}

/* ---- One notice, whose scan the removal prevents ----------------------------------------------------------------- */

static BOOLEAN notify(struct disk *d, PHW_STATE_CHANGE routine)
{
    PSTOR_ADDRESS address = alloc_address(d);

    if (StorPortStateChangeDetected(d, STATE_CHANGE_LUN, address, 0, routine, NULL) == STOR_STATUS_SUCCESS)
        return TRUE;
    (void)StorPortFreePool(d, address);
    return FALSE;
}

/* Returns during the INQUIRY. */
VOID ramdisk_notify_last(struct disk *d)
{
    InterlockedExchange(&d->notifies_last, 1);
    StorPortNotification(BusChangeDetected, d, 0);
    while (InterlockedCompareExchange(&d->notifies_last, 0, 0))
        StorPortStallExecution(1000);
}

/* If the port has scanned for the notice, the removal has stopped the scans too late: the thread was preempted. */
static HW_STATE_CHANGE last_changed;
static VOID last_changed(PVOID HwDeviceExtension, PVOID Context, SHORT AddressType, PVOID Address, ULONG Status)
{
    struct disk *d = HwDeviceExtension;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(AddressType);
    (void)StorPortFreePool(d, Address);
    if (Status == STOR_STATUS_SUCCESS)
        DbgPrint("ramdisk: notice ended after a scan\n");
    else
        DbgPrint("ramdisk: notice ended with 0x%08X, another one is %s\n", Status,
                 notify(d, free_address) ? "accepted" : "refused");
}

/* Called during an INQUIRY. Blocks the scan until the removal probably waits for it. */
VOID ramdisk_notify_in_scan(struct disk *d)
{
    if (!InterlockedExchange(&d->notifies_last, 0))
        return;
    if (!notify(d, last_changed))
        DbgPrint("ramdisk: notice refused\n");
    while (!InterlockedCompareExchange(&removing, 0, 0))
        StorPortStallExecution(1000);
    for (int i = 0; i < 100; i++)
        StorPortStallExecution(1000);
}

/* ---- Notices from the initialization to the removal -------------------------------------------------------------- */

static HW_WORKITEM notify_always;
static VOID notify_always(PVOID HwDeviceExtension, PVOID Context, PVOID Worker)
{
    struct disk *d = HwDeviceExtension;
    PSTOR_ADDRESS address = alloc_address(d);

    UNREFERENCED_PARAMETER(Context);
    while (!InterlockedCompareExchange(&d->removed, 0, 0)) {
        StorPortNotification(BusChangeDetected, d, 0);
        if (StorPortStateChangeDetected(d, STATE_CHANGE_BUS, address, 0, free_address, NULL) == STOR_STATUS_SUCCESS)
            address = alloc_address(d);
    }
    (void)StorPortFreePool(d, address);
    (void)StorPortFreeWorker(d, Worker);
}

/* Called by HwInitialize. */
VOID ramdisk_notify_always(struct disk *d)
{
    PVOID worker;

    for (int i = 0; always && i < 3; i++)
        if (!StorPortInitializeWorker(d, &worker))
            (void)StorPortQueueWorkItem(d, notify_always, worker, NULL);
}
