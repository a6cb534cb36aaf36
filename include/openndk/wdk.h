/* SPDX-License-Identifier: MIT */
/*
 * The interface for programs that host drivers, for example ndkrun or a test: loading drivers, sending them requests,
 * checking them, and reporting what they leave behind. Drivers themselves include the headers in include/wdk.
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

/* What happens when a driver breaks a rule of the kernel interface. */
typedef enum ondk_wdk_checks {
    ONDK_WDK_CHECKS_OFF,   /* no checks */
    ONDK_WDK_CHECKS_GO_ON, /* report the violation and let the driver continue */
    ONDK_WDK_CHECKS_STOP,  /* report it as a bug check (code, four parameters, stack), then call abort() */
} ondk_wdk_checks_t;

/*
 * Sets what happens when a driver breaks a rule. Must be called before the first driver is loaded. Without a call the
 * environment variable ONDK_WDK_CHECKS (off, go-on, stop) decides; the default is stop.
 */
ONDK_API void ondk_wdk_set_checks(ondk_wdk_checks_t checks);

/* Returns how many broken rules have been reported so far. */
ONDK_API uint32_t ondk_wdk_violations(void);

/* Sets the stream for reports and DbgPrint; the default is standard error. The caller must keep out open. */
ONDK_API void ondk_wdk_set_output(FILE *out);

/*
 * When a driver uses the interface index driver_index, it gets the host's interface host_index. Must be called before
 * the first driver is loaded. Returns false if an index is 0 or there are 64 mappings already.
 */
ONDK_API bool ondk_wdk_map_interface(uint32_t driver_index, uint32_t host_index);

/*
 * Maps an address that a driver has built in to an address of the host: driver_address becomes host_address in connects
 * and listens, and host_address becomes driver_address in addresses that the driver receives. Both are numeric texts of
 * one family. A later mapping of the same address replaces the earlier one. Must be called before the first driver is
 * loaded. Returns false if a text is not an address, if the families differ, or if there are 64 mappings already.
 */
ONDK_API bool ondk_wdk_map_address(const char *driver_address, const char *host_address);

/* ---- Drivers ----------------------------------------------------------------------------------------------------- */

typedef struct ondk_wdk_driver ondk_wdk_driver_t;

/*
 * Loads a driver's shared object and calls its DriverEntry at PASSIVE_LEVEL on a thread of its own, with the registry
 * path \Registry\Machine\System\CurrentControlSet\Services\<service_name>.
 *   service_name  NULL: the file's name without directory and extension
 *   driver        receives the driver if 0 is returned
 *   status        receives DriverEntry's NTSTATUS, or the reason why it was not called
 * Returns 0, or -1 if the driver is not loaded; ondk_wdk_error then returns the reason.
 */
ONDK_API int ondk_wdk_load(const char *path, const char *service_name, ondk_wdk_driver_t **driver, uint32_t *status);

/*
 * Calls DriverUnload at PASSIVE_LEVEL on a thread of its own, and unloads the driver. If checks are on and the driver
 * leaves anything behind, that is reported as rule unload-outstanding. The driver's code then stays mapped, because a
 * thread may still return to it. Returns 0, or -1 if the driver still runs; ondk_wdk_error then returns the reason.
 * *status is STATUS_INVALID_DEVICE_REQUEST if the driver has no DriverUnload, STATUS_DEVICE_BUSY if one of its devices
 * is open.
 */
ONDK_API int ondk_wdk_unload(ondk_wdk_driver_t *driver, uint32_t *status);

/* ---- Devices, as user-mode programs use them --------------------------------------------------------------------- */

typedef struct ondk_wdk_device ondk_wdk_device_t;

/*
 * Opens a driver's device as CreateFile does: "\\\\.\\Name" or "Name" names a symbolic link, "\\Device\\Name" is the
 * device's own name. The driver receives IRP_MJ_CREATE, and IRP_MJ_CLEANUP and IRP_MJ_CLOSE from ondk_wdk_close.
 * Returns 0 if *device is open, else -1 and the reason in *status.
 */
