/* SPDX-License-Identifier: MIT */
/*
 * Implements the dispatch routine of drivers that are not miniports: IRPs become requests, which enter queues. A
 * request is always marked pending, so the dispatch routine returns STATUS_PENDING for it.
 */
#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

NTSTATUS wdf_complete_irp(PIRP irp, NTSTATUS status)
{
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

WDF_REQUEST_TYPE wdf_request_type(PIRP irp)
{
    switch (IoGetCurrentIrpStackLocation(irp)->MajorFunction) {
    case IRP_MJ_CREATE:
        return WdfRequestTypeCreate;
    case IRP_MJ_READ:
        return WdfRequestTypeRead;
    case IRP_MJ_WRITE:
        return WdfRequestTypeWrite;
    case IRP_MJ_DEVICE_CONTROL:
        return WdfRequestTypeDeviceControl;
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return WdfRequestTypeDeviceControlInternal;
    default:
        return WdfRequestTypeOther;
    }
}

/* Returns the queue for the type with a reference, or NULL if there is none. */
static struct wdf_queue *device_queue_for(struct wdf_device *d, WDF_REQUEST_TYPE type)
{
    struct wdf_queue *q;

    pthread_mutex_lock(&d->lock);
    q = d->queue_of[type];
    if (!q && type != WdfRequestTypeCreate)
        q = d->default_queue;
    if (q && !wdf_object_try_ref(&q->object))
        q = NULL;
    pthread_mutex_unlock(&d->lock);
    return q;
}

static bool device_is_empty_transfer(PIRP irp)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);

    return (s->MajorFunction == IRP_MJ_READ && !s->Parameters.Read.Length) ||
           (s->MajorFunction == IRP_MJ_WRITE && !s->Parameters.Write.Length);
}

NTSTATUS wdf_device_enqueue(struct wdf_device *d, struct wdf_request *r, bool by_driver)
{
    struct wdf_queue *q = device_queue_for(d, wdf_request_type(r->irp));
    NTSTATUS status = STATUS_SUCCESS;

    if (!q)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!q->config.AllowZeroLengthRequests && device_is_empty_transfer(r->irp))
        wdf_request_fail(r, STATUS_SUCCESS);
    else
        status = wdf_queue_insert(q, r, false, by_driver);
    wdf_object_unref(&q->object);
    return status;
}

static void device_call_in_caller_context(struct wdf_device *d, struct wdf_request *r)
{
    struct wdf_call call;

    wdf_object_ref(&r->object);
    atomic_store(&r->owner, OWNER_CALLER);
    wdf_call_begin(&call, NULL);
    d->init.in_caller_context((WDFDEVICE)d, (WDFREQUEST)r);
    wdf_call_end(&call, "EvtIoInCallerContext", (const void *)(uintptr_t)d->init.in_caller_context);
    wdf_request_check_answered(r);
    wdf_object_unref(&r->object);
}

static NTSTATUS device_request(struct wdf_device *d, PIRP irp)
{
    struct wdf_request *r;
    NTSTATUS status = wdf_request_new(d, irp, &r);

    if (!NT_SUCCESS(status))
        return wdf_complete_irp(irp, status);
    IoMarkIrpPending(irp);
    if (d->init.in_caller_context) {
        device_call_in_caller_context(d, r);
        return STATUS_PENDING;
    }
    status = wdf_device_enqueue(d, r, false);
    if (!NT_SUCCESS(status))
        wdf_request_fail(r, status == STATUS_WDF_BUSY ? STATUS_INVALID_DEVICE_STATE : status);
    return STATUS_PENDING;
}

/* Handles IRP_MJ_CREATE. The open fails if the device's setup is not finished, or if the device is being deleted. */
static NTSTATUS device_create_file(struct wdf_device *d, PIRP irp)
{
    struct wdf_queue *q;
    struct wdf_request *r;
    NTSTATUS status;
    bool finished;

    pthread_mutex_lock(&d->lock);
    finished = d->finished;
    pthread_mutex_unlock(&d->lock);
    if (!finished || wdf_object_is_deleted(&d->object))
        return wdf_complete_irp(irp, STATUS_NO_SUCH_DEVICE);
    q = device_queue_for(d, WdfRequestTypeCreate);
    status = wdf_file_create(d, irp);
    if (!NT_SUCCESS(status) || (!q && !d->init.file.EvtDeviceFileCreate)) {
        if (q)
            wdf_object_unref(&q->object);
        return wdf_complete_irp(irp, status);
    }
    status = wdf_request_new(d, irp, &r);
    if (NT_SUCCESS(status)) {
        IoMarkIrpPending(irp);
        if (q)
            status = wdf_queue_insert(q, r, false, false);
        else
            wdf_file_call_create(d, r);
        if (!NT_SUCCESS(status))
            wdf_request_fail(r, STATUS_INVALID_DEVICE_STATE);
        status = STATUS_PENDING;
    } else {
        wdf_file_discard(d, wdf_file_find(d, IoGetCurrentIrpStackLocation(irp)->FileObject));
        status = wdf_complete_irp(irp, status);
    }
    if (q)
        wdf_object_unref(&q->object);
    return status;
}

