/* SPDX-License-Identifier: MIT */
/*
 * Implements the plug and play of the framework's devices. This file takes the place of the PnP manager and of a bus
 * driver for software devices. It finds one device for each driver that has EvtDriverDeviceAdd. The table below has the
 * steps of a start. A removal, and a start of which a step fails, undo the steps that are done, the last one first. The
 * invariant: a step that is done is undone exactly once.
 *
 * | step            | start                                 | removal                              |
 * |-----------------|---------------------------------------|--------------------------------------|
 * | hardware        | EvtDevicePrepareHardware              | EvtDeviceReleaseHardware, also if    |
 * |                 |                                       | EvtDevicePrepareHardware has failed  |
 * | power           | EvtDeviceD0Entry                      | EvtDeviceD0Exit                      |
 * | interrupts      | EvtDeviceD0EntryPostInterruptsEnabled | EvtDeviceD0ExitPreInterruptsDisabled |
 * | queues          | power-managed queues deliver          | they stop                            |
 * | self-managed IO | EvtDeviceSelfManagedIoInit            | EvtDeviceSelfManagedIoSuspend        |
 * | interfaces      | are enabled                           | are disabled                         |
 *
 * After the last step is undone, a removal purges the power-managed queues, calls EvtDeviceSelfManagedIoFlush, purges
 * the other queues, calls EvtDeviceSelfManagedIoCleanup, and deletes the device. It calls the two callbacks only if
 * EvtDeviceSelfManagedIoInit was called.
 */
#include "wdf.h"

#include "wdk/common/host_error.h"
#include "wdk/io/driver.h"
#include "wdk/io/pnp.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/interface.h"
#include "wdk/wdf/queue.h"

/* ---- Resource lists ---------------------------------------------------------------------------------------------- */

ULONG WdfCmResourceListGetCount(WDFCMRESLIST List)
{
    irql_check_max("WdfCmResourceListGetCount", DISPATCH_LEVEL);
    (void)wdf_object_lookup("WdfCmResourceListGetCount", List, WDF_CMRESLIST);
    return 0;
}

PCM_PARTIAL_RESOURCE_DESCRIPTOR WdfCmResourceListGetDescriptor(WDFCMRESLIST List, ULONG Index)
{
    UNREFERENCED_PARAMETER(Index);
    irql_check_max("WdfCmResourceListGetDescriptor", DISPATCH_LEVEL);
    (void)wdf_object_lookup("WdfCmResourceListGetDescriptor", List, WDF_CMRESLIST);
    return NULL;
}

static NTSTATUS pnp_new_list(struct wdf_device *d, struct wdf_object **out)
{
    struct wdf_object *o;
    NTSTATUS status = wdf_object_new(WDF_CMRESLIST, sizeof *o, NULL, &d->object, &o);

    if (!NT_SUCCESS(status))
        return status;
    o->framework = true;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *out = o;
    return status;
}

