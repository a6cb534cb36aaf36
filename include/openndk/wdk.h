/* SPDX-License-Identifier: MIT */
/*
 * Hosting drivers in a program, as ndkrun and tests do: loading drivers, sending them requests, checking them, and
 * reporting what they leave behind. Drivers themselves include the headers in include/wdk.
 * See also: ndkrun, ndk-cc, docs/port-your-driver.md, docs/driver-checks.md
 */
#ifndef OPENNDK_WDK_H
#define OPENNDK_WDK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets the stream for reports and DbgPrint.
 *   out  the stream, which the caller keeps open; the default is standard error
 * Context: any thread of the host program.
 * See also: ondk_wdk_report
 */
ONDK_API void ondk_wdk_set_output(FILE *out);

/*
 * Maps an interface index of a driver to an interface of the host.
 *   driver_index  the index that the driver uses
 *   host_index    the index of the host's interface that the driver gets
 * Returns true. Returns false if an index is 0 or there are 64 mappings already.
 * Context: before the first driver is loaded.
 * See also: ondk_wdk_map_address
 */
ONDK_API bool ondk_wdk_map_interface(uint32_t driver_index, uint32_t host_index);

/*
 * Maps an address in a driver's code to an address of the host.
 *   driver_address  a numeric text, for example "10.0.0.1"
 *   host_address    a numeric text of the same family
 * If the driver connects or listens with driver_address, the library uses host_address instead. In addresses that the
 * driver receives, the library replaces host_address by driver_address. A later mapping of the same driver_address
 * replaces the earlier mapping.
 * Returns true. Returns false if a text is not an address, if the families differ, or if there are 64 mappings already.
 * Context: before the first driver is loaded.
 * See also: ondk_wdk_map_interface
 */
ONDK_API bool ondk_wdk_map_address(const char *driver_address, const char *host_address);

struct _NDK_ADAPTER; /* NDK_ADAPTER of ndkpi.h */

/* Opens the adapter of a host's interface, with the version major.minor, and returns an NTSTATUS. */
typedef int32_t (*ondk_wdk_open_adapter_t)(uint16_t major, uint16_t minor, uint32_t if_index,
                                           struct _NDK_ADAPTER **adapter);
/* Closes an adapter. */
typedef void (*ondk_wdk_close_adapter_t)(struct _NDK_ADAPTER *adapter);

/*
 * Sets the NDK provider from which drivers get their adapters.
 *   open   opens an adapter. All drivers that open an interface with the same version share one adapter. If open is
 *          NULL, drivers get the adapters of OpenNDK, which is the default
 *   close  closes an adapter after all its objects were closed; NULL if open is NULL
 * The functions can call open_adapter and close_adapter of a provider module (ndkconform/provider.h). The provider uses
 * the host's AF_INET6, but drivers use Windows' AF_INET6. The verifier is between them, also in mode ONDK_VERIFY_OFF,
 * and converts the addresses.
 * Context: before the first driver is loaded.
 * See also: ondk_wdk_load, ondk_verify_wrap
 */
ONDK_API void ondk_wdk_set_provider(ondk_wdk_open_adapter_t open, ondk_wdk_close_adapter_t close);

/* ---- Drivers ----------------------------------------------------------------------------------------------------- */

typedef struct ondk_wdk_driver ondk_wdk_driver_t;

/*
 * Loads a driver and calls its DriverEntry.
 *   path          the driver's shared object, as ndk-cc builds it
 *   service_name  NULL: the file's name without directory and extension
 *   driver        receives the driver if 0 is returned; the caller owns it and unloads it with ondk_wdk_unload
 *   status        receives DriverEntry's NTSTATUS, or the reason why DriverEntry was not called
 * DriverEntry runs at PASSIVE_LEVEL on a thread of its own, with the registry path
 * \Registry\Machine\System\CurrentControlSet\Services\<service_name>.
 * Returns 0. Returns -1 if the driver is not loaded; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program; blocks until DriverEntry returns.
 * Example:
 *
 *     ondk_wdk_driver_t *driver;
 *     uint32_t status;
 *
 *     if (ondk_wdk_load("./mydriver.so", NULL, &driver, &status) != 0) {
 *         fprintf(stderr, "%s\n", ondk_wdk_error());
 *         return 1;
 *     }
 *     if (ondk_wdk_unload(driver, &status) != 0)
 *         fprintf(stderr, "%s\n", ondk_wdk_error());
 *
 * See also: ondk_wdk_unload, ndk-cc, ndkrun, docs/port-your-driver.md
 */
