/* SPDX-License-Identifier: MIT */
/*
 * Implements WDFDEVICE_INIT, with which a driver sets a device up before it creates the device. The structure belongs
 * to the driver until WdfDeviceCreate or WdfDeviceInitFree.
 */
#include <stdlib.h>
#include <string.h>

#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"

bool wdf_copy_string(UNICODE_STRING *to, PCUNICODE_STRING from)
{
    WCHAR *copy = malloc(from->Length + sizeof(WCHAR));

    if (!copy)
        return false;
    if (from->Length)
        memcpy(copy, from->Buffer, from->Length);
    copy[from->Length / sizeof(WCHAR)] = 0;
    *to = (UNICODE_STRING){ from->Length, (USHORT)(from->Length + sizeof(WCHAR)), copy };
    return true;
}

struct WDFDEVICE_INIT *wdf_init_of(const char *routine, PWDFDEVICE_INIT init, const void *caller)
{
    if (!wdf_check_pointer(routine, init, caller))
        return NULL;
    if (!check_on() || live_has(LIVE_WDF, init))
        return init;
    check_failed(CHECK_WDF_HANDLE, routine, WDF_WRONG_HANDLE, (uintptr_t)init, 0, 0,
                 "%p is not a WDFDEVICE_INIT, or was freed or consumed by WdfDeviceCreate", (void *)init);
    return NULL;
}

/* Returns the argument DeviceInit of `routine`. If the pointer is wrong, reports the pointer and returns NULL. */
#define INIT_OF(routine) wdf_init_of(#routine, DeviceInit, __builtin_return_address(0))

/* Returns a structure with the defaults, or NULL if out of memory. */
static struct WDFDEVICE_INIT *wdf_init_new(struct wdf_object *driver)
{
    struct WDFDEVICE_INIT *init = calloc(1, sizeof *init);

    if (!init)
        return NULL;
    init->driver = driver;
    init->io_type = WdfDeviceIoBuffered;
    init->type = FILE_DEVICE_UNKNOWN;
    live_add(LIVE_WDF, init, "WDFDEVICE_INIT");
    return init;
}

PWDFDEVICE_INIT wdf_init_for_physical(struct wdf_object *driver, PDEVICE_OBJECT physical, struct wdf_device **created)
{
    struct WDFDEVICE_INIT *init = wdf_init_new(driver);

    if (!init)
        return NULL;
    init->physical = physical;
    init->created = created;
    return init;
}

PWDFDEVICE_INIT WdfControlDeviceInitAllocate(WDFDRIVER Driver, CONST UNICODE_STRING *SDDLString)
{
    struct wdf_object *driver = wdf_object_lookup("WdfControlDeviceInitAllocate", Driver, WDF_DRIVER);
    struct WDFDEVICE_INIT *init;

    irql_check_max("WdfControlDeviceInitAllocate", PASSIVE_LEVEL);
    if (!driver || !wdf_check_pointer("WdfControlDeviceInitAllocate", SDDLString, __builtin_return_address(0)))
        return NULL;
    init = wdf_init_new(driver);
    if (!init)
        return NULL;
    if (!wdf_copy_string(&init->sddl, SDDLString)) {
        WdfDeviceInitFree(init);
        return NULL;
    }
    return init;
}

void wdf_init_free_strings(struct WDFDEVICE_INIT *init)
{
    free(init->name.Buffer);
    free(init->sddl.Buffer);
}

VOID WdfDeviceInitFree(PWDFDEVICE_INIT DeviceInit)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitFree);

    irql_check_max("WdfDeviceInitFree", DISPATCH_LEVEL);
    if (!init)
        return;
    (void)live_remove(LIVE_WDF, init);
    wdf_init_free_strings(init);
    free(init);
}

static NTSTATUS wdf_init_set_string(UNICODE_STRING *to, PCUNICODE_STRING from)
{
    UNICODE_STRING copy = { 0 };

    if (from && !wdf_copy_string(&copy, from))
        return STATUS_INSUFFICIENT_RESOURCES;
    free(to->Buffer);
    *to = copy;
    return STATUS_SUCCESS;
}

NTSTATUS WdfDeviceInitAssignName(PWDFDEVICE_INIT DeviceInit, PCUNICODE_STRING DeviceName)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitAssignName);

    irql_check_max("WdfDeviceInitAssignName", PASSIVE_LEVEL);
    return init ? wdf_init_set_string(&init->name, DeviceName) : STATUS_INVALID_PARAMETER;
}

