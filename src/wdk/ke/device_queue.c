/* SPDX-License-Identifier: MIT */
/* Implements device queues: see wdm/devicequeue.h. */
#include "wdm.h"

#include "wdk/ke/thread.h"

enum { TYPE_DEVICE_QUEUE = 20 };

VOID KeInitializeDeviceQueue(PKDEVICE_QUEUE DeviceQueue)
{
    *DeviceQueue = (KDEVICE_QUEUE){ .Type = TYPE_DEVICE_QUEUE, .Size = sizeof *DeviceQueue };
    InitializeListHead(&DeviceQueue->DeviceListHead);
    KeInitializeSpinLock(&DeviceQueue->Lock);
}

static PKDEVICE_QUEUE_ENTRY device_queue_entry_at(PLIST_ENTRY at)
{
    return CONTAINING_RECORD(at, KDEVICE_QUEUE_ENTRY, DeviceListEntry);
}

/* Returns the first entry whose key is at least `key`. If there is no such entry, returns the list's head. */
static PLIST_ENTRY device_queue_find(PKDEVICE_QUEUE queue, uint64_t key)
{
    PLIST_ENTRY at = queue->DeviceListHead.Flink;

    while (at != &queue->DeviceListHead && device_queue_entry_at(at)->SortKey < key)
        at = at->Flink;
    return at;
}

/*
 * If the queue is not busy, only makes the queue busy and returns FALSE. Otherwise inserts `entry` in front of the
 * first entry whose key is at least `key`, and returns TRUE. A `key` of more than 32 bits inserts `entry` at the end.
 */
static BOOLEAN device_queue_insert(const char *routine, PKDEVICE_QUEUE queue, PKDEVICE_QUEUE_ENTRY entry, uint64_t key)
{
    KIRQL irql;

    irql_check_max(routine, DISPATCH_LEVEL);
    irql_check_min(routine, DISPATCH_LEVEL);
    KeAcquireSpinLock(&queue->Lock, &irql);
    entry->Inserted = queue->Busy;
    if (queue->Busy)
        InsertTailList(device_queue_find(queue, key), &entry->DeviceListEntry);
    queue->Busy = TRUE;
    KeReleaseSpinLock(&queue->Lock, irql);
    return entry->Inserted;
}

BOOLEAN KeInsertDeviceQueue(PKDEVICE_QUEUE DeviceQueue, PKDEVICE_QUEUE_ENTRY DeviceQueueEntry)
{
    return device_queue_insert("KeInsertDeviceQueue", DeviceQueue, DeviceQueueEntry, UINT64_MAX);
}

BOOLEAN KeInsertByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, PKDEVICE_QUEUE_ENTRY DeviceQueueEntry, ULONG SortKey)
{
    DeviceQueueEntry->SortKey = SortKey;
    return device_queue_insert("KeInsertByKeyDeviceQueue", DeviceQueue, DeviceQueueEntry, SortKey + 1ULL);
}

static PKDEVICE_QUEUE_ENTRY device_queue_remove(const char *routine, PKDEVICE_QUEUE queue, ULONG key)
{
    PKDEVICE_QUEUE_ENTRY entry = NULL;
    PLIST_ENTRY at;
    KIRQL irql;

    irql_check_max(routine, DISPATCH_LEVEL);
    irql_check_min(routine, DISPATCH_LEVEL);
    KeAcquireSpinLock(&queue->Lock, &irql);
    if (IsListEmpty(&queue->DeviceListHead)) {
        queue->Busy = FALSE;
    } else {
        at = device_queue_find(queue, key);
        entry = device_queue_entry_at(at == &queue->DeviceListHead ? at->Flink : at);
        RemoveEntryList(&entry->DeviceListEntry);
        entry->Inserted = FALSE;
    }
    KeReleaseSpinLock(&queue->Lock, irql);
    return entry;
}

PKDEVICE_QUEUE_ENTRY KeRemoveDeviceQueue(PKDEVICE_QUEUE DeviceQueue)
{
    return device_queue_remove("KeRemoveDeviceQueue", DeviceQueue, 0);
}

PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey)
{
    return device_queue_remove("KeRemoveByKeyDeviceQueue", DeviceQueue, SortKey);
}

/*
 * Removes an entry if the queue is busy. Does not test Busy: a queue that is not busy is empty, and device_queue_remove
 * then changes nothing.
 */
PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueueIfBusy(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey)
{
    return device_queue_remove("KeRemoveByKeyDeviceQueueIfBusy", DeviceQueue, SortKey);
}

BOOLEAN KeRemoveEntryDeviceQueue(PKDEVICE_QUEUE DeviceQueue, PKDEVICE_QUEUE_ENTRY DeviceQueueEntry)
{
    BOOLEAN was;
    KIRQL irql;

    irql_check_max("KeRemoveEntryDeviceQueue", DISPATCH_LEVEL);
    KeAcquireSpinLock(&DeviceQueue->Lock, &irql);
    was = DeviceQueueEntry->Inserted;
    if (was)
        RemoveEntryList(&DeviceQueueEntry->DeviceListEntry);
    DeviceQueueEntry->Inserted = FALSE;
    KeReleaseSpinLock(&DeviceQueue->Lock, irql);
    return was;
}
