/* SPDX-License-Identifier: MIT */
/* Devices and what is open of them. */
#ifndef ONDK_WDK_DEVICE_H
#define ONDK_WDK_DEVICE_H

#include <stdbool.h>

#include "wdm.h"

#include "base/spin.h"
#include "wdk/io/irp.h"

/* How StartIo is called, and, under the lock, who is in it and asks for more (start_io.c). */
struct device_start_io {
    bool deferred, not_cancelable;
    struct spin lock;
    unsigned inside, asked, how;
    ULONG key;
};
struct device_start_io *device_start_io(PDEVICE_OBJECT device);

/* After DriverEntry: the devices that it has made can be opened. */
void device_initialized(PDRIVER_OBJECT driver);

/* From here on none of its devices can be opened. False: one is open, and nothing has changed. */
bool device_begin_unload(PDRIVER_OBJECT driver);
void device_unload_failed(PDRIVER_OBJECT driver);

/*
 * One open more or less; more: STATUS_SUCCESS, STATUS_ACCESS_DENIED (exclusive), STATUS_NO_SUCH_DEVICE (not
 * initialized, deleted, or its driver is being unloaded).
 */
NTSTATUS device_count_open(PDEVICE_OBJECT device);
void device_count_close(PDEVICE_OBJECT device);

/*
 * Opens a device by name: IRP_MJ_CREATE to the top of its stack. The file has one reference; when the last is gone,
 * IRP_MJ_CLOSE is sent. PASSIVE_LEVEL.
 */
NTSTATUS file_object_open(PCUNICODE_STRING name, ACCESS_MASK access, ULONG share, ULONG options, enum irp_from from,
                          PFILE_OBJECT *file, ULONG_PTR *information);
/* What comes when the last handle is closed: IRP_MJ_CLEANUP. */
void file_object_cleanup(PFILE_OBJECT file);

/* A request of the system's to that file's device, FileObject set; the caller fills in the rest. NULL: no memory. */
PIRP file_object_irp(PFILE_OBJECT file, UCHAR major, enum irp_from from, PIO_STACK_LOCATION *next);

/* A file of the host's, as an object of the same type; it owns the descriptor. NULL: no memory. */
PFILE_OBJECT file_object_of_host(int descriptor, ACCESS_MASK access);
/* -1: the file is a device's. */
int file_object_descriptor(PFILE_OBJECT file);

#endif
