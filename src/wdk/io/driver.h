/* SPDX-License-Identifier: MIT */
/* Loaded drivers. */
#ifndef ONDK_WDK_DRIVER_H
#define ONDK_WDK_DRIVER_H

#include <stdbool.h>

#include "wdm.h"

#include "base/private_export.h"

/*
 * Runs routine(context) at PASSIVE_LEVEL on a thread of its own, as the system calls drivers, and waits for its end.
 */
bool driver_call(void (*routine)(void *context), void *context) PRIVATE_EXPORT(driver_call);

/*
 * A model that drivers are written for beside WDM: Storport's miniports, KMDF. It takes part in loading and unloading.
 * A model registers itself in a constructor of the library that contains it, hence on any thread that loads the
 * library, perhaps while a driver is being loaded. It stays registered, and its library stays mapped, for good.
 * The functions are called at PASSIVE_LEVEL on the host program's thread for every driver, also for one that does not
 * use the model, and never for two drivers at once. Each may be NULL.
 */
struct driver_model {
    /* DriverEntry has failed, so that DriverUnload will not be called. */
    void (*entry_failed)(PDRIVER_OBJECT driver);
    /* DriverEntry has succeeded. False: the driver is to be unloaded again; host_error says why. */
    bool (*start)(PDRIVER_OBJECT driver);
    /* The driver is to be unloaded; that still fails if a device is open. */
    void (*before_remove)(PDRIVER_OBJECT driver);
    /* No device is open. After this the model calls the driver no more; DriverUnload is next. */
    void (*remove)(PDRIVER_OBJECT driver);
    struct driver_model *next; /* set by driver_add_model */
};
void driver_add_model(struct driver_model *model) PRIVATE_EXPORT(driver_add_model);

/* What every entry of MajorFunction is until the driver puts its own there. */
DRIVER_DISPATCH driver_invalid_request;

#endif