static void pnp_delete_list(struct wdf_object **list)
{
    if (*list)
        (void)wdf_object_delete(*list);
    *list = NULL;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

/* Calls a callback that receives the device and a power state. Returns STATUS_SUCCESS if `routine` is NULL. */
static NTSTATUS pnp_call_power(struct wdf_device *d, PFN_WDF_DEVICE_D0_ENTRY routine, const char *name)
{
    struct wdf_call call;
    NTSTATUS status;

    if (!routine)
        return STATUS_SUCCESS;
    wdf_call_begin(&call, NULL);
    status = routine((WDFDEVICE)d, WdfPowerDeviceD3Final);
    wdf_call_end(&call, name, (const void *)(uintptr_t)routine);
    return status;
}

static NTSTATUS pnp_call(struct wdf_device *d, PFN_WDF_DEVICE_SELF_MANAGED_IO_INIT routine, const char *name)
{
    struct wdf_call call;
    NTSTATUS status;

    if (!routine)
        return STATUS_SUCCESS;
    wdf_call_begin(&call, NULL);
    status = routine((WDFDEVICE)d);
    wdf_call_end(&call, name, (const void *)(uintptr_t)routine);
    return status;
}

static void pnp_call_void(struct wdf_device *d, PFN_WDF_DEVICE_SELF_MANAGED_IO_FLUSH routine, const char *name)
{
    struct wdf_call call;

    if (!routine)
        return;
    wdf_call_begin(&call, NULL);
    routine((WDFDEVICE)d);
    wdf_call_end(&call, name, (const void *)(uintptr_t)routine);
}

static void pnp_hardware_release(struct wdf_device *d)
{
    PFN_WDF_DEVICE_RELEASE_HARDWARE routine = d->pnp.events.EvtDeviceReleaseHardware;
    struct wdf_call call;

    if (routine) {
        wdf_call_begin(&call, NULL);
        (void)routine((WDFDEVICE)d, (WDFCMRESLIST)d->pnp.translated);
        wdf_call_end(&call, "EvtDeviceReleaseHardware", (const void *)(uintptr_t)routine);
    }
    pnp_delete_list(&d->pnp.raw);
    pnp_delete_list(&d->pnp.translated);
}

static NTSTATUS pnp_hardware_prepare(struct wdf_device *d)
{
    PFN_WDF_DEVICE_PREPARE_HARDWARE routine = d->pnp.events.EvtDevicePrepareHardware;
    struct wdf_call call;
    NTSTATUS status = pnp_new_list(d, &d->pnp.raw);

    if (NT_SUCCESS(status))
        status = pnp_new_list(d, &d->pnp.translated);
    if (NT_SUCCESS(status) && routine) {
        wdf_call_begin(&call, NULL);
        status = routine((WDFDEVICE)d, (WDFCMRESLIST)d->pnp.raw, (WDFCMRESLIST)d->pnp.translated);
        wdf_call_end(&call, "EvtDevicePrepareHardware", (const void *)(uintptr_t)routine);
    }
    if (!NT_SUCCESS(status))
        pnp_hardware_release(d);
    return status;
}

static NTSTATUS pnp_power_enter(struct wdf_device *d)
{
    return pnp_call_power(d, d->pnp.events.EvtDeviceD0Entry, "EvtDeviceD0Entry");
}

static void pnp_power_exit(struct wdf_device *d)
{
    (void)pnp_call_power(d, d->pnp.events.EvtDeviceD0Exit, "EvtDeviceD0Exit");
}

static NTSTATUS pnp_interrupts_enter(struct wdf_device *d)
{
    return pnp_call_power(d, d->pnp.events.EvtDeviceD0EntryPostInterruptsEnabled,
                          "EvtDeviceD0EntryPostInterruptsEnabled");
}

static void pnp_interrupts_exit(struct wdf_device *d)
{
    (void)pnp_call_power(d, d->pnp.events.EvtDeviceD0ExitPreInterruptsDisabled, "EvtDeviceD0ExitPreInterruptsDisabled");
}

static NTSTATUS pnp_queues_start(struct wdf_device *d)
{
    wdf_device_set_power(d, true);
    return STATUS_SUCCESS;
}

static void pnp_queues_stop(struct wdf_device *d)
{
    wdf_device_set_power(d, false);
}

static NTSTATUS pnp_self_managed_init(struct wdf_device *d)
{
    d->pnp.self_managed = true;
    return pnp_call(d, d->pnp.events.EvtDeviceSelfManagedIoInit, "EvtDeviceSelfManagedIoInit");
}

static void pnp_self_managed_suspend(struct wdf_device *d)
{
    (void)pnp_call(d, d->pnp.events.EvtDeviceSelfManagedIoSuspend, "EvtDeviceSelfManagedIoSuspend");
}

static NTSTATUS pnp_interfaces_enable(struct wdf_device *d)
{
    d->pnp.interfaces_enabled = true;
    wdf_interfaces_set_state(d, true);
    return STATUS_SUCCESS;
}

static void pnp_interfaces_disable(struct wdf_device *d)
{
    wdf_interfaces_set_state(d, false);
}

static const struct step {
    NTSTATUS (*start)(struct wdf_device *d);
    void (*undo)(struct wdf_device *d);
} steps[] = {
    { pnp_hardware_prepare, pnp_hardware_release },      { pnp_power_enter, pnp_power_exit },
    { pnp_interrupts_enter, pnp_interrupts_exit },       { pnp_queues_start, pnp_queues_stop },
    { pnp_self_managed_init, pnp_self_managed_suspend }, { pnp_interfaces_enable, pnp_interfaces_disable },
};

static void pnp_undo(struct wdf_device *d)
{
    while (d->pnp.done)
        steps[--d->pnp.done].undo(d);
}

/* ---- Requests of the PnP manager --------------------------------------------------------------------------------- */

static NTSTATUS pnp_start(struct wdf_device *d)
{
    NTSTATUS status = STATUS_SUCCESS;

    if (d->pnp.started)
        return STATUS_INVALID_DEVICE_STATE;
    d->pnp.started = true;
    while (NT_SUCCESS(status) && d->pnp.done < ARRAYSIZE(steps)) {
        status = steps[d->pnp.done].start(d);
        d->pnp.done += NT_SUCCESS(status);
    }
    if (!NT_SUCCESS(status))
        pnp_undo(d);
    return status;
}

static NTSTATUS pnp_forward(struct wdf_device *d, PIRP irp)
{
    IoSkipCurrentIrpStackLocation(irp);
    return IoCallDriver(d->pnp.below, irp);
}

static NTSTATUS pnp_forwarded(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    UNREFERENCED_PARAMETER(device);
    UNREFERENCED_PARAMETER(irp);
    (void)KeSetEvent(context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* The device below starts first. */
static NTSTATUS pnp_handle_start(struct wdf_device *d, PIRP irp)
{
    NTSTATUS status;
    KEVENT done;

    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IoCopyCurrentIrpStackLocationToNext(irp);
    IoSetCompletionRoutine(irp, pnp_forwarded, &done, TRUE, TRUE, TRUE);
    status = IoCallDriver(d->pnp.below, irp);
    if (status == STATUS_PENDING) {
        (void)KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
        status = irp->IoStatus.Status;
    }
    if (NT_SUCCESS(status))
        status = pnp_start(d);
    return wdf_complete_irp(irp, status);
}

static NTSTATUS pnp_handle_remove(struct wdf_device *d, PIRP irp)
{
    NTSTATUS status;

    pnp_undo(d);
    wdf_device_shut_down_queues(d, true);
    if (d->pnp.self_managed)
        pnp_call_void(d, d->pnp.events.EvtDeviceSelfManagedIoFlush, "EvtDeviceSelfManagedIoFlush");
    wdf_device_shut_down_queues(d, false);
    if (d->pnp.self_managed)
        pnp_call_void(d, d->pnp.events.EvtDeviceSelfManagedIoCleanup, "EvtDeviceSelfManagedIoCleanup");
    irp->IoStatus.Status = STATUS_SUCCESS;
    status = pnp_forward(d, irp);
    (void)wdf_object_delete(&d->object);
    return status;
}

NTSTATUS wdf_pnp_dispatch(struct wdf_device *d, PIRP irp)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);
    NTSTATUS status;

    if (s->MajorFunction != IRP_MJ_PNP)
        return pnp_forward(d, irp);
    switch (s->MinorFunction) {
    case IRP_MN_START_DEVICE:
        return pnp_handle_start(d, irp);
    case IRP_MN_QUERY_REMOVE_DEVICE:
        status = pnp_call(d, d->pnp.events.EvtDeviceQueryRemove, "EvtDeviceQueryRemove");
        if (!NT_SUCCESS(status))
            return wdf_complete_irp(irp, status);
        irp->IoStatus.Status = STATUS_SUCCESS;
        return pnp_forward(d, irp);
    case IRP_MN_REMOVE_DEVICE:
        return pnp_handle_remove(d, irp);
    default:
        return pnp_forward(d, irp);
    }
}

/* ---- The physical device ----------------------------------------------------------------------------------------- */

bool wdf_pnp_is_physical(PDEVICE_OBJECT device)
{
    return device->Flags & DO_BUS_ENUMERATED_DEVICE;
}

NTSTATUS wdf_pnp_dispatch_physical(PIRP irp)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);
    NTSTATUS status = irp->IoStatus.Status; /* does not change for a request that is not handled */

    if (s->MajorFunction == IRP_MJ_POWER)
        status = STATUS_SUCCESS;
    else if (s->MajorFunction == IRP_MJ_PNP && s->MinorFunction <= IRP_MN_CANCEL_STOP_DEVICE)
        status = STATUS_SUCCESS; /* the minor functions that start, stop or remove a device */
    else if (s->MajorFunction != IRP_MJ_PNP && s->MajorFunction != IRP_MJ_SYSTEM_CONTROL)
        status = STATUS_INVALID_DEVICE_REQUEST;
    return wdf_complete_irp(irp, status);
}

