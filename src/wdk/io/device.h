/* SPDX-License-Identifier: MIT */
/* Device objects, and the file objects that are open on them. */
#ifndef ONDK_WDK_DEVICE_H
#define ONDK_WDK_DEVICE_H

#include <stdbool.h>

#include "wdm.h"

#include "base/spin.h"
#include "wdk/io/irp.h"

/* The state of start_io.c for each device. */
struct device_start_io {
    bool deferred, not_cancelable; /* see IoSetStartIoAttributes */
    struct spin lock;              /* guards the members below */
    unsigned running;              /* number of calls of StartIo that have not returned */
    unsigned n_requested;          /* number of calls of IoStartNextPacket... that were deferred */
    unsigned flags;                /* the flags and the key of the last deferred call */
    ULONG key;
};
struct device_start_io *device_start_io(PDEVICE_OBJECT device);

/* Clears DO_DEVICE_INITIALIZING of the driver's devices after DriverEntry, so that the devices can be opened. */
void device_initialized(PDRIVER_OBJECT driver);

/*
 * If one of the driver's devices is open, returns false and changes nothing. Otherwise makes later opens of its devices
 * fail, and returns true.
 */
bool device_begin_unload(PDRIVER_OBJECT driver);
/* Undoes device_begin_unload. */
void device_unload_failed(PDRIVER_OBJECT driver);

/*
 * Counts an open. Fails with STATUS_ACCESS_DENIED if the device is exclusive and open. Fails with STATUS_NO_SUCH_DEVICE
 * if the device is not initialized, is deleted, or belongs to a driver that is being unloaded.
 */
NTSTATUS device_count_open(PDEVICE_OBJECT device);
void device_count_close(PDEVICE_OBJECT device);

/* Disables the device interfaces of a device that is deleted. */
void interface_device_deleted(PDEVICE_OBJECT device);
/*
 * Finds the enabled interface of this class that was registered first, and sets *link to a copy of the interface's
 * name. The caller frees the Buffer. Returns false if no interface of the class is enabled, or if out of memory.
 */
bool interface_find_enabled(const GUID *class, UNICODE_STRING *link);

/* Returns the top of the device's stack with a reference, which the caller drops with ob_unref. */
PDEVICE_OBJECT device_ref_top(PDEVICE_OBJECT device);

/*
 * Opens a device by name: sends IRP_MJ_CREATE to the top of the device's stack. The file has one reference; dropping
 * the last reference sends IRP_MJ_CLOSE. *information receives the Information of the IRP. Requires PASSIVE_LEVEL.
 */
NTSTATUS file_object_open(PCUNICODE_STRING name, ACCESS_MASK access, ULONG share, ULONG options, enum irp_from from,
                          PFILE_OBJECT *file, ULONG_PTR *information);
/* Sends IRP_MJ_CLEANUP, as the close of the last handle does. */
void file_object_cleanup(PFILE_OBJECT file);

/*
 * Returns an IRP that the kernel sends to the file's device, or NULL if out of memory. *next receives the IRP's next
 * stack location, in which the caller sets the parameters.
 */
PIRP file_object_irp(PFILE_OBJECT file, UCHAR major, enum irp_from from, PIO_STACK_LOCATION *next);

/* Returns a file object that owns the host's descriptor and has no device. Returns NULL if out of memory. */
PFILE_OBJECT file_object_of_host(int descriptor, ACCESS_MASK access);
/* Returns the host's descriptor, or -1 if the file has a device. */
int file_object_descriptor(PFILE_OBJECT file);
/* Returns true if the host's file was opened with FILE_WRITE_ATTRIBUTES, or with a generic right that includes it. */
bool file_object_may_set_attributes(PFILE_OBJECT file);

#endif
