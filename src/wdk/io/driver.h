/* SPDX-License-Identifier: MIT */
/* Loading and unloading of drivers: what other files use or provide. */
#ifndef ONDK_WDK_DRIVER_H
#define ONDK_WDK_DRIVER_H

#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"

/*
 * Runs routine(context) at PASSIVE_LEVEL on a new thread, as Windows calls drivers, and waits until it has returned.
 * Returns false if no thread could be created.
 */
bool driver_call(void (*routine)(void *context), void *context) PRIVATE_EXPORT(driver_call);

/*
 * A driver model beside WDM: Storport's miniports or KMDF. A model takes part in loading and unloading. A model
 * registers itself in a constructor of its library. Any thread may load that library, perhaps while a driver is being
 * loaded. A model stays registered, and its library stays mapped, until the process ends.
 *
 * The functions are called for every driver, also for a driver that does not use the model. The calls are made at
 * PASSIVE_LEVEL on the host program's thread, and never for two drivers at once. A function may be NULL.
 */
struct driver_model {
    /* Called after DriverEntry has failed. DriverUnload will not be called. */
    void (*entry_failed)(PDRIVER_OBJECT driver);
    /* Called after DriverEntry has succeeded. Calls host_error and returns false if the driver must be unloaded. */
    bool (*start)(PDRIVER_OBJECT driver);
    /* Called when an unload begins. The unload fails afterwards if a device is open. */
    void (*before_remove)(PDRIVER_OBJECT driver);
    /* Called when no device is open, before DriverUnload. Afterwards the model must not call the driver. */
    void (*remove)(PDRIVER_OBJECT driver);
    struct driver_model *next; /* set by driver_add_model */
};
void driver_add_model(struct driver_model *model) PRIVATE_EXPORT(driver_add_model);

/* The default of every entry of MajorFunction. Completes the IRP with STATUS_INVALID_DEVICE_REQUEST. */
DRIVER_DISPATCH driver_invalid_request;

#endif