static NTSTATUS device_shutdown(struct wdf_device *d, PIRP irp)
{
    struct wdf_call call;

    if (!d->init.shutdown)
        return wdf_complete_irp(irp, STATUS_INVALID_DEVICE_REQUEST);
    wdf_call_begin(&call, NULL);
    d->init.shutdown((WDFDEVICE)d);
    wdf_call_end(&call, "EvtDeviceShutdownNotification", (const void *)(uintptr_t)d->init.shutdown);
    return wdf_complete_irp(irp, STATUS_SUCCESS);
}

static NTSTATUS device_dispatch(struct wdf_device *d, PIRP irp)
{
    switch (IoGetCurrentIrpStackLocation(irp)->MajorFunction) {
    case IRP_MJ_CREATE:
        return device_create_file(d, irp);
    case IRP_MJ_CLEANUP:
        return wdf_file_cleanup(d, irp);
    case IRP_MJ_CLOSE:
        return wdf_file_close(d, irp);
    case IRP_MJ_READ:
    case IRP_MJ_WRITE:
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return device_request(d, irp);
    case IRP_MJ_SHUTDOWN:
        return device_shutdown(d, irp);
    case IRP_MJ_PNP:
    case IRP_MJ_POWER:
    case IRP_MJ_SYSTEM_CONTROL:
        return d->pnp.below ? wdf_pnp_dispatch(d, irp) : wdf_complete_irp(irp, STATUS_INVALID_DEVICE_REQUEST);
    default:
        return wdf_complete_irp(irp, STATUS_INVALID_DEVICE_REQUEST);
    }
}

static const struct wdf_preprocess *device_preprocess(const struct wdf_device *d, PIRP irp)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);
    const struct wdf_preprocess *p = &d->init.preprocess[s->MajorFunction];

    return p->routine && p->minors[s->MinorFunction / 64] >> s->MinorFunction % 64 & 1 ? p : NULL;
}

static NTSTATUS device_call_preprocess(struct wdf_device *d, const struct wdf_preprocess *p, PIRP irp)
{
    struct wdf_call call;
    NTSTATUS status;

    wdf_call_begin(&call, NULL);
    status = p->routine((WDFDEVICE)d, irp);
    wdf_call_end(&call, "EvtDeviceWdmIrpPreprocess", (const void *)(uintptr_t)p->routine);
    return status;
}

NTSTATUS WdfDeviceWdmDispatchPreprocessedIrp(WDFDEVICE Device, PIRP Irp)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceWdmDispatchPreprocessedIrp", Device, WDF_DEVICE);

    irql_check_max("WdfDeviceWdmDispatchPreprocessedIrp", DISPATCH_LEVEL);
    if (!d)
        return wdf_complete_irp(Irp, STATUS_INVALID_PARAMETER);
    IoSetNextIrpStackLocation(Irp);
    IoGetCurrentIrpStackLocation(Irp)->DeviceObject = d->device;
    return device_dispatch(d, Irp);
}

/*
 * Handles the IRP as an activity of the driver (wdf_device_enter). A file may be closed after its device is deleted.
 * Then only this activity makes the driver's deletion wait until the close has ended.
 */
NTSTATUS wdf_dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    UCHAR major = IoGetCurrentIrpStackLocation(irp)->MajorFunction;
    struct wdf_device *d = wdf_device_enter(device);
    const struct wdf_preprocess *p;
    struct wdf_object *root;
    NTSTATUS status;

    if (!d && wdf_pnp_is_physical(device))
        return wdf_pnp_dispatch_physical(irp);
    if (!d)
        return wdf_complete_irp(irp, major == IRP_MJ_CLEANUP || major == IRP_MJ_CLOSE ? STATUS_SUCCESS
                                                                                      : STATUS_INVALID_DEVICE_REQUEST);
    root = wdf_root_of(&d->object);
    p = device_preprocess(d, irp);
    status = p ? device_call_preprocess(d, p, irp) : device_dispatch(d, irp);
    wdf_object_unref(&d->object);
    wdf_activity_end(root);
    return status;
}
