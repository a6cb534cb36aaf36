/* SPDX-License-Identifier: MIT */
/*
 * Implements the framework's devices: initialization, creation, names and the dispatch routine. A device is in the list
 * of all devices until its last reference is dropped, so IRPs of files that outlive the device's deletion find the
 * device.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdf.h"
#include "wdmsec.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wdf_device *devices; /* newest first */

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

/* ---- WDFDEVICE_INIT ---------------------------------------------------------------------------------------------- */

static struct WDFDEVICE_INIT *wdf_init_of(const char *routine, PWDFDEVICE_INIT init, const void *caller)
{
    if (!wdf_check_pointer(routine, init, caller))
        return NULL;
    if (!check_on() || live_has(LIVE_WDF, init))
        return init;
    check_failed(CHECK_WDF_HANDLE, routine, WDF_WRONG_HANDLE, (uintptr_t)init, 0, 0,
                 "%p is not a WDFDEVICE_INIT, or was freed or consumed by WdfDeviceCreate", (void *)init);
    return NULL;
}

/*
 * Returns the argument DeviceInit of the calling routine. If the pointer is wrong, reports the address of the routine's
 * caller, and returns NULL.
 */
#define INIT_OF(routine) wdf_init_of(#routine, DeviceInit, __builtin_return_address(0))

PWDFDEVICE_INIT WdfControlDeviceInitAllocate(WDFDRIVER Driver, CONST UNICODE_STRING *SDDLString)
{
    struct wdf_object *driver = wdf_object_lookup("WdfControlDeviceInitAllocate", Driver, WDF_DRIVER);
    struct WDFDEVICE_INIT *init;

    irql_check_max("WdfControlDeviceInitAllocate", PASSIVE_LEVEL);
    if (!driver || !wdf_check_pointer("WdfControlDeviceInitAllocate", SDDLString, __builtin_return_address(0)))
        return NULL;
    init = calloc(1, sizeof *init);
    if (!init)
        return NULL;
    if (!wdf_copy_string(&init->sddl, SDDLString)) {
        free(init);
        return NULL;
    }
    init->driver = driver;
    init->io_type = WdfDeviceIoBuffered;
    init->type = FILE_DEVICE_UNKNOWN;
    live_add(LIVE_WDF, init, "WDFDEVICE_INIT");
    return init;
}

static void wdf_init_free_strings(struct WDFDEVICE_INIT *init)
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

/* ---- Creating and deleting --------------------------------------------------------------------------------------- */

static void wdf_device_destroy(struct wdf_object *o)
{
    struct wdf_device *d = CONTAINING_RECORD(o, struct wdf_device, object), **at = &devices;

    pthread_mutex_lock(&lock);
    while (*at && *at != d)
        at = &(*at)->next;
    if (*at)
        *at = d->next;
    pthread_mutex_unlock(&lock);
    wdf_init_free_strings(&d->init);
    free(d->link.Buffer);
    pthread_mutex_destroy(&d->lock);
}

/* Removes the names and the device object. The queues are deleted already, so the framework refuses requests. */
static void wdf_device_stop(struct wdf_object *o)
{
    struct wdf_device *d = CONTAINING_RECORD(o, struct wdf_device, object);

    if (d->link.Buffer)
        (void)IoDeleteSymbolicLink(&d->link);
    if (!d->miniport)
        IoDeleteDevice(d->device);
}

static NTSTATUS wdf_device_new(struct wdf_object *driver, PWDF_OBJECT_ATTRIBUTES attributes, PDEVICE_OBJECT device,
                               struct wdf_device **out)
{
    struct wdf_object *o;
    struct wdf_device *d;
    NTSTATUS status = wdf_object_new(WDF_DEVICE, sizeof *d, attributes, driver, &o);

    if (status)
        return status;
    d = CONTAINING_RECORD(o, struct wdf_device, object);
    d->device = device;
    pthread_mutex_init(&d->lock, NULL);
    wdf_sync_init(&d->sync, o->passive);
    o->sync = &d->sync;
    InitializeListHead(&d->queues);
    InitializeListHead(&d->files);
    o->stop = wdf_device_stop;
    o->destroy = wdf_device_destroy;
    *out = d;
    return STATUS_SUCCESS;
}

/* Makes the device known. Returns false if the driver is being deleted; the caller then discards the device. */
static bool wdf_device_insert(struct wdf_device *d)
{
    pthread_mutex_lock(&lock);
    d->next = devices;
    devices = d;
    pthread_mutex_unlock(&lock);
    return wdf_object_insert(&d->object);
}

