/* SPDX-License-Identifier: MIT */
/*
 * Implements the device interfaces of the framework's devices. The list of a device only grows, until the device is
 * deleted. The device's lock guards it.
 */
#include <stdlib.h>
#include <string.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/interface.h"
#include "wdk/wdf/memory.h"

struct wdf_interface {
    struct wdf_interface *next;
    GUID class;
    UNICODE_STRING reference; /* Buffer is NULL if there is none */
    UNICODE_STRING link;      /* from IoRegisterDeviceInterface */
    bool automatic;           /* the start of the device enables the interface */
};

static void device_interface_free(struct wdf_interface *i)
{
    free(i->reference.Buffer);
    RtlFreeUnicodeString(&i->link);
    free(i);
}

void wdf_interfaces_free(struct wdf_device *d)
{
    for (struct wdf_interface *i = d->pnp.interfaces, *next; i; i = next) {
        next = i->next;
        (void)IoSetDeviceInterfaceState(&i->link, FALSE);
        device_interface_free(i);
    }
    d->pnp.interfaces = NULL;
}

void wdf_interfaces_set_state(struct wdf_device *d, bool enabled)
{
    struct wdf_interface *first;

    pthread_mutex_lock(&d->lock);
    first = d->pnp.interfaces;
    pthread_mutex_unlock(&d->lock);
    for (struct wdf_interface *i = first; i; i = i->next)
        if (i->automatic || !enabled)
            (void)IoSetDeviceInterfaceState(&i->link, enabled);
}

static bool device_interface_is(const struct wdf_interface *i, const GUID *class, PCUNICODE_STRING reference)
{
    static const UNICODE_STRING none;

    return !memcmp(&i->class, class, sizeof *class) &&
           RtlEqualUnicodeString(i->reference.Buffer ? &i->reference : &none, reference ? reference : &none, TRUE);
}

static struct wdf_interface *device_interface_find(struct wdf_device *d, const GUID *class, PCUNICODE_STRING reference)
{
    struct wdf_interface *i;

    pthread_mutex_lock(&d->lock);
    for (i = d->pnp.interfaces; i && !device_interface_is(i, class, reference); i = i->next)
        ;
    pthread_mutex_unlock(&d->lock);
    return i;
}

static NTSTATUS device_interface_register(struct wdf_device *d, struct wdf_interface *i, PCUNICODE_STRING reference)
{
    NTSTATUS status;

    if (reference && !wdf_copy_string(&i->reference, reference))
        return STATUS_INSUFFICIENT_RESOURCES;
    status = IoRegisterDeviceInterface(d->pnp.physical, &i->class, reference ? &i->reference : NULL, &i->link);
    return NT_SUCCESS(status) ? STATUS_SUCCESS : status;
}

NTSTATUS WdfDeviceCreateDeviceInterface(WDFDEVICE Device, CONST GUID *InterfaceClassGUID,
                                        PCUNICODE_STRING ReferenceString)
{
    const char *routine = "WdfDeviceCreateDeviceInterface";
    struct wdf_device *d = wdf_object_lookup(routine, Device, WDF_DEVICE);
    struct wdf_interface *i;
    NTSTATUS status;

    irql_check_max(routine, PASSIVE_LEVEL);
    if (!d || !wdf_check_pointer(routine, InterfaceClassGUID, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (!d->pnp.physical)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (device_interface_find(d, InterfaceClassGUID, ReferenceString))
        return STATUS_SUCCESS;
    i = calloc(1, sizeof *i);
    if (!i)
        return STATUS_INSUFFICIENT_RESOURCES;
    i->class = *InterfaceClassGUID;
    i->automatic = !d->pnp.interfaces_enabled;
    status = device_interface_register(d, i, ReferenceString);
    if (!NT_SUCCESS(status)) {
        device_interface_free(i);
        return status;
    }
    pthread_mutex_lock(&d->lock);
    i->next = d->pnp.interfaces;
    d->pnp.interfaces = i;
    pthread_mutex_unlock(&d->lock);
    return status;
}

VOID WdfDeviceSetDeviceInterfaceState(WDFDEVICE Device, CONST GUID *InterfaceClassGUID,
                                      PCUNICODE_STRING ReferenceString, BOOLEAN IsInterfaceEnabled)
{
    const char *routine = "WdfDeviceSetDeviceInterfaceState";
    struct wdf_device *d = wdf_object_lookup(routine, Device, WDF_DEVICE);
    struct wdf_interface *i;

    irql_check_max(routine, PASSIVE_LEVEL);
    if (!d || !wdf_check_pointer(routine, InterfaceClassGUID, __builtin_return_address(0)))
        return;
    i = device_interface_find(d, InterfaceClassGUID, ReferenceString);
    if (!i)
        return;
    i->automatic = IsInterfaceEnabled;
    /* Before the first step of the start, no interface is enabled: the start enables those that are automatic. */
    if (d->pnp.done || !IsInterfaceEnabled)
        (void)IoSetDeviceInterfaceState(&i->link, IsInterfaceEnabled);
}

NTSTATUS WdfDeviceRetrieveDeviceInterfaceString(WDFDEVICE Device, CONST GUID *InterfaceClassGUID,
                                                PCUNICODE_STRING ReferenceString, WDFSTRING String)
{
    const char *routine = "WdfDeviceRetrieveDeviceInterfaceString";
    struct wdf_device *d = wdf_object_lookup(routine, Device, WDF_DEVICE);
    struct wdf_interface *i;

    irql_check_max(routine, PASSIVE_LEVEL);
    if (!d || !wdf_check_pointer(routine, InterfaceClassGUID, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    i = device_interface_find(d, InterfaceClassGUID, ReferenceString);
    return i ? wdf_string_set(routine, String, &i->link) : STATUS_OBJECT_NAME_NOT_FOUND;
}
