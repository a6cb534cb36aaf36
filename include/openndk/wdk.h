/* SPDX-License-Identifier: MIT */
/*
 * For the program that hosts drivers (ndkrun, a test, a debugger's script of one's own): load them, call them, check
 * them, and see what they leave. Drivers themselves include the headers in include/wdk.
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

/* What is done about a broken rule. */
typedef enum ondk_wdk_checks {
    ONDK_WDK_CHECKS_OFF,   /* nothing is looked for, nothing costs */
    ONDK_WDK_CHECKS_GO_ON, /* reported, and the driver goes on as far as it can */
    ONDK_WDK_CHECKS_STOP,  /* reported as a bug check would be (code, four parameters, stack), then abort() */
} ondk_wdk_checks_t;

/*
 * Set before the first driver is loaded. Without a call the environment variable ONDK_WDK_CHECKS (off, go-on, stop)
 * counts, and without that it is stop.
 */
ONDK_API void ondk_wdk_set_checks(ondk_wdk_checks_t checks);

/* How many broken rules have been reported so far. */
ONDK_API uint32_t ondk_wdk_violations(void);

/* Where reports and DbgPrint go; standard error without a call. out stays the caller's and open. */
ONDK_API void ondk_wdk_set_output(FILE *out);

/*
 * A driver that opens the adapter of interface driver_index gets that of the host's interface host_index. Before the
 * first driver is loaded; at most 64. False: one is 0, or there are too many.
 */
ONDK_API bool ondk_wdk_map_interface(uint32_t driver_index, uint32_t host_index);

/*
 * An address that a driver has wired in becomes one of the host's where it connects or listens, and the host's becomes
 * it where an address is handed out. Numeric texts of one family. Before the first driver is loaded; at most 64, a
 * later one for the same address replaces the earlier. False: no address, two families, or too many.
 */
ONDK_API bool ondk_wdk_map_address(const char *driver_address, const char *host_address);

/* ---- Drivers ----------------------------------------------------------------------------------------------------- */

typedef struct ondk_wdk_driver ondk_wdk_driver_t;

/*
 * Loads a driver's shared object and calls its DriverEntry at PASSIVE_LEVEL on a thread of its own, with the registry
 * path \Registry\Machine\System\CurrentControlSet\Services\<service_name>.
 *   service_name  NULL: the file's name without directory and extension
 *   driver        receives the driver if 0 is returned
 *   status        receives DriverEntry's NTSTATUS, or why it was not called
 * 0: the driver is loaded; -1: it is not, and ondk_wdk_error says why.
 */
ONDK_API int ondk_wdk_load(const char *path, const char *service_name, ondk_wdk_driver_t **driver, uint32_t *status);

/*
 * Calls DriverUnload like DriverEntry and takes the driver away. With checks on, what the driver leaves is reported as
 * rule unload-outstanding; its code stays mapped then, since a thread may still come back to it.
 * 0: unloaded; -1: it was not, the driver still runs, and ondk_wdk_error says why: it has no DriverUnload
 * (STATUS_INVALID_DEVICE_REQUEST) or a device of it is open (STATUS_DEVICE_BUSY).
 */
ONDK_API int ondk_wdk_unload(ondk_wdk_driver_t *driver, uint32_t *status);

/* ---- Devices: what programs in user space do with them ----------------------------------------------------------- */

typedef struct ondk_wdk_device ondk_wdk_device_t;

/*
 * Opens a driver's device as CreateFile does: "\\\\.\\Name" or "Name" by its symbolic link, "\\Device\\Name" by its
 * own. IRP_MJ_CREATE, and with ondk_wdk_close IRP_MJ_CLEANUP and IRP_MJ_CLOSE. 0: *device is open; -1: *status says why
 * not.
 */
ONDK_API int ondk_wdk_open(const char *name, ondk_wdk_device_t **device, uint32_t *status);
ONDK_API void ondk_wdk_close(ondk_wdk_device_t *device);

/*
 * Sends a request and waits for its end; several threads may each have one under way.
 *   out_length  receives how much of out the driver has filled; it may be NULL
 *   status      receives what the driver completed the request with
 * 0: the request was sent; -1: it could not be.
 */