/*
 * Creates the physical device as a device of the driver, because IoRegisterDeviceInterface puts the service name of the
 * device's driver into the names of the interfaces.
 */
static NTSTATUS pnp_create_physical(PDRIVER_OBJECT driver, PDEVICE_OBJECT *physical)
{
    NTSTATUS status = IoCreateDevice(driver, 0, NULL, FILE_DEVICE_CONTROLLER, FILE_AUTOGENERATED_DEVICE_NAME, FALSE,
                                     physical);

    if (NT_SUCCESS(status)) {
        (*physical)->Flags |= DO_BUS_ENUMERATED_DEVICE;
        (*physical)->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    }
    return status;
}

NTSTATUS wdf_pnp_attach(struct wdf_device *d, PDEVICE_OBJECT physical, const WDF_PNPPOWER_EVENT_CALLBACKS *events)
{
    d->pnp.below = IoAttachDeviceToDeviceStack(d->device, physical);
    if (!d->pnp.below)
        return STATUS_NO_SUCH_DEVICE;
    d->pnp.physical = physical;
    d->pnp.events = *events;
    return STATUS_SUCCESS;
}

void wdf_pnp_detach(struct wdf_device *d)
{
    if (d->pnp.below)
        IoDetachDevice(d->pnp.below);
    d->pnp.below = NULL;
    wdf_interfaces_free(d);
}

