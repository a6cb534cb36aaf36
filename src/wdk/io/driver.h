/* SPDX-License-Identifier: MIT */
/* The functions of driver.c, which loads and unloads drivers, and the interface for driver models such as KMDF. */
#ifndef ONDK_WDK_DRIVER_H
#define ONDK_WDK_DRIVER_H

#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"

/*
 * Creates a thread that calls routine(context) at PASSIVE_LEVEL, and waits until `routine` has returned. (Windows also
 * calls DriverEntry and DriverUnload on a system thread.) Returns false if no thread could be created.
 */
bool driver_call(void (*routine)(void *context), void *context) PRIVATE_EXPORT(driver_call);

/*
 * The callbacks of a driver model other than WDM: Storport or KMDF. They are called when a driver is loaded or
 * unloaded. The constructor of the model's library calls driver_add_model. Any thread may load that library, even while
 * a driver is being loaded. The model stays registered, and its library stays mapped, until the process ends.
 *
 * The callbacks are called for every driver, even if the driver does not use the model. They are called at
 * PASSIVE_LEVEL on the host program's thread, and never for two drivers at the same time. A callback may be NULL.
 */
struct driver_model {
    /* Called after DriverEntry has failed. DriverUnload will not be called. */
    void (*entry_failed)(PDRIVER_OBJECT driver);
    /* Called after DriverEntry has succeeded. Calls host_error and returns false if the driver must be unloaded. */
    bool (*start)(PDRIVER_OBJECT driver);
    /* Called when an unload begins. The unload still fails afterwards if a device is open. */
    void (*before_remove)(PDRIVER_OBJECT driver);
    /*
     * Called when no device is open. If the driver refuses to be removed, calls host_error and returns false; the
     * unload then fails.
     */
    bool (*can_remove)(PDRIVER_OBJECT driver);
    /*
     * Called after can_remove, before DriverUnload. When this callback has returned, the model must not call the
     * driver.
     */
    void (*remove)(PDRIVER_OBJECT driver);
    struct driver_model *next; /* set by driver_add_model */
};
void driver_add_model(struct driver_model *model) PRIVATE_EXPORT(driver_add_model);

/*
 * Each function calls one callback of every model. If a `start` or `can_remove` callback returns false, the function
 * returns false and does not call the remaining models.
 */
bool models_start(PDRIVER_OBJECT driver);
void models_entry_failed(PDRIVER_OBJECT driver);
void models_before_remove(PDRIVER_OBJECT driver);
bool models_can_remove(PDRIVER_OBJECT driver);
void models_remove(PDRIVER_OBJECT driver);

/* Completes the IRP with STATUS_INVALID_DEVICE_REQUEST. Each entry of MajorFunction first points to this function. */
DRIVER_DISPATCH driver_invalid_request;

#endif