NTSTATUS WdfDeviceInitAssignSDDLString(PWDFDEVICE_INIT DeviceInit, PCUNICODE_STRING SDDLString)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitAssignSDDLString);

    irql_check_max("WdfDeviceInitAssignSDDLString", PASSIVE_LEVEL);
    if (!init)
        return STATUS_INVALID_PARAMETER;
    init->has_class = init->has_class || SDDLString;
    return wdf_init_set_string(&init->sddl, SDDLString);
}

VOID WdfDeviceInitSetIoType(PWDFDEVICE_INIT DeviceInit, WDF_DEVICE_IO_TYPE IoType)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetIoType);

    irql_check_max("WdfDeviceInitSetIoType", DISPATCH_LEVEL);
    if (init)
        init->io_type = IoType;
}

VOID WdfDeviceInitSetIoTypeEx(PWDFDEVICE_INIT DeviceInit, PWDF_IO_TYPE_CONFIG IoTypeConfig)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetIoTypeEx);

    irql_check_max("WdfDeviceInitSetIoTypeEx", DISPATCH_LEVEL);
    if (init && wdf_check_pointer("WdfDeviceInitSetIoTypeEx", IoTypeConfig, __builtin_return_address(0)))
        init->io_type = IoTypeConfig->ReadWriteIoType;
}

VOID WdfDeviceInitSetExclusive(PWDFDEVICE_INIT DeviceInit, BOOLEAN IsExclusive)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetExclusive);

    irql_check_max("WdfDeviceInitSetExclusive", DISPATCH_LEVEL);
    if (init)
        init->exclusive = IsExclusive;
}

VOID WdfDeviceInitSetDeviceType(PWDFDEVICE_INIT DeviceInit, DEVICE_TYPE DeviceType)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetDeviceType);

    irql_check_max("WdfDeviceInitSetDeviceType", DISPATCH_LEVEL);
    if (init)
        init->type = DeviceType;
}

VOID WdfDeviceInitSetDeviceClass(PWDFDEVICE_INIT DeviceInit, CONST GUID *DeviceClassGuid)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetDeviceClass);

    irql_check_max("WdfDeviceInitSetDeviceClass", DISPATCH_LEVEL);
    if (init && wdf_check_pointer("WdfDeviceInitSetDeviceClass", DeviceClassGuid, __builtin_return_address(0)))
        init->has_class = true;
}

VOID WdfDeviceInitSetCharacteristics(PWDFDEVICE_INIT DeviceInit, ULONG DeviceCharacteristics, BOOLEAN OrInValues)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetCharacteristics);

    irql_check_max("WdfDeviceInitSetCharacteristics", DISPATCH_LEVEL);
    if (init)
        init->characteristics = (OrInValues ? init->characteristics : 0) | DeviceCharacteristics;
}

VOID WdfDeviceInitSetFileObjectConfig(PWDFDEVICE_INIT DeviceInit, PWDF_FILEOBJECT_CONFIG FileObjectConfig,
                                      PWDF_OBJECT_ATTRIBUTES FileObjectAttributes)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetFileObjectConfig);

    irql_check_max("WdfDeviceInitSetFileObjectConfig", DISPATCH_LEVEL);
    if (!init || !wdf_check_pointer("WdfDeviceInitSetFileObjectConfig", FileObjectConfig, __builtin_return_address(0)))
        return;
    init->file = *FileObjectConfig;
    if (FileObjectAttributes)
        init->file_attributes = *FileObjectAttributes;
}

VOID WdfDeviceInitSetRequestAttributes(PWDFDEVICE_INIT DeviceInit, PWDF_OBJECT_ATTRIBUTES RequestAttributes)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetRequestAttributes);

    irql_check_max("WdfDeviceInitSetRequestAttributes", DISPATCH_LEVEL);
    if (init && wdf_check_pointer("WdfDeviceInitSetRequestAttributes", RequestAttributes, __builtin_return_address(0)))
        init->request_attributes = *RequestAttributes;
}

