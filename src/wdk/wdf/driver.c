/* SPDX-License-Identifier: MIT */
/*
 * The framework's driver object, and a miniport's device. A driver is removed from `drivers` before its objects are
 * deleted, so no new object finds the driver as its parent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>

#include "wdf.h"

#include "wdk/io/driver.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/object.h"

struct wdf_driver {
    struct wdf_object object;
    struct wdf_driver *next;
    PDRIVER_OBJECT driver;
    PFN_WDF_DRIVER_UNLOAD unload;
    bool miniport;
};

struct wdf_device {
    struct wdf_object object;
    PDEVICE_OBJECT device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wdf_driver *drivers;

static struct wdf_driver *wdf_driver_find(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d;

    pthread_mutex_lock(&lock);
    for (d = drivers; d && d->driver != driver; d = d->next)
        ;
    pthread_mutex_unlock(&lock);
    return d;
}

static void *wdf_module_of(const void *address)
{
    Dl_info info;

    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

struct wdf_object *wdf_driver_of_code(const void *address)
{
    void *module = wdf_module_of(address);
    struct wdf_driver *d;

    pthread_mutex_lock(&lock);
    for (d = drivers; d && wdf_module_of((const void *)(uintptr_t)d->driver->DriverInit) != module; d = d->next)
        ;
    pthread_mutex_unlock(&lock);
    return d ? &d->object : NULL;
}

/*
 * Calls EvtDriverUnload if requested, deletes the driver's object and all objects below it, and waits for work items.
 */
static void wdf_driver_delete(struct wdf_driver *d, bool call_unload)
{
    struct wdf_driver **at = &drivers;

    if (call_unload && d->unload)
        d->unload((WDFDRIVER)d);
    pthread_mutex_lock(&lock);
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    pthread_mutex_unlock(&lock);
    wdf_object_ref(&d->object);
    (void)wdf_object_delete(&d->object);
    wdf_work_wait(&d->object);
    wdf_object_unref(&d->object);
}

static VOID wdf_driver_unload(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d = wdf_driver_find(driver);

    if (d)
        wdf_driver_delete(d, true);
}

/* Deletes the driver's objects after DriverEntry has failed. A miniport calls WdfDriverMiniportUnload itself. */
static void wdf_entry_failed(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d = wdf_driver_find(driver);

    if (d && !d->miniport)
        wdf_driver_delete(d, false);
}

static struct driver_model wdf_model = { .entry_failed = wdf_entry_failed };

__attribute__((constructor)) static void wdf_register(void)
{
    driver_add_model(&wdf_model);
}

NTSTATUS WdfDriverCreate(PDRIVER_OBJECT DriverObject, PCUNICODE_STRING RegistryPath,
                         PWDF_OBJECT_ATTRIBUTES DriverAttributes, PWDF_DRIVER_CONFIG DriverConfig, WDFDRIVER *Driver)
{
    struct wdf_object *o;
    struct wdf_driver *d;
    NTSTATUS status;

    irql_check_max("WdfDriverCreate", PASSIVE_LEVEL);
    if (!DriverObject || !RegistryPath || !DriverConfig)
        return STATUS_INVALID_PARAMETER;
    if (DriverConfig->Size != sizeof *DriverConfig)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (wdf_driver_find(DriverObject))
        return STATUS_DRIVER_INTERNAL_ERROR;
    status = wdf_object_new(WDF_DRIVER, sizeof *d, DriverAttributes, NULL, &o);
    if (status)
        return status;
    d = CONTAINING_RECORD(o, struct wdf_driver, object);
    d->driver = DriverObject;
    d->unload = DriverConfig->EvtDriverUnload;
    d->miniport = DriverConfig->DriverInitFlags & WdfDriverInitNoDispatchOverride;
    if (!d->miniport)
        DriverObject->DriverUnload = wdf_driver_unload;
    pthread_mutex_lock(&lock);
    d->next = drivers;
    drivers = d;
    pthread_mutex_unlock(&lock);
    if (Driver)
        *Driver = (WDFDRIVER)d;
    return STATUS_SUCCESS;
}

VOID WdfDriverMiniportUnload(WDFDRIVER Driver)
{
    struct wdf_driver *d = wdf_object_lookup("WdfDriverMiniportUnload", Driver, WDF_DRIVER);

    irql_check_max("WdfDriverMiniportUnload", PASSIVE_LEVEL);
    if (d)
        wdf_driver_delete(d, true);
}

PDRIVER_OBJECT WdfDriverWdmGetDriverObject(WDFDRIVER Driver)
{
    struct wdf_driver *d = wdf_object_lookup("WdfDriverWdmGetDriverObject", Driver, WDF_DRIVER);

    return d ? d->driver : NULL;
}

WDFDRIVER WdfWdmDriverGetWdfDriverHandle(PDRIVER_OBJECT DriverObject)
{
    return (WDFDRIVER)wdf_driver_find(DriverObject);
}

NTSTATUS WdfDeviceMiniportCreate(WDFDRIVER Driver, PWDF_OBJECT_ATTRIBUTES Attributes, PDEVICE_OBJECT DeviceObject,
                                 PDEVICE_OBJECT AttachedDeviceObject, PDEVICE_OBJECT Pdo, WDFDEVICE *Device)
{
    struct wdf_object *driver = wdf_object_lookup("WdfDeviceMiniportCreate", Driver, WDF_DRIVER), *o;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(AttachedDeviceObject);
    UNREFERENCED_PARAMETER(Pdo);
    irql_check_max("WdfDeviceMiniportCreate", DISPATCH_LEVEL);
    if (!driver || !DeviceObject || (Attributes && Attributes->ParentObject))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new(WDF_DEVICE, sizeof(struct wdf_device), Attributes, driver, &o);
    if (status)
        return status;
    CONTAINING_RECORD(o, struct wdf_device, object)->device = DeviceObject;
    *Device = (WDFDEVICE)o;
    return STATUS_SUCCESS;
}

PDEVICE_OBJECT WdfDeviceWdmGetDeviceObject(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceWdmGetDeviceObject", Device, WDF_DEVICE);

    return d ? d->device : NULL;
}