struct wdf_device *wdf_device_enter(PDEVICE_OBJECT device)
{
    struct wdf_device *d;

    pthread_mutex_lock(&lock);
    for (d = devices; d && (d->device != device || !wdf_activity_try_begin(&d->object)); d = d->next)
        ;
    pthread_mutex_unlock(&lock);
    return d;
}

NTSTATUS WdfDeviceMiniportCreate(WDFDRIVER Driver, PWDF_OBJECT_ATTRIBUTES Attributes, PDEVICE_OBJECT DeviceObject,
                                 PDEVICE_OBJECT AttachedDeviceObject, PDEVICE_OBJECT Pdo, WDFDEVICE *Device)
{
    struct wdf_object *driver = wdf_object_lookup("WdfDeviceMiniportCreate", Driver, WDF_DRIVER);
    struct wdf_device *d;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(AttachedDeviceObject);
    UNREFERENCED_PARAMETER(Pdo);
    irql_check_max("WdfDeviceMiniportCreate", DISPATCH_LEVEL);
    if (!driver || !DeviceObject || (Attributes && Attributes->ParentObject))
        return STATUS_INVALID_PARAMETER;
    status = wdf_device_new(driver, Attributes, DeviceObject, &d);
    if (status)
        return status;
    d->miniport = true;
    if (!wdf_device_insert(d)) {
        wdf_object_discard(&d->object);
        return STATUS_DELETE_PENDING;
    }
    *Device = (WDFDEVICE)d;
    return STATUS_SUCCESS;
}

static NTSTATUS wdf_init_check(const struct WDFDEVICE_INIT *init, PWDF_OBJECT_ATTRIBUTES attributes)
{
    const WDF_FILEOBJECT_CONFIG *file = &init->file;

    if (attributes && attributes->ParentObject)
        return STATUS_WDF_PARENT_ASSIGNMENT_NOT_ALLOWED;
    if (file->Size && file->Size != sizeof *file)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (file->Size && file->AutoForwardCleanupClose == WdfTrue)
        return STATUS_INVALID_PARAMETER;
    if ((init->file_attributes.Size && init->file_attributes.ParentObject) ||
        (init->request_attributes.Size && init->request_attributes.ParentObject))
        return STATUS_WDF_PARENT_ASSIGNMENT_NOT_ALLOWED;
    if (init->has_class && !init->name.Buffer && !(init->characteristics & FILE_AUTOGENERATED_DEVICE_NAME))
        return STATUS_INVALID_SECURITY_DESCR;
    return STATUS_SUCCESS;
}

static NTSTATUS wdf_init_create_device(struct WDFDEVICE_INIT *init, PDEVICE_OBJECT *device)
{
    ULONG characteristics = init->characteristics | FILE_DEVICE_SECURE_OPEN;
    PDRIVER_OBJECT driver = WdfDriverWdmGetDriverObject((WDFDRIVER)init->driver);
    NTSTATUS status;

    if (!init->name.Buffer)
        characteristics |= FILE_AUTOGENERATED_DEVICE_NAME;
    if (init->sddl.Buffer)
        status = IoCreateDeviceSecure(driver, 0, init->name.Buffer ? &init->name : NULL, init->type, characteristics,
                                      init->exclusive, &init->sddl, NULL, device);
    else
        status = IoCreateDevice(driver, 0, init->name.Buffer ? &init->name : NULL, init->type, characteristics,
                                init->exclusive, device);
    if (!NT_SUCCESS(status))
        return status;
    if (init->preprocesses)
        (*device)->StackSize++; /* for a completion routine of EvtDeviceWdmIrpPreprocess */
    if (init->io_type == WdfDeviceIoBuffered)
        (*device)->Flags |= DO_BUFFERED_IO;
    else if (init->io_type >= WdfDeviceIoDirect)
        (*device)->Flags |= DO_DIRECT_IO;
    return status;
}

