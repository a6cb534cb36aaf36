/* SPDX-License-Identifier: MIT */
/*
 * Implements the framework's driver object. A driver is removed from `drivers` before its objects are deleted, so no
 * new object finds the driver as its parent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "wdf.h"

#include "wdk/io/driver.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/object.h"

struct wdf_driver {
    struct wdf_object object;
    struct wdf_driver *next;
    PDRIVER_OBJECT driver;
    PFN_WDF_DRIVER_UNLOAD unload;
    PFN_WDF_DRIVER_DEVICE_ADD add; /* NULL: the driver gets no device */
    PDEVICE_OBJECT physical;       /* the device that was added, or NULL */
    UNICODE_STRING registry_path;
    bool miniport;
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

static void wdf_driver_destroy(struct wdf_object *o)
{
    free(CONTAINING_RECORD(o, struct wdf_driver, object)->registry_path.Buffer);
}

const UNICODE_STRING *wdf_driver_registry_path(struct wdf_object *driver)
{
    return &CONTAINING_RECORD(driver, struct wdf_driver, object)->registry_path;
}

/* Calls EvtDriverUnload if requested, deletes the driver's object and all objects below it, and waits for activity. */
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
    wdf_activity_wait(&d->object);
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

/* Adds a device if the driver wants one. */
static bool wdf_start(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d = wdf_driver_find(driver);

    return !d || d->miniport || !d->add || wdf_pnp_add(&d->object, d->add, &d->physical);
}

static bool wdf_can_remove(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d = wdf_driver_find(driver);

    return !d || !d->physical || wdf_pnp_query_remove(d->physical);
}

static void wdf_remove(PDRIVER_OBJECT driver)
{
    struct wdf_driver *d = wdf_driver_find(driver);

    if (!d || !d->physical)
        return;
    wdf_pnp_remove(d->physical);
    d->physical = NULL;
}

static struct driver_model wdf_model = {
    .entry_failed = wdf_entry_failed,
    .start = wdf_start,
    .can_remove = wdf_can_remove,
    .remove = wdf_remove,
};

__attribute__((constructor)) static void wdf_register(void)
{
    driver_add_model(&wdf_model);
}

static NTSTATUS wdf_driver_check_config(const WDF_DRIVER_CONFIG *c)
{
    if (c->Size != sizeof *c)
        return STATUS_INFO_LENGTH_MISMATCH;
    return c->DriverInitFlags & WdfDriverInitNonPnpDriver && c->EvtDriverDeviceAdd ? STATUS_INVALID_PARAMETER
                                                                                   : STATUS_SUCCESS;
}

/*
 * Makes the framework handle the driver's IRPs and its unload, unless the driver is a miniport. As on Windows, a
 * non-PnP driver without EvtDriverUnload cannot be unloaded.
 */
static void wdf_driver_set_routines(struct wdf_driver *d, ULONG flags)
{
    if (d->miniport)
        return;
    if (d->unload || !(flags & WdfDriverInitNonPnpDriver))
        d->driver->DriverUnload = wdf_driver_unload;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        d->driver->MajorFunction[i] = wdf_dispatch;
}

NTSTATUS WdfDriverCreate(PDRIVER_OBJECT DriverObject, PCUNICODE_STRING RegistryPath,
                         PWDF_OBJECT_ATTRIBUTES DriverAttributes, PWDF_DRIVER_CONFIG DriverConfig, WDFDRIVER *Driver)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_object *o;
    struct wdf_driver *d;
    NTSTATUS status;

    irql_check_max("WdfDriverCreate", PASSIVE_LEVEL);
    if (!wdf_check_pointer("WdfDriverCreate", DriverObject, caller) ||
        !wdf_check_pointer("WdfDriverCreate", RegistryPath, caller) ||
        !wdf_check_pointer("WdfDriverCreate", DriverConfig, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_driver_check_config(DriverConfig);
    if (!status && wdf_driver_find(DriverObject))
        status = STATUS_DRIVER_INTERNAL_ERROR;
    if (!status)
        status = wdf_object_new(WDF_DRIVER, sizeof *d, DriverAttributes, NULL, &o);
    if (status)
        return status;
    d = CONTAINING_RECORD(o, struct wdf_driver, object);
    o->destroy = wdf_driver_destroy;
    o->framework = true;
    if (!wdf_copy_string(&d->registry_path, RegistryPath)) {
        wdf_object_discard(o);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    d->driver = DriverObject;
    d->unload = DriverConfig->EvtDriverUnload;
    d->add = DriverConfig->EvtDriverDeviceAdd;
    d->miniport = DriverConfig->DriverInitFlags & WdfDriverInitNoDispatchOverride;
    wdf_driver_set_routines(d, DriverConfig->DriverInitFlags);
    (void)wdf_object_insert(o); /* succeeds, because the object has no parent */
    pthread_mutex_lock(&lock);
    d->next = drivers;
    drivers = d;
    pthread_mutex_unlock(&lock);
    if (Driver)
        *Driver = (WDFDRIVER)d;
    return STATUS_SUCCESS;
}

PWSTR WdfDriverGetRegistryPath(WDFDRIVER Driver)
{
    struct wdf_driver *d = wdf_object_lookup("WdfDriverGetRegistryPath", Driver, WDF_DRIVER);

    irql_check_max("WdfDriverGetRegistryPath", PASSIVE_LEVEL);
    return d ? d->registry_path.Buffer : NULL;
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

/* Returns the driver whose code calls this routine. */
WDFDRIVER WdfGetDriver(VOID)
{
    return (WDFDRIVER)wdf_driver_of_code(__builtin_return_address(0));
}

enum { MAJOR_VERSION = 1, MINOR_VERSION = 15 };

BOOLEAN WdfDriverIsVersionAvailable(WDFDRIVER Driver, PWDF_DRIVER_VERSION_AVAILABLE_PARAMS VersionAvailableParams)
{
    struct wdf_driver *d = wdf_object_lookup("WdfDriverIsVersionAvailable", Driver, WDF_DRIVER);
    const WDF_DRIVER_VERSION_AVAILABLE_PARAMS *p = VersionAvailableParams;

    irql_check_max("WdfDriverIsVersionAvailable", PASSIVE_LEVEL);
    return d && p && p->Size == sizeof *p && p->MajorVersion == MAJOR_VERSION && p->MinorVersion <= MINOR_VERSION;
}

NTSTATUS WdfDriverRetrieveVersionString(WDFDRIVER Driver, WDFSTRING String)
{
    DECLARE_CONST_UNICODE_STRING(version, L"OpenNDK KMDF 1.15");

    irql_check_max("WdfDriverRetrieveVersionString", PASSIVE_LEVEL);
    if (!wdf_object_lookup("WdfDriverRetrieveVersionString", Driver, WDF_DRIVER))
        return STATUS_INVALID_PARAMETER;
    return wdf_string_set("WdfDriverRetrieveVersionString", String, &version);
}

VOID WdfVerifierDbgBreakPoint(VOID) {}

WDFDRIVER WdfWdmDriverGetWdfDriverHandle(PDRIVER_OBJECT DriverObject)
{
    return (WDFDRIVER)wdf_driver_find(DriverObject);
}
