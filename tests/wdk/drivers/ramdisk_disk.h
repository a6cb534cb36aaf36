/* SPDX-License-Identifier: MIT */
/* The RAM disk's device extension, and what its commands start. */
#ifndef TESTS_WDK_RAMDISK_DISK_H
#define TESTS_WDK_RAMDISK_DISK_H

#include <ntddk.h>
#include <storport.h>

#include "ramdisk.h"

struct disk {
    struct ramdisk_told told;
    PUCHAR blocks;
    PVOID timer, worker, left;
    STOR_DPC dpc, unit_dpc, last_dpc;
    PSCSI_REQUEST_BLOCK later;   /* that will be completed later */
    PSCSI_REQUEST_BLOCK hanging; /* that only a reset completes */
    PIRP service;
    LONG ticking, removed; /* removed: 2 when it is stopped, 3 when its resources are free */
    LONG link_down;
    LONG busy_tries; /* of RAMDISK_BUSY_WITH_ALL */
    LONG inside; /* threads in count_inquiry() */
    LONG notifies_last; /* the next INQUIRY notifies the port */
    LONG ready;  /* threads that are about to complete the unit's requests */
    LONG calls;  /* of StorPortCompleteRequest */
    BOOLEAN first_hidden, no_list, announced;
    BOOLEAN second, by_bus, by_unit, works, paused, lingers, leaves_late;
    UNICODE_STRING interface_name;
    STOR_ADDR_BTL8 changed;
};

VOID ramdisk_hook_pnp(PDRIVER_OBJECT driver, PUNICODE_STRING path);
VOID ramdisk_set_features(struct disk *d, PDEVICE_OBJECT physical);
VOID ramdisk_enable_interface(struct disk *d);
VOID ramdisk_announce(struct disk *d, UCHAR lun);
VOID ramdisk_notify(struct disk *d);

VOID ramdisk_read_notices(PUNICODE_STRING path);
VOID ramdisk_removal_begins(VOID);
VOID ramdisk_notify_always(struct disk *d);
VOID ramdisk_notify_last(struct disk *d);
VOID ramdisk_notify_in_scan(struct disk *d);

VOID ramdisk_complete(struct disk *d, PSCSI_REQUEST_BLOCK srb, UCHAR status);
HW_COMPLETE_SERVICE_IRP ramdisk_complete_service;
VOID ramdisk_init_later(struct disk *d);
/* The status for now. */
UCHAR ramdisk_busy_with_all(struct disk *d);
VOID ramdisk_stay(struct disk *d, PSCSI_REQUEST_BLOCK srb);
/* A timer and a work item are different objects. */
BOOLEAN ramdisk_refuses_others(struct disk *d);
/* Starts a command that completes later. */
VOID ramdisk_later(struct disk *d, PSCSI_REQUEST_BLOCK srb);
VOID ramdisk_start_ticking(struct disk *d);
BOOLEAN ramdisk_start_working(struct disk *d);
HW_TIMER ramdisk_link_is_back;
/* Waits on the disk's thread until HwFreeAdapterResources was called. */
VOID ramdisk_linger(struct disk *d);
VOID ramdisk_end_thread(VOID);
/* Blocks the removal of the adapter so long that the port tries to reset it, which it cannot. */
VOID ramdisk_leave_late(struct disk *d, PSCSI_REQUEST_BLOCK srb);

#endif
