/* SPDX-License-Identifier: MIT */
/*
 * Creates, starts and removes adapters. An adapter exists from StorPortInitialize in DriverEntry until its removal
 * before DriverUnload. If its miniport has not completed all requests, the adapter is not freed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storport.h"

#include "wdk/common/host_error.h"
#include "wdk/common/text.h"
#include "wdk/io/driver.h"
#include "wdk/io/pnp.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/timer.h"
#include "wdk/mm/pool.h"
#include "wdk/storport/port.h"

enum { INITIAL_DEPTH = 250, MAX_IOS = 1000, MAX_IOS_PER_UNIT = 255, REMOVE_TIMEOUT_S = 5 };

/* The driver object extension that StorPortInitialize allocates. */
struct port_driver {
    HW_INITIALIZATION_DATA miniport;
    bool is_virtual;
    UNICODE_STRING registry_path; /* the RegistryPath of DriverEntry */
    struct port_adapter *adapter;
};

static const char driver_key;

static struct port_driver *port_driver_of(PDRIVER_OBJECT driver)
{
    return IoGetDriverObjectExtension(driver, (PVOID)(uintptr_t)&driver_key);
}

/* ---- DriverEntry ------------------------------------------------------------------------------------------------- */

static VOID port_driver_unload(PDRIVER_OBJECT driver)
{
    struct port_driver *d = port_driver_of(driver);

    if (d->miniport.HwCleanupTracing)
        d->miniport.HwCleanupTracing(driver);
}

static bool port_driver_has_routines(const HW_INITIALIZATION_DATA *m)
{
    return m->HwInitialize && m->HwStartIo && m->HwFindAdapter && m->HwResetBus;
}

/*
 * Copies *hw_data, which is a HW_INITIALIZATION_DATA or the older VIRTUAL_HW_INITIALIZATION_DATA. The older structure
 * equals the beginning of the newer one, up to HwTracingEnabled.
 */
static ULONG port_driver_copy_miniport(struct port_driver *d, const HW_INITIALIZATION_DATA *hw_data)
{
    ULONG size = hw_data->HwInitializationDataSize;

    if (size != sizeof(HW_INITIALIZATION_DATA) && size != sizeof(VIRTUAL_HW_INITIALIZATION_DATA))
        return (ULONG)STATUS_REVISION_MISMATCH;
    memcpy(&d->miniport, hw_data, size);
    d->is_virtual = size == sizeof(VIRTUAL_HW_INITIALIZATION_DATA) ||
                    d->miniport.FeatureSupport & STOR_FEATURE_VIRTUAL_MINIPORT;
    return port_driver_has_routines(&d->miniport) ? STATUS_SUCCESS : (ULONG)STATUS_INVALID_PARAMETER;
}