/* ---- The device of a driver -------------------------------------------------------------------------------------- */

static PDEVICE_OBJECT pnp_top(PDEVICE_OBJECT physical)
{
    return IoGetAttachedDevice(physical); /* needs no reference: only this file deletes the stack */
}

static void pnp_remove(PDEVICE_OBJECT physical)
{
    (void)pnp_send(pnp_top(physical), IRP_MN_REMOVE_DEVICE);
    IoDeleteDevice(physical);
}

struct add {
    struct wdf_object *driver;
    PFN_WDF_DRIVER_DEVICE_ADD routine;
    PDEVICE_OBJECT physical;
    const char *failed; /* the step that has returned `status` */
    NTSTATUS status;
};

/* Calls EvtDriverDeviceAdd. A device that was created is deleted if the callback fails. */
static NTSTATUS pnp_call_add(const struct add *a)
{
    struct wdf_device *created = NULL;
    PWDFDEVICE_INIT init = wdf_init_for_physical(a->driver, a->physical, &created);
    struct wdf_call call;
    NTSTATUS status;

    if (!init)
        return STATUS_INSUFFICIENT_RESOURCES;
    wdf_call_begin(&call, NULL);
    status = a->routine((WDFDRIVER)a->driver, init);
    wdf_call_end(&call, "EvtDriverDeviceAdd", (const void *)(uintptr_t)a->routine);
    if (!created)
        WdfDeviceInitFree(init);
    else if (!NT_SUCCESS(status))
        (void)wdf_object_delete(&created->object);
    else
        created->device->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    return status;
}

static void pnp_run_add(void *context)
{
    struct add *a = context;

    a->failed = "the creation of the physical device";
    a->status = pnp_create_physical(WdfDriverWdmGetDriverObject((WDFDRIVER)a->driver), &a->physical);
    if (!NT_SUCCESS(a->status))
        return;
    a->failed = "EvtDriverDeviceAdd";
    a->status = pnp_call_add(a);
    if (!NT_SUCCESS(a->status)) {
        IoDeleteDevice(a->physical);
        return;
    }
    a->failed = "the start of the device";
    a->status = pnp_send(pnp_top(a->physical), IRP_MN_START_DEVICE);
    if (!NT_SUCCESS(a->status))
        pnp_remove(a->physical);
}

bool wdf_pnp_add(struct wdf_object *driver, PFN_WDF_DRIVER_DEVICE_ADD add, PDEVICE_OBJECT *physical)
{
    struct add a = { .driver = driver, .routine = add, .failed = "a thread", .status = STATUS_INSUFFICIENT_RESOURCES };

    (void)driver_call(pnp_run_add, &a);
    *physical = NT_SUCCESS(a.status) ? a.physical : NULL;
    if (!NT_SUCCESS(a.status))
        (void)host_error("the driver got no device: %s failed with status 0x%08X", a.failed, (ULONG)a.status);
    return NT_SUCCESS(a.status);
}

struct query {
    PDEVICE_OBJECT physical;
    NTSTATUS status;
};

static void pnp_run_query(void *context)
{
    struct query *q = context;

    q->status = pnp_send(pnp_top(q->physical), IRP_MN_QUERY_REMOVE_DEVICE);
    if (!NT_SUCCESS(q->status))
        (void)pnp_send(pnp_top(q->physical), IRP_MN_CANCEL_REMOVE_DEVICE);
}

bool wdf_pnp_query_remove(PDEVICE_OBJECT physical)
{
    struct query q = { physical, STATUS_INSUFFICIENT_RESOURCES };

    if (!driver_call(pnp_run_query, &q) || !NT_SUCCESS(q.status))
        (void)host_error("the driver refuses the removal of its device: 0x%08X", (ULONG)q.status);
    return NT_SUCCESS(q.status);
}

static void pnp_run_remove(void *context)
{
    pnp_remove(context);
}

void wdf_pnp_remove(PDEVICE_OBJECT physical)
{
    (void)driver_call(pnp_run_remove, physical);
}