ONDK_API int ondk_wdk_open(const char *name, ondk_wdk_device_t **device, uint32_t *status);
ONDK_API void ondk_wdk_close(ondk_wdk_device_t *device);

/*
 * Sends a request and waits until it completes. Several threads may do so at the same time.
 *   out_length  receives the number of bytes that the driver wrote to out; may be NULL
 *   status      receives the status that the driver completed the request with
 * Returns 0, or -1 if the request could not be sent.
 */
ONDK_API int ondk_wdk_device_control(ondk_wdk_device_t *device, uint32_t code, const void *in, uint32_t in_length,
                                     void *out, uint32_t out_capacity, uint32_t *out_length, uint32_t *status);
ONDK_API int ondk_wdk_read(ondk_wdk_device_t *device, uint64_t offset, void *out, uint32_t out_capacity,
                           uint32_t *out_length, uint32_t *status);
ONDK_API int ondk_wdk_write(ondk_wdk_device_t *device, uint64_t offset, const void *in, uint32_t in_length,
                            uint32_t *in_taken, uint32_t *status);

/*
 * A SCSI command for a unit of a Storport miniport's adapter, sent with IOCTL_SCSI_PASS_THROUGH_DIRECT. The first
 * adapter's device is "\\Device\\RaidPort0" or "\\\\.\\Scsi0:", the second one's "\\Device\\RaidPort1", and so on.
 *   out          true: data is sent to the unit; false: data is received from it
 *   data_length  the size of data in bytes; receives the number of bytes transferred
 *   timeout      in seconds; 0 means 10. When it passes, the port resets the unit, then the bus.
 *   scsi_status, sense_length, sense   receive the unit's answer
 * ondk_wdk_scsi returns 0, or -1 if the command could not be sent. *status is STATUS_SUCCESS even if the unit refused
 * the command; scsi_status then has the reason.
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

/* Cancels the pending requests of the device, as CancelIo does. Each ends when its driver completes it. */
ONDK_API void ondk_wdk_cancel(ondk_wdk_device_t *device);

/* Sends IRP_MJ_SHUTDOWN to the devices that are registered for it and unregisters them. */
ONDK_API void ondk_wdk_shutdown(void);

/* ---- The registry that drivers see ------------------------------------------------------------------------------- */

/*
 * Keys begin with HKEY_LOCAL_MACHINE, HKLM or \Registry\Machine. A service usually has its parameters in
 * HKLM\System\CurrentControlSet\Services\<service_name>\Parameters. Missing keys are created.
 *   type  as in Windows: 1 text, 3 bytes, 4 a 32-bit number, 7 a list of texts, 11 a 64-bit number
 * _set stores the data unchanged (texts are UTF-16); _set_text converts from UTF-8 and adds the terminator. Both return
 * 0, or -1 and set ondk_wdk_error.
 */
ONDK_API int ondk_wdk_registry_set(const char *key, const char *name, uint32_t type, const void *data, uint32_t size);
ONDK_API int ondk_wdk_registry_set_text(const char *key, const char *name, uint32_t type, const char *text,
                                        uint32_t length);
/* Reads a .reg file in UTF-8 or UTF-16. Returns 0, or -1 and sets ondk_wdk_error. */
ONDK_API int ondk_wdk_registry_load(const char *path);

/*
 * Sets the directory of drivers' files: \??\C:\a is C/a in it, \SystemRoot\a is SystemRoot/a. Without a call drivers
 * find no files. Returns 0, or -1 if it is not a directory.
 */
ONDK_API int ondk_wdk_set_file_root(const char *directory);

/* Describes the last failed call of this thread in one sentence. Thread-local; valid until the thread's next call. */
ONDK_API const char *ondk_wdk_error(void);

/*
 * Prints every object that drivers have created and not freed, if checks are on with the call stack of its creation.
 * Returns the number of these objects.
 */
ONDK_API uint32_t ondk_wdk_report(FILE *out);

/*
 * Returns how many activities of drivers can still run without input from outside: threads, set timers, queued DPCs
 * and, if checks are on, pending NDK requests. 0: the drivers are idle.
 */
ONDK_API uint32_t ondk_wdk_busy(void);

#ifdef __cplusplus
}
#endif

#endif