ULONG StorPortInitialize(PVOID Argument1, PVOID Argument2, struct _HW_INITIALIZATION_DATA *HwInitializationData,
                         PVOID HwContext)
{
    PDRIVER_OBJECT driver = Argument1;
    struct port_driver registered = { .is_virtual = false };
    void *extension;
    ULONG status;

    UNREFERENCED_PARAMETER(HwContext);
    irql_check_max("StorPortInitialize", PASSIVE_LEVEL);
    if (!Argument1 || !Argument2 || !HwInitializationData)
        return (ULONG)STATUS_INVALID_PARAMETER;
    status = port_driver_copy_miniport(&registered, HwInitializationData);
    if (status)
        return status;
    registered.registry_path = *(PUNICODE_STRING)Argument2;
    status = (ULONG)IoAllocateDriverObjectExtension(driver, (PVOID)(uintptr_t)&driver_key, sizeof registered,
                                                    &extension);
    if (status)
        return status;
    *(struct port_driver *)extension = registered;
    driver->DriverUnload = port_driver_unload;
    driver->MajorFunction[IRP_MJ_CREATE] = port_device_open;
    driver->MajorFunction[IRP_MJ_CLEANUP] = port_device_open;
    driver->MajorFunction[IRP_MJ_CLOSE] = port_device_open;
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = port_device_control;
    driver->MajorFunction[IRP_MJ_PNP] = port_pnp_dispatch;
    if (registered.miniport.HwInitializeTracing)
        registered.miniport.HwInitializeTracing(Argument1, Argument2);
    return STATUS_SUCCESS;
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t numbers; /* bit N is set if an adapter has the number N */

static bool port_reserve_number(unsigned *number)
{
    bool free_one;

    pthread_mutex_lock(&numbers_lock);
    free_one = ~numbers != 0;
    *number = free_one ? (unsigned)__builtin_ctzll(~numbers) : 0;
    numbers |= UINT64_C(1) << *number;
    pthread_mutex_unlock(&numbers_lock);
    return free_one;
}

static void port_release_number(unsigned number)
{
    pthread_mutex_lock(&numbers_lock);
    numbers &= ~(UINT64_C(1) << number);
    pthread_mutex_unlock(&numbers_lock);
}

static bool port_make_name(UNICODE_STRING *name, const char *format, unsigned number)
{
    char narrow[32];

    (void)snprintf(narrow, sizeof narrow, format, number);
    name->Buffer = text_wide_copy(narrow);
    name->Length = name->MaximumLength = (USHORT)(strlen(narrow) * sizeof(WCHAR));
    return name->Buffer != NULL;
}

/*
 * Creates the adapter's device and, below it, a device that takes the place of the PDO. Adapter 0's device has the name
 * \Device\RaidPort0. Programs open it as \\.\Scsi0:.
 */
static bool port_create_devices(struct port_adapter *a)
{
    UNICODE_STRING name = { 0 }, link = { 0 };
    bool made = port_make_name(&name, "\\Device\\RaidPort%u", a->number) &&
                port_make_name(&link, "\\??\\Scsi%u:", a->number) &&
                !IoCreateDevice(a->driver, 0, NULL, FILE_DEVICE_CONTROLLER, 0, FALSE, &a->lower) &&
                !IoCreateDevice(a->driver, sizeof a, &name, FILE_DEVICE_CONTROLLER, FILE_DEVICE_SECURE_OPEN, FALSE,
                                &a->device) &&
                !IoCreateSymbolicLink(&link, &name);

    if (made) {
        *(struct port_adapter **)a->device->DeviceExtension = a;
        a->device->Flags |= DO_DIRECT_IO;
        a->lower->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
        (void)IoAttachDeviceToDeviceStack(a->device, a->lower);
    }
    free(name.Buffer);
    free(link.Buffer);
    return made;
}

static void port_delete_devices(struct port_adapter *a)
{
    UNICODE_STRING link = { 0 };

    if (port_make_name(&link, "\\??\\Scsi%u:", a->number))
        (void)IoDeleteSymbolicLink(&link);
    free(link.Buffer);
    if (a->lower)
        IoDetachDevice(a->lower);
    if (a->device)
        IoDeleteDevice(a->device);
    if (a->lower)
        IoDeleteDevice(a->lower);
}

struct port_adapter *port_of_device(PDEVICE_OBJECT device)
{
    return device->DeviceExtension ? *(struct port_adapter **)device->DeviceExtension : NULL;
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

static void port_adapter_set_defaults(struct port_adapter *a)
{
    PORT_CONFIGURATION_INFORMATION *c = &a->config;
    const HW_INITIALIZATION_DATA *m = &a->miniport;

    c->Length = sizeof *c;
    c->AdapterInterfaceType = m->AdapterInterfaceType;
    c->MaximumTransferLength = SP_UNINITIALIZED_VALUE;
    c->NumberOfPhysicalBreaks = 0x11;
    c->DmaChannel = c->DmaPort = SP_UNINITIALIZED_VALUE;
    memset(c->InitiatorBusId, 0xff, sizeof c->InitiatorBusId);
    c->ScatterGather = c->Master = c->Dma32BitAddresses = TRUE;
    c->MapBuffers = m->MapBuffers;
    c->NeedPhysicalAddresses = m->NeedPhysicalAddresses;
    c->TaggedQueuing = c->AutoRequestSense = c->MultipleRequestPerLu = TRUE;
    c->MaximumNumberOfTargets = SCSI_MAXIMUM_TARGETS_PER_BUS;
    c->SrbType = m->SrbTypeFlags & SRB_TYPE_FLAG_STORAGE_REQUEST_BLOCK ? SRB_TYPE_STORAGE_REQUEST_BLOCK
                                                                       : SRB_TYPE_SCSI_REQUEST_BLOCK;
    c->AddressType = STORAGE_ADDRESS_TYPE_BTL8;
    c->DeviceExtensionSize = m->DeviceExtensionSize;
    c->SpecificLuExtensionSize = m->SpecificLuExtensionSize;
    c->SrbExtensionSize = m->SrbExtensionSize;
    c->Dma64BitAddresses = SCSI_DMA64_SYSTEM_SUPPORTED;
    c->MaximumNumberOfLogicalUnits = SCSI_MAXIMUM_LOGICAL_UNITS;
    c->WmiDataProvider = TRUE;
    c->SynchronizationModel = StorSynchronizeFullDuplex;
    c->MaxNumberOfIO = MAX_IOS;
    c->MaxIOsPerLun = MAX_IOS_PER_UNIT;
    c->InitialLunQueueDepth = INITIAL_DEPTH;
}

static const char *port_adapter_call_find(struct port_adapter *a)
{
    static const char *const answers[] = { "SP_RETURN_NOT_FOUND", NULL, "SP_RETURN_ERROR", "SP_RETURN_BAD_CONFIG" };
    PVIRTUAL_HW_FIND_ADAPTER find = (PVIRTUAL_HW_FIND_ADAPTER)(uintptr_t)a->miniport.HwFindAdapter;
    struct port_inside inside = port_enter(PASSIVE_LEVEL);
    BOOLEAN again = FALSE;
    char argument[] = "";
    ULONG answer;

    a->finding = true;
    answer = find(a->extension->data, a->lower, a->device, a->lower, argument, &a->config, &again);
    a->finding = false;
    port_exit(&inside, "HwFindAdapter", a->miniport.HwFindAdapter);
    if (!a->config.NumberOfBuses)
        a->config.NumberOfBuses = 1;
    return answer <= SP_RETURN_BAD_CONFIG ? answers[answer] : "an unknown value";
}

/*
 * Calls HwInitialize at PASSIVE_LEVEL. Windows calls it at the level of the adapter's interrupt, with the interrupt
 * spin lock held. A virtual miniport has no interrupt.
 */
static bool port_adapter_initialize(struct port_adapter *a)
{
    struct port_inside inside = port_enter(PASSIVE_LEVEL);
    bool done = a->miniport.HwInitialize(a->extension->data);

    port_exit(&inside, "HwInitialize", (const void *)(uintptr_t)a->miniport.HwInitialize);
    if (!done || !a->passive)
        return done;
    inside = port_enter(PASSIVE_LEVEL);
    done = a->passive(a->extension->data);
    port_exit(&inside, "HwPassiveInitialize", (const void *)(uintptr_t)a->passive);
    return done;
}

static void port_adapter_control(struct port_adapter *a, SCSI_ADAPTER_CONTROL_TYPE type, void *parameters, KIRQL level)
{
    struct port_inside inside;

    if (!a->miniport.HwAdapterControl)
        return;
    inside = port_enter(level);
    (void)a->miniport.HwAdapterControl(a->extension->data, type, parameters);
    port_exit(&inside, "HwAdapterControl", (const void *)(uintptr_t)a->miniport.HwAdapterControl);
}

static void port_adapter_query_controls(struct port_adapter *a)
{
    struct {
        ULONG MaxControlType;
        BOOLEAN SupportedTypeList[ScsiAdapterControlMax];
    } list = { .MaxControlType = ScsiAdapterControlMax };

    port_adapter_control(a, ScsiQuerySupportedControlTypes, &list, PASSIVE_LEVEL);
    for (int i = 0; i < ScsiAdapterControlMax; i++)
        a->supports[i] = list.SupportedTypeList[i];
}

static struct port_adapter *port_adapter_alloc(PDRIVER_OBJECT driver, const struct port_driver *d)
{
    struct port_adapter *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->extension = pool_alloc(sizeof *a->extension + d->miniport.DeviceExtensionSize);
    if (!a->extension) {
        free(a);
        return NULL;
    }
    a->extension->adapter = a;
    a->driver = driver;
    a->miniport = d->miniport;
    a->busy_until = UINT32_MAX;
    a->bus_type = BusTypeScsi;
    InitializeListHead(&a->waiting);
    InitializeListHead(&a->started);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    KeInitializeTimer(&a->watch);
    KeInitializeDpc(&a->watch_dpc, port_watch, a);
    KeInitializeTimer(&a->timer);
    KeInitializeDpc(&a->timer_dpc, port_timer_expired, a);
    port_adapter_set_defaults(a);
    return a;
}

static void port_adapter_free(struct port_adapter *a)
{
    for (struct port_unit *u = a->units, *next; u; u = next) {
        next = u->next;
        if (u->extension)
            pool_free("DriverUnload", u->extension);
        free(u);
    }
    pool_free("DriverUnload", a->extension);
    port_registry_forget(a);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void port_adapter_free_resources(struct port_adapter *a)
{
    struct port_inside inside;

    if (!a->miniport.HwFreeAdapterResources)
        return;
    inside = port_enter(PASSIVE_LEVEL);
    a->miniport.HwFreeAdapterResources(a->extension->data);
    port_exit(&inside, "HwFreeAdapterResources", (const void *)(uintptr_t)a->miniport.HwFreeAdapterResources);
}

const char *port_adapter_start(struct port_adapter *a)
{
    const char *refused = port_adapter_call_find(a);

    if (refused)
        return refused;
    if (!port_adapter_initialize(a)) {
        port_adapter_free_resources(a);
        return "HwInitialize or the passive initialization returned FALSE";
    }
    port_adapter_query_controls(a);
    a->device->AlignmentRequirement = a->config.AlignmentMask;
    port_scan_first(a);
    return NULL;
}

struct port_start {
    PDRIVER_OBJECT driver;
    struct port_driver *known;
    const char *refused;
};

/*
 * Stops timers, DPCs and work items: `removing` prevents new ones, and dpc_flush waits for running DPCs. Also fails
 * the waiting requests. One of them may be a unit reset of watch.c, which nothing else would end.
 */
static void port_adapter_stop_work(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    a->removing = true;
    pthread_mutex_unlock(&a->lock);
    (void)timer_cancel(&a->watch);
    (void)timer_cancel(&a->timer);
    dpc_flush();
    pthread_mutex_lock(&a->lock);
    port_end_waiting(a);
    pthread_mutex_unlock(&a->lock);
}

/*
 * Waits until `users` is 0, and stops the timers and DPCs. Requires the lock, and unlocks it while it waits. Flushes
 * the DPCs last, because the last user may have queued a DPC.
 */
static void port_adapter_wait_for_users(struct port_adapter *a)
{
    a->removing = true;
    do {
        while (a->users)
            pthread_cond_wait(&a->changed, &a->lock);
        pthread_mutex_unlock(&a->lock);
        port_adapter_stop_work(a);
        pthread_mutex_lock(&a->lock);
    } while (a->users);
}

/* Removes the adapter, and frees it if the miniport has completed all requests. */
static void port_adapter_close(struct port_adapter *a)
{
    bool is_in_use;

    pthread_mutex_lock(&a->lock);
    port_adapter_wait_for_users(a);
    is_in_use = a->active > 0;
    pthread_mutex_unlock(&a->lock);
    port_delete_devices(a);
    port_release_number(a->number);
    if (!is_in_use)
        port_adapter_free(a);
}

/* Sends the removal, and closes the adapter. Stops the adapter if the driver has not passed the removal to the port. */
static void port_adapter_remove(struct port_adapter *a)
{
    (void)pnp_send(a->device, IRP_MN_REMOVE_DEVICE);
    if (atomic_load(&a->running))
        port_adapter_stop(a);
    port_adapter_close(a);
}

/* Sends IRP_MN_START_DEVICE. Returns NULL, or the reason why the adapter did not start. */
static const char *port_adapter_send_start(struct port_adapter *a)
{
    NTSTATUS status = pnp_send(a->device, IRP_MN_START_DEVICE);

    if (a->start_failure)
        return a->start_failure;
    if (!NT_SUCCESS(status))
        return "the driver's dispatch routine failed IRP_MN_START_DEVICE";
    return atomic_load(&a->pnp) == PNP_NEW ? "the driver has not passed IRP_MN_START_DEVICE to Storport" : NULL;
}

static void port_adapter_run_start(void *context)
{
    struct port_start *s = context;
    struct port_adapter *a = port_adapter_alloc(s->driver, s->known);

    s->refused = "no memory";
    if (!a)
        return;
    if (!port_reserve_number(&a->number)) {
        port_adapter_free(a);
        return;
    }
    if (!port_create_devices(a)) {
        s->refused = "no devices";
        port_adapter_close(a);
        return;
    }
    s->refused = port_adapter_send_start(a);
    if (s->refused)
        port_adapter_remove(a); /* as the PnP manager does if a driver fails the start */
    else
        s->known->adapter = a;
}

static bool storport_start(PDRIVER_OBJECT driver)
{
    struct port_start s = { driver, port_driver_of(driver), NULL };

    if (!s.known || !s.known->is_virtual)
        return true;
    if (!driver_call(port_adapter_run_start, &s))
        s.refused = "no thread";
    if (s.refused)
        (void)host_error("the miniport's adapter did not start: %s", s.refused);
    else
        for (PDEVICE_OBJECT d = driver->DeviceObject; d; d = d->NextDevice)
            d->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    return !s.refused;
}

/* ---- Removal ----------------------------------------------------------------------------------------------------- */

static void port_adapter_run_complete_services(void *context)
{
    struct port_adapter *a = context;
    struct port_inside inside = port_enter(PASSIVE_LEVEL);

    a->miniport.HwCompleteServiceIrp(a->extension->data);
    port_exit(&inside, "HwCompleteServiceIrp", (const void *)(uintptr_t)a->miniport.HwCompleteServiceIrp);
}

static void storport_before_remove(PDRIVER_OBJECT driver)
{
    struct port_driver *d = port_driver_of(driver);

    if (d && d->adapter && d->adapter->miniport.HwCompleteServiceIrp)
        (void)driver_call(port_adapter_run_complete_services, d->adapter);
}

static void port_adapter_report_removed(struct port_adapter *a, const struct port_unit *u)
{
    struct port_call c = { .function = SRB_FUNCTION_PNP,
                           .timeout = REMOVE_TIMEOUT_S,
                           .pnp_action = StorRemoveDevice,
                           .pnp_flags = u ? 0 : SRB_PNP_FLAGS_ADAPTER_REQUEST };

    if (u) {
        c.path = u->path;
        c.target = u->target;
        c.lun = u->lun;
    }
    (void)port_send(a, &c);
}

static void port_adapter_stop_scans(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    a->no_scan = true;
    while (a->scanning)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

void port_adapter_stop(struct port_adapter *a)
{
    port_adapter_stop_scans(a);
    for (const struct port_unit *u = a->units; u; u = u->next)
        if (u->found)
            port_adapter_report_removed(a, u);
    port_adapter_report_removed(a, NULL);
    atomic_store(&a->running, false);
    port_adapter_stop_work(a);
    if (a->supports[ScsiStopAdapter])
        port_adapter_control(a, ScsiStopAdapter, NULL, DISPATCH_LEVEL);
    port_adapter_free_resources(a);
}

static void port_adapter_run_remove(void *context)
{
    port_adapter_remove(context);
}

struct port_query {
    struct port_adapter *adapter;
    NTSTATUS status;
};

static void port_adapter_run_query(void *context)
{
    struct port_query *q = context;

    q->status = pnp_send(q->adapter->device, IRP_MN_QUERY_REMOVE_DEVICE);
    if (!NT_SUCCESS(q->status))
        (void)pnp_send(q->adapter->device, IRP_MN_CANCEL_REMOVE_DEVICE);
}

static bool storport_can_remove(PDRIVER_OBJECT driver)
{
    struct port_driver *d = port_driver_of(driver);
    struct port_query q = { d ? d->adapter : NULL, STATUS_SUCCESS };

    if (q.adapter && driver_call(port_adapter_run_query, &q) && !NT_SUCCESS(q.status))
        (void)host_error("the driver's dispatch routine failed IRP_MN_QUERY_REMOVE_DEVICE: 0x%08X", (ULONG)q.status);
    return NT_SUCCESS(q.status);
}

static void storport_remove(PDRIVER_OBJECT driver)
{
    struct port_driver *d = port_driver_of(driver);

    if (d && d->adapter && driver_call(port_adapter_run_remove, d->adapter))
        d->adapter = NULL;
}

static struct driver_model storport_model = {
    .start = storport_start,
    .before_remove = storport_before_remove,
    .can_remove = storport_can_remove,
    .remove = storport_remove,
};

__attribute__((constructor)) static void storport_register(void)
{
    driver_add_model(&storport_model);
}