ONDK_API int ondk_wdk_device_control(ondk_wdk_device_t *device, uint32_t code, const void *in, uint32_t in_length,
                                     void *out, uint32_t out_capacity, uint32_t *out_length, uint32_t *status);
ONDK_API int ondk_wdk_read(ondk_wdk_device_t *device, uint64_t offset, void *out, uint32_t out_capacity,
                           uint32_t *out_length, uint32_t *status);
ONDK_API int ondk_wdk_write(ondk_wdk_device_t *device, uint64_t offset, const void *in, uint32_t in_length,
                            uint32_t *in_taken, uint32_t *status);

/*
 * A SCSI command to a unit of a Storport miniport's adapter, by IOCTL_SCSI_PASS_THROUGH_DIRECT. The adapter's device is
 * "\\Device\\RaidPort0", or "\\\\.\\Scsi0:"; a second adapter's RaidPort1.
 *   data       what goes there (out) or has come (in); data_length is how much, then how much was moved
 *   timeout    seconds; 0: 10. After it the port resets the unit, then the bus.
 *   scsi_status, sense_length, sense   receive the unit's answer
 * 0: the command was sent; *status is STATUS_SUCCESS also if scsi_status says that the unit refused it. -1: it could
 * not be.
 */
typedef struct ondk_wdk_scsi_command {
    uint8_t path, target, lun;
    uint8_t cdb_length, cdb[16];
    bool out;
    void *data;
    uint32_t data_length, timeout;
    uint8_t scsi_status, sense_length, sense[18];
} ondk_wdk_scsi_command_t;

ONDK_API int ondk_wdk_scsi_sized(ondk_wdk_device_t *adapter, ondk_wdk_scsi_command_t *command, size_t size,
                                 uint32_t *status);
static inline int ondk_wdk_scsi(ondk_wdk_device_t *adapter_, ondk_wdk_scsi_command_t *command_, uint32_t *status_)
{
    return ondk_wdk_scsi_sized(adapter_, command_, sizeof(*command_), status_);
}

/* Cancels the requests that are under way, as CancelIo does; each still ends when its driver completes it. */
ONDK_API void ondk_wdk_cancel(ondk_wdk_device_t *device);

/* IRP_MJ_SHUTDOWN to the devices that are registered for it, once. */
ONDK_API void ondk_wdk_shutdown(void);

/* ---- The registry that drivers see ------------------------------------------------------------------------------- */

/*
 * Keys begin with HKEY_LOCAL_MACHINE, HKLM or \Registry\Machine; a service's parameters are usually looked for in
 * HKLM\System\CurrentControlSet\Services\<service_name>\Parameters. Keys that are not there are made.
 *   type  as in Windows: 1 text, 3 octets, 4 a number of 32 bits, 7 a list of texts, 11 a number of 64 bits
 * _set takes the data as it is (texts are UTF-16); _set_text takes UTF-8 and adds the terminator. 0, or -1:
 * ondk_wdk_error.
 */
ONDK_API int ondk_wdk_registry_set(const char *key, const char *name, uint32_t type, const void *data, uint32_t size);
ONDK_API int ondk_wdk_registry_set_text(const char *key, const char *name, uint32_t type, const char *text,
                                        uint32_t length);
/* All of a .reg file, UTF-8 or UTF-16. */
ONDK_API int ondk_wdk_registry_load(const char *path);

/*
 * The directory that drivers' files lie in: \??\C:\a is C/a there, \SystemRoot\a is SystemRoot/a. Without a call
 * drivers find no files. 0, or -1: it is no directory.
 */
ONDK_API int ondk_wdk_set_file_root(const char *directory);

/* One sentence about the last call of this thread that failed. Thread-local storage, valid until the next call. */
ONDK_API const char *ondk_wdk_error(void);

/*
 * Prints what drivers hold at this moment, each thing with the stack that made it (while checks are on). Returns how
 * many.
 */
ONDK_API uint32_t ondk_wdk_report(FILE *out);

/*
 * What goes on by itself: threads, timers that are set, queued DPCs, NDK requests that are pending (known while checks
 * are on). 0: until something from outside comes, drivers are idle.
 */
ONDK_API uint32_t ondk_wdk_busy(void);

#ifdef __cplusplus
}
#endif

#endif