NTSTATUS WdfDeviceCreate(PWDFDEVICE_INIT *DeviceInit, PWDF_OBJECT_ATTRIBUTES DeviceAttributes, WDFDEVICE *Device)
{
    const void *caller = __builtin_return_address(0);
    struct WDFDEVICE_INIT *init;
    PDEVICE_OBJECT device;
    struct wdf_device *d;
    NTSTATUS status;

    irql_check_max("WdfDeviceCreate", PASSIVE_LEVEL);
    if (!wdf_check_pointer("WdfDeviceCreate", DeviceInit, caller) ||
        !wdf_check_pointer("WdfDeviceCreate", Device, caller))
        return STATUS_INVALID_PARAMETER;
    init = wdf_init_of("WdfDeviceCreate", *DeviceInit, caller);
    if (!init)
        return STATUS_INVALID_PARAMETER;
    status = wdf_init_check(init, DeviceAttributes);
    if (NT_SUCCESS(status))
        status = wdf_init_create_device(init, &device);
    if (!NT_SUCCESS(status))
        return status;
    status = wdf_device_new(init->driver, DeviceAttributes, device, &d);
    if (NT_SUCCESS(status)) {
        d->init = *init;
        if (!wdf_device_insert(d)) {
            memset(&d->init, 0, sizeof d->init); /* the strings remain those of *DeviceInit */
            wdf_object_discard(&d->object);
            status = STATUS_DELETE_PENDING;
        }
    }
    if (!NT_SUCCESS(status)) {
        IoDeleteDevice(device);
        return status;
    }
    (void)live_remove(LIVE_WDF, init);
    free(init);
    if (d->init.shutdown)
        (void)IoRegisterShutdownNotification(device);
    *DeviceInit = NULL;
    *Device = (WDFDEVICE)d;
    return STATUS_SUCCESS;
}

NTSTATUS WdfDeviceCreateSymbolicLink(WDFDEVICE Device, PCUNICODE_STRING SymbolicLinkName)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceCreateSymbolicLink", Device, WDF_DEVICE);
    UNICODE_STRING link;
    NTSTATUS status;

    irql_check_max("WdfDeviceCreateSymbolicLink", PASSIVE_LEVEL);
    if (!d || !wdf_check_pointer("WdfDeviceCreateSymbolicLink", SymbolicLinkName, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (d->link.Buffer || !d->init.name.Buffer)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!wdf_copy_string(&link, SymbolicLinkName))
        return STATUS_INSUFFICIENT_RESOURCES;
    status = IoCreateSymbolicLink(&link, &d->init.name);
    if (NT_SUCCESS(status))
        d->link = link;
    else
        free(link.Buffer);
    return status;
}

VOID WdfControlFinishInitializing(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfControlFinishInitializing", Device, WDF_DEVICE);

    irql_check_max("WdfControlFinishInitializing", DISPATCH_LEVEL);
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->finished = true;
    pthread_mutex_unlock(&d->lock);
    d->device->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

PDEVICE_OBJECT WdfDeviceWdmGetDeviceObject(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceWdmGetDeviceObject", Device, WDF_DEVICE);

    return d ? d->device : NULL;
}

WDFDEVICE WdfWdmDeviceGetWdfDeviceHandle(PDEVICE_OBJECT DeviceObject)
{
    struct wdf_device *d = wdf_device_enter(DeviceObject);
    struct wdf_object *root = d ? wdf_root_of(&d->object) : NULL;

    if (d) {
        wdf_object_unref(&d->object); /* the driver's own reference keeps the device */
        wdf_activity_end(root);
    }
    return (WDFDEVICE)d;
}

WDFDRIVER WdfDeviceGetDriver(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetDriver", Device, WDF_DEVICE);

    return d ? (WDFDRIVER)d->object.parent : NULL;
}

WDFQUEUE WdfDeviceGetDefaultQueue(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetDefaultQueue", Device, WDF_DEVICE);

    return d ? (WDFQUEUE)d->default_queue : NULL;
}

ULONG WdfDeviceGetCharacteristics(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetCharacteristics", Device, WDF_DEVICE);

    return d ? d->device->Characteristics : 0;
}

VOID WdfDeviceSetCharacteristics(WDFDEVICE Device, ULONG DeviceCharacteristics)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceSetCharacteristics", Device, WDF_DEVICE);

    if (d)
        d->device->Characteristics = DeviceCharacteristics;
}

NTSTATUS WdfDeviceRetrieveDeviceName(WDFDEVICE Device, WDFSTRING String)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceRetrieveDeviceName", Device, WDF_DEVICE);

    irql_check_max("WdfDeviceRetrieveDeviceName", PASSIVE_LEVEL);
    if (!d)
        return STATUS_INVALID_PARAMETER;
    return d->init.name.Buffer ? wdf_string_set("WdfDeviceRetrieveDeviceName", String, &d->init.name)
                               : STATUS_INVALID_DEVICE_REQUEST;
}
