/* SPDX-License-Identifier: MIT */
/* Declares the plug and play of the framework's devices. pnp.c has the table of steps. */
#ifndef WDK_WDF_PNP_H
#define WDK_WDF_PNP_H

#include <stdbool.h>

#include "wdf.h"

#include "wdk/wdf/object.h"

struct wdf_device;
struct wdf_interface;

/* The plug-and-play members of a device. */
struct wdf_pnp {
    /*
     * The physical device that wdf_pnp_add has created, and the device to which this device is attached. Both are NULL
     * in a control device and in the device of a miniport.
     */
    PDEVICE_OBJECT physical, below;
    WDF_PNPPOWER_EVENT_CALLBACKS events;
    unsigned done;                       /* number of steps of the start that are done */
    bool powered;                        /* power-managed queues deliver; under the device's lock */
    bool self_managed;                   /* EvtDeviceSelfManagedIoInit was called */
    bool started;                        /* the first start was attempted */
    bool interfaces_enabled;             /* a start has enabled them; later interfaces are not enabled automatically */
    struct wdf_object *raw, *translated; /* resource lists */
    struct wdf_interface *interfaces;
};

/*
 * Calls EvtDriverDeviceAdd for a new device, and starts the device that it has created. On success *physical receives
 * the new physical device. On failure removes everything, calls host_error and returns false.
 */
bool wdf_pnp_add(struct wdf_object *driver, PFN_WDF_DRIVER_DEVICE_ADD add, PDEVICE_OBJECT *physical);
/* Asks the device's driver whether the device can be removed. If not, calls host_error and returns false. */
bool wdf_pnp_query_remove(PDEVICE_OBJECT physical);
void wdf_pnp_remove(PDEVICE_OBJECT physical);

/* Attaches a device that is created for `physical`. */
NTSTATUS wdf_pnp_attach(struct wdf_device *d, PDEVICE_OBJECT physical, const WDF_PNPPOWER_EVENT_CALLBACKS *events);
/* Detaches the device, and frees its interfaces. */
void wdf_pnp_detach(struct wdf_device *d);
/* Handles IRP_MJ_PNP, IRP_MJ_POWER and IRP_MJ_SYSTEM_CONTROL of an enumerated device. */
NTSTATUS wdf_pnp_dispatch(struct wdf_device *d, PIRP irp);
/* Returns true for the physical devices that wdf_pnp_add creates. */
bool wdf_pnp_is_physical(PDEVICE_OBJECT device);
/* The dispatch routine of a physical device, which has no hardware. */
NTSTATUS wdf_pnp_dispatch_physical(PIRP irp);

#endif