ONDK_API int ondk_wdk_load(const char *path, const char *service_name, ondk_wdk_driver_t **driver, uint32_t *status);

/*
 * Calls a driver's DriverUnload and unloads the driver.
 *   driver  from ondk_wdk_load; invalid if 0 is returned
 *   status  receives 0 or the reason; see below
 * DriverUnload runs at PASSIVE_LEVEL on a thread of its own. If checks are on and the driver leaves anything behind,
 * this is reported as rule unload-outstanding. The driver's code then stays mapped, because a thread may still return
 * to that code.
 * Returns 0. Returns -1 if the driver still runs; ondk_wdk_error then returns the reason, and *status is one of:
 *   STATUS_INVALID_DEVICE_REQUEST  the driver has no DriverUnload
 *   STATUS_DEVICE_BUSY             one of its devices is open, or the driver refuses the removal of its device
 *   STATUS_INSUFFICIENT_RESOURCES  no thread for DriverUnload could be created
 * Context: any thread of the host program; blocks until DriverUnload returns.
 * See also: ondk_wdk_load, ondk_wdk_report
 */
ONDK_API int ondk_wdk_unload(ondk_wdk_driver_t *driver, uint32_t *status);

/* ---- Devices, as user-mode programs use them --------------------------------------------------------------------- */

typedef struct ondk_wdk_device ondk_wdk_device_t;

/*
 * Opens a driver's device as CreateFile does, for reading and writing. The program has the rights of the account
 * LocalSystem. If the device's security descriptor denies this account read or write access, the open fails with
 * STATUS_ACCESS_DENIED.
 *   name    "\\\\.\\Name" or "Name" names a symbolic link, "\\Device\\Name" is the device's own name. "{GUID}" is a
 *           class of device interfaces: opens its enabled interface that was registered first
 *   device  receives the device if 0 is returned; the caller owns it and closes it with ondk_wdk_close
 *   status  receives the status of the driver's IRP_MJ_CREATE, or the reason why IRP_MJ_CREATE was not sent
 * The driver receives IRP_MJ_CREATE.
 * Returns 0. Returns -1 if the device is not open; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program.
 * Topic: open and close a driver's device
 * See also: ondk_wdk_device_control, ondk_wdk_read, ondk_wdk_scsi, ondk_wdk_cancel
 */
ONDK_API int ondk_wdk_open(const char *name, ondk_wdk_device_t **device, uint32_t *status);
/*
 * Closes a device.
 *   device  from ondk_wdk_open; invalid after the call
 * The driver receives IRP_MJ_CLEANUP and IRP_MJ_CLOSE.
 */
ONDK_API void ondk_wdk_close(ondk_wdk_device_t *device);

/*
 * Sends a device control to a driver, and waits until it completes.
 *   device        from ondk_wdk_open
 *   code          the control code, as CTL_CODE builds it
 *   in            the input; NULL if in_length is 0
 *   in_length     the size of the input in bytes
 *   out           receives the output; NULL if out_capacity is 0
 *   out_capacity  the size of out in bytes
 *   out_length    receives the number of bytes that the driver wrote to out, at most out_capacity; may be NULL
 *   status        receives the status that the driver completed the request with
 * Several threads may send requests to one device at the same time.
 * Returns 0, whatever *status is. Returns -1 if the request could not be sent; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program; blocks.
 * Example:
 *
 *     ondk_wdk_device_t *device;
 *     uint32_t status, length;
 *     char out[64];
 *
 *     if (ondk_wdk_open("Echo", &device, &status) != 0)
 *         return 1;
 *     if (ondk_wdk_device_control(device, 0x122000, NULL, 0, out, 64,
 *                                 &length, &status) != 0)
 *         fprintf(stderr, "%s\n", ondk_wdk_error());
 *     ondk_wdk_close(device);
 *
 * See also: ondk_wdk_open, ondk_wdk_read, ondk_wdk_cancel
 */
ONDK_API int ondk_wdk_device_control(ondk_wdk_device_t *device, uint32_t code, const void *in, uint32_t in_length,
                                     void *out, uint32_t out_capacity, uint32_t *out_length, uint32_t *status);

/*
 * Reads from a driver's device, and waits until the read completes.
 *   device        from ondk_wdk_open
 *   offset        the byte offset in the driver's request
 *   out           receives the data
 *   out_capacity  the size of out in bytes
 *   out_length    receives the number of bytes that the driver wrote to out, at most out_capacity; may be NULL
 *   status        receives the status that the driver completed the request with
 * Several threads may send requests to one device at the same time.
 * Returns 0, whatever *status is. Returns -1 if the request could not be sent; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program; blocks.
 * Topic: read from and write to a driver's device
 * See also: ondk_wdk_open, ondk_wdk_device_control, ondk_wdk_cancel
 */