VOID WdfDeviceInitSetIoInCallerContextCallback(PWDFDEVICE_INIT DeviceInit,
                                               PFN_WDF_IO_IN_CALLER_CONTEXT EvtIoInCallerContext)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetIoInCallerContextCallback);

    irql_check_max("WdfDeviceInitSetIoInCallerContextCallback", DISPATCH_LEVEL);
    if (init)
        init->in_caller_context = EvtIoInCallerContext;
}

NTSTATUS WdfDeviceInitAssignWdmIrpPreprocessCallback(PWDFDEVICE_INIT DeviceInit,
                                                     PFN_WDFDEVICE_WDM_IRP_PREPROCESS EvtDeviceWdmIrpPreprocess,
                                                     UCHAR MajorFunction, PUCHAR MinorFunctions,
                                                     ULONG NumMinorFunctions)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitAssignWdmIrpPreprocessCallback);
    struct wdf_preprocess *p;

    irql_check_max("WdfDeviceInitAssignWdmIrpPreprocessCallback", DISPATCH_LEVEL);
    if (!init || !EvtDeviceWdmIrpPreprocess || MajorFunction > IRP_MJ_MAXIMUM_FUNCTION)
        return STATUS_INVALID_PARAMETER;
    p = &init->preprocess[MajorFunction];
    if (MinorFunctions && p->routine)
        return STATUS_INVALID_DEVICE_REQUEST;
    p->routine = EvtDeviceWdmIrpPreprocess;
    memset(p->minors, MinorFunctions ? 0 : 0xFF, sizeof p->minors);
    for (ULONG i = 0; MinorFunctions && i < NumMinorFunctions; i++)
        p->minors[MinorFunctions[i] / 64] |= 1ull << MinorFunctions[i] % 64;
    init->preprocesses = true;
    return STATUS_SUCCESS;
}

VOID WdfControlDeviceInitSetShutdownNotification(PWDFDEVICE_INIT DeviceInit,
                                                 PFN_WDF_DEVICE_SHUTDOWN_NOTIFICATION Notification, UCHAR ShutdownFlags)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfControlDeviceInitSetShutdownNotification);

    irql_check_max("WdfControlDeviceInitSetShutdownNotification", DISPATCH_LEVEL);
    if (init && ShutdownFlags)
        init->shutdown = Notification;
}

/* ---- Plug and play ----------------------------------------------------------------------------------------------- */

VOID WdfDeviceInitSetPnpPowerEventCallbacks(PWDFDEVICE_INIT DeviceInit,
                                            PWDF_PNPPOWER_EVENT_CALLBACKS PnpPowerEventCallbacks)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetPnpPowerEventCallbacks);

    irql_check_max("WdfDeviceInitSetPnpPowerEventCallbacks", DISPATCH_LEVEL);
    if (init && wdf_check_pointer("WdfDeviceInitSetPnpPowerEventCallbacks", PnpPowerEventCallbacks,
                                  __builtin_return_address(0)))
        init->pnp_events = *PnpPowerEventCallbacks;
}

VOID WdfDeviceInitSetPowerPolicyOwnership(PWDFDEVICE_INIT DeviceInit, BOOLEAN IsPowerPolicyOwner)
{
    UNREFERENCED_PARAMETER(IsPowerPolicyOwner);
    irql_check_max("WdfDeviceInitSetPowerPolicyOwnership", DISPATCH_LEVEL);
    (void)INIT_OF(WdfDeviceInitSetPowerPolicyOwnership);
}

VOID WdfDeviceInitSetPowerPageable(PWDFDEVICE_INIT DeviceInit)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetPowerPageable);

    irql_check_max("WdfDeviceInitSetPowerPageable", DISPATCH_LEVEL);
    if (init)
        init->power_pageable = true;
}

VOID WdfDeviceInitSetPowerNotPageable(PWDFDEVICE_INIT DeviceInit)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfDeviceInitSetPowerNotPageable);

    irql_check_max("WdfDeviceInitSetPowerNotPageable", DISPATCH_LEVEL);
    if (init)
        init->power_pageable = false;
}

PDEVICE_OBJECT WdfFdoInitWdmGetPhysicalDevice(PWDFDEVICE_INIT DeviceInit)
{
    struct WDFDEVICE_INIT *init = INIT_OF(WdfFdoInitWdmGetPhysicalDevice);

    irql_check_max("WdfFdoInitWdmGetPhysicalDevice", DISPATCH_LEVEL);
    return init ? init->physical : NULL;
}
