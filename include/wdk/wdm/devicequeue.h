/* SPDX-License-Identifier: MIT */
/*
 * Queues for a device that serves one request at a time. A queue has a busy flag, and entries that are sorted by
 * arrival or by key.
 */
#ifndef ONDK_WDK_WDM_DEVICEQUEUE_H
#define ONDK_WDK_WDM_DEVICEQUEUE_H

#include "../ntdef.h"
#include "list.h"

EXTERN_C_START

typedef struct _KDEVICE_QUEUE_ENTRY {
    LIST_ENTRY DeviceListEntry;
    ULONG SortKey;
    BOOLEAN Inserted;
} KDEVICE_QUEUE_ENTRY, *PKDEVICE_QUEUE_ENTRY, *PRKDEVICE_QUEUE_ENTRY;

typedef struct _KDEVICE_QUEUE {
    CSHORT Type;
    CSHORT Size;
    LIST_ENTRY DeviceListHead;
    KSPIN_LOCK Lock;
    BOOLEAN Busy;
} KDEVICE_QUEUE, *PKDEVICE_QUEUE, *PRKDEVICE_QUEUE;

C_ASSERT(sizeof(KDEVICE_QUEUE_ENTRY) == 24);
C_ASSERT(sizeof(KDEVICE_QUEUE) == 40);

NTKERNELAPI VOID KeInitializeDeviceQueue(_Out_ PKDEVICE_QUEUE DeviceQueue);
/*
 * If the queue is busy, inserts the entry and returns TRUE. Otherwise makes the queue busy, inserts nothing and returns
 * FALSE; the caller then serves the entry. KeInsertByKeyDeviceQueue inserts the entry behind the last entry whose key
 * is not greater. DISPATCH_LEVEL.
 */
NTKERNELAPI BOOLEAN KeInsertDeviceQueue(_Inout_ PKDEVICE_QUEUE DeviceQueue,
                                        _Inout_ PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);
NTKERNELAPI BOOLEAN KeInsertByKeyDeviceQueue(_Inout_ PKDEVICE_QUEUE DeviceQueue,
                                             _Inout_ PKDEVICE_QUEUE_ENTRY DeviceQueueEntry, _In_ ULONG SortKey);
/*
 * Removes and returns the next entry to serve. If there is none, returns NULL, and the queue is no longer busy. The
 * ByKey functions return the first entry whose key is not less than SortKey. If there is no such entry, they return the
 * first entry in the queue. DISPATCH_LEVEL.
 */
NTKERNELAPI PKDEVICE_QUEUE_ENTRY KeRemoveDeviceQueue(_Inout_ PKDEVICE_QUEUE DeviceQueue);
NTKERNELAPI PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueue(_Inout_ PKDEVICE_QUEUE DeviceQueue, _In_ ULONG SortKey);
NTKERNELAPI PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueueIfBusy(_Inout_ PKDEVICE_QUEUE DeviceQueue,
                                                                _In_ ULONG SortKey);
/* Removes the entry. Returns FALSE if the entry is not in the queue. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI BOOLEAN KeRemoveEntryDeviceQueue(_Inout_ PKDEVICE_QUEUE DeviceQueue,
                                             _Inout_ PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);

EXTERN_C_END

#endif