ONDK_API int ondk_wdk_read(ondk_wdk_device_t *device, uint64_t offset, void *out, uint32_t out_capacity,
                           uint32_t *out_length, uint32_t *status);
/*
 * Writes to a driver's device, and waits until the write completes.
 *   device     from ondk_wdk_open
 *   offset     the byte offset in the driver's request
 *   in         the data
 *   in_length  the size of the data in bytes
 *   in_taken   receives the number of bytes that the driver accepted, at most in_length; may be NULL
 *   status     receives the status that the driver completed the request with
 * Returns 0, whatever *status is. Returns -1 if the request could not be sent; ondk_wdk_error then returns the reason.
 */
ONDK_API int ondk_wdk_write(ondk_wdk_device_t *device, uint64_t offset, const void *in, uint32_t in_length,
                            uint32_t *in_taken, uint32_t *status);

/*
 * A SCSI command for a unit of a Storport miniport's adapter, and the unit's answer.
 * See also: ondk_wdk_scsi
 */
typedef struct ondk_wdk_scsi_command {
    /* The unit's address: bus, target and logical unit. */
    uint8_t path, target, lun;
    /* The number of valid bytes in cdb. */
    uint8_t cdb_length;
    /* The command descriptor block. */
    uint8_t cdb[16];
    /* true: data is sent to the unit; false: data is received from it. */
    bool out;
    /* The data; NULL if data_length is 0. Owned by the caller. */
    void *data;
    /* The size of data in bytes; receives the number of bytes transferred. */
    uint32_t data_length;
    /* The time limit in seconds; 0 means 10. When the limit passes, the port resets the unit, then the bus. */
    uint32_t timeout;
    /* Receives the unit's SCSI status; 0 is good. */
    uint8_t scsi_status;
    /* Receives the number of valid bytes in sense. */
    uint8_t sense_length;
    /* Receives the unit's sense data. */
    uint8_t sense[18];
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_wdk_scsi_command_t;

/*
 * Sends a SCSI command to a unit, and waits until it completes.
 *   adapter  from ondk_wdk_open: the first adapter's device is "\\Device\\RaidPort0" or "\\\\.\\Scsi0:", the second
 *            one's "\\Device\\RaidPort1", and so on
 *   command  the command; receives the unit's answer
 *   status   receives the status that the port completed the request with
 * The command is sent with IOCTL_SCSI_PASS_THROUGH_DIRECT. *status is STATUS_SUCCESS even if the unit refused the
 * command; scsi_status then has the reason.
 * Returns 0. Returns -1 if the command could not be sent; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program; blocks.
 * See also: ondk_wdk_open, ondk_wdk_scsi_command_t
 */
ONDK_API int ondk_wdk_scsi_sized(ondk_wdk_device_t *adapter, ondk_wdk_scsi_command_t *command, size_t size,
                                 uint32_t *status);
static inline int ondk_wdk_scsi(ondk_wdk_device_t *adapter_, ondk_wdk_scsi_command_t *command_, uint32_t *status_)
{
    return ondk_wdk_scsi_sized(adapter_, command_, sizeof(*command_), status_);
}

/*
 * Cancels the pending requests of a device, as CancelIo does.
 *   device  from ondk_wdk_open
 * Each request ends when its driver completes it.
 * Context: any thread of the host program.
 * See also: ondk_wdk_device_control, ondk_wdk_read
 */
ONDK_API void ondk_wdk_cancel(ondk_wdk_device_t *device);

/*
 * Cancels the pending requests that a thread waits for, as Windows does when it ends the thread.
 *   thread  the thread's ID, as gettid returns it
 * The function sets Cancel in each IRP and calls its cancel routine, if the driver has set one. Each request ends when
 * its driver completes it. IRP_MJ_CLEANUP, IRP_MJ_CLOSE and requests that are already cancelled do not change. The
 * thread may send further requests, so a program that waits for the thread's end must repeat the call.
 * Context: any thread of the host program; blocks as long as the cancel routines run.
 * Topic: cancel and report the requests of a thread
 * See also: ondk_wdk_cancel, ondk_wdk_device_control
 */
ONDK_API void ondk_wdk_cancel_thread(uint32_t thread);
/*
 * Prints the requests that threads of this process have sent to drivers and that have not ended.
 *   thread  the ID of a thread; 0: all threads
 *   out     receives for each request its kind, age and thread, whether the dispatch routine has returned, whether the
 *           IRP is marked pending or cancelled, and its cancel routine
 * At most 16 requests are printed.
 * Returns the number of printed requests whose dispatch routine has not returned: their threads are in a driver.
 */
ONDK_API uint32_t ondk_wdk_report_requests(uint32_t thread, FILE *out);

/*
 * Sends IRP_MJ_SHUTDOWN to the devices that are registered for it.
 * Each device is unregistered before its driver receives the request.
 * Context: any thread of the host program; blocks until the drivers have completed the requests.
 */
ONDK_API void ondk_wdk_shutdown(void);

/* ---- The registry that drivers see ------------------------------------------------------------------------------- */

/*
 * Sets a value in the registry that drivers see.
 *   key   begins with HKEY_LOCAL_MACHINE, HKLM, HKEY_USERS, HKU or \Registry; missing keys are created
 *   name  the value's name; NULL: only the key is created
 *   type  as in Windows: 1 text, 3 bytes, 4 a 32-bit number, 7 a list of texts, 11 a 64-bit number
 *   data  copied unchanged, so texts must be UTF-16
 *   size  the size of data in bytes
 * A service usually has its parameters in HKLM\System\CurrentControlSet\Services\<service_name>\Parameters.
 * Returns 0. Returns -1 if the value could not be set; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program.
 * Topic: set a value in the registry that drivers see
 * See also: ondk_wdk_registry_load
 */
ONDK_API int ondk_wdk_registry_set(const char *key, const char *name, uint32_t type, const void *data, uint32_t size);
/*
 * Sets a value from UTF-8 text, which is converted to UTF-16.
 *   key     as for ondk_wdk_registry_set
 *   name    the value's name
 *   type    1 text, 7 a list of texts
 *   text    type 1: the text without its final 0. Type 7: the texts, each with its final 0, but without the 0 that
 *           ends the list
 *   length  the size of text in bytes
 * The function adds the missing 0.
 * Returns 0. Returns -1 if the value could not be set; ondk_wdk_error then returns the reason.
 */
ONDK_API int ondk_wdk_registry_set_text(const char *key, const char *name, uint32_t type, const char *text,
                                        uint32_t length);

/*
 * Loads a .reg file into the registry that drivers see.
 *   path  a file in UTF-8 or UTF-16, as regedit exports it
 * Values before a faulty line are set.
 * Returns 0. Returns -1 if the file cannot be read or has a faulty line; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program.
 * See also: ondk_wdk_registry_set
 */
ONDK_API int ondk_wdk_registry_load(const char *path);

/* ---- Others ------------------------------------------------------------------------------------------------------ */

/*
 * Sets the directory of the files that drivers open.
 *   directory  contains the files: C/a is the file \??\C:\a, and SystemRoot/a is the file \SystemRoot\a
 * Without a call of this function drivers find no files.
 * Returns 0. Returns -1 if directory is not a directory; ondk_wdk_error then returns the reason.
 * Context: any thread of the host program.
 */
ONDK_API int ondk_wdk_set_file_root(const char *directory);

/*
 * Describes the last failed call of the calling thread.
 * Returns one sentence; empty before the first failure. The text is valid until the thread's next call.
 * Context: any thread of the host program.
 */
ONDK_API const char *ondk_wdk_error(void);

/*
 * Prints every object that drivers have created and not freed.
 *   out  receives the report; if checks are on, the report has the call stack of each object's creation
 * Returns the number of these objects.
 * Context: any thread of the host program.
 * Topic: report what drivers hold
 * See also: ondk_wdk_busy, ondk_verify_set_mode
 */
ONDK_API uint32_t ondk_wdk_report(FILE *out);
/*
 * Prints the objects of one driver.
 *   path  the driver's path or service name
 *   out   receives the report
 * An object belongs to the driver if the call stack of its creation has a function of the driver. If only one driver is
 * loaded, or if checks are off, every object is printed. The function works even while the driver's DriverEntry or
 * DriverUnload runs.
 * Returns the number of printed objects.
 */
ONDK_API uint32_t ondk_wdk_report_driver(const char *path, FILE *out);

/*
 * Counts the activities of drivers that can run without input from outside.
 * Activities are threads, set timers, queued DPCs, queued or running work items, requests of disks that a Storport
 * miniport has not completed, and, if checks are on, pending NDK requests.
 * Returns the number of activities. 0: the drivers are idle.
 * Context: any thread of the host program.
 * See also: ondk_wdk_report
 */
ONDK_API uint32_t ondk_wdk_busy(void);

#ifdef __cplusplus
}
#endif

#endif
