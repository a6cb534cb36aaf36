/* SPDX-License-Identifier: MIT */
/*
 * Creates, completes and cancels requests, and moves them between queues. `owner` decides who may end a request: only
 * the code that has changed it to OWNER_NONE completes the IRP. While the driver owns a cancelable request, the IRP has
 * request_cancel_irp as its cancel routine; only the code that has removed this routine, or the routine itself, calls
 * the cancel callback. request_mark makes a request cancelable while it holds request_lock, and request_cancel_irp
 * acquires request_lock before it calls the cancel callback. So no callback completes a request that is still being
 * marked.
 */
#include <stdlib.h>

#include "wdf.h"

#include "base/schedule.h"
#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/request.h"
#include "wdk/wdf/target.h"

/* Values of parameter 2 with WDF_REQUEST_ERROR. 4 is Windows' value; the values above 0x100 are OpenNDK's. */
enum { TOO_MUCH_OUTPUT = 4, NOT_OWNED = 0x101, IS_CANCELABLE = 0x102, NOT_ANSWERED = 0x103, NOT_STOPPING = 0x104 };

void wdf_report_request(const char *routine, struct wdf_request *r, uint64_t error, const char *what)
{
    if (check_on())
        check_failed(CHECK_WDF_REQUEST, routine, WDF_REQUEST_ERROR, error, (uintptr_t)r, 0, "WDFREQUEST %p %s",
                     (void *)r, what);
}

static struct wdf_request *request_of(const char *routine, WDFREQUEST request)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    return wdf_object_lookup(routine, request, WDF_REQUEST);
}

static bool request_is_drivers(const struct wdf_request *r)
{
    enum wdf_owner owner = atomic_load(&r->owner);

    return owner == OWNER_DRIVER || owner == OWNER_CALLER;
}

struct wdf_request *wdf_request_owned(const char *routine, WDFREQUEST request)
{
    struct wdf_request *r = request_of(routine, request);

    if (!r || atomic_load(&r->in_cleanup))
        return r;
    if (wdf_send_is_sent(r)) {
        wdf_report_request(routine, r, WDF_REQUEST_SENT, "is sent to an I/O target");
        return NULL;
    }
    if (request_is_drivers(r))
        return r;
    wdf_report_request(routine, r, NOT_OWNED,
                       r->created                             ? "was created by the driver, and not received"
                       : atomic_load(&r->owner) == OWNER_NONE ? "is completed already"
                                                              : "is in a queue, so the driver does not own it");
    return NULL;
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

static void request_destroy(struct wdf_object *o)
{
    wdf_send_free(CONTAINING_RECORD(o, struct wdf_request, object));
}

NTSTATUS wdf_request_new(struct wdf_device *d, PIRP irp, struct wdf_request **out)
{
    PWDF_OBJECT_ATTRIBUTES attributes = d->init.request_attributes.Size ? &d->init.request_attributes : NULL;
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);
    struct wdf_object *o;
    struct wdf_request *r;
    NTSTATUS status = wdf_object_new(WDF_REQUEST, sizeof *r, attributes, &d->object, &o);

    if (status)
        return status;
    r = CONTAINING_RECORD(o, struct wdf_request, object);
    r->irp = irp;
    r->device = d;
    r->is_create = s->MajorFunction == IRP_MJ_CREATE;
    r->file = s->FileObject ? wdf_file_find(d, s->FileObject) : NULL;
    InitializeListHead(&r->link);
    o->destroy = request_destroy;
    status = wdf_object_publish(o);
    if (!NT_SUCCESS(status))
        return status;
    irp->IoStatus.Information = 0;
    irp->Tail.Overlay.DriverContext[3] = r;
    *out = r;
    return STATUS_SUCCESS;
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/* Returns the bytes that fit into the output of the request. */
static ULONG_PTR request_output_room(PIRP irp)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);

    switch (s->MajorFunction) {
    case IRP_MJ_READ:
        return s->Parameters.Read.Length;
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return METHOD_FROM_CTL_CODE(s->Parameters.DeviceIoControl.IoControlCode) == METHOD_BUFFERED
                   ? s->Parameters.DeviceIoControl.OutputBufferLength
                   : MAXULONG_PTR;
    default:
        return MAXULONG_PTR;
    }
}

/* Statuses of the framework are not for other components, so they are replaced as on Windows. */
static NTSTATUS request_outer_status(NTSTATUS status)
{
    switch (status) {
    case STATUS_WDF_INTERNAL_ERROR:
        return STATUS_INTERNAL_ERROR;
    case STATUS_WDF_PAUSED:
    case STATUS_WDF_BUSY:
        return STATUS_DEVICE_BUSY;
    default:
        return ((ULONG)status & 0xFFFF0000) == 0xC0200000 ? STATUS_INVALID_DEVICE_REQUEST : status;
    }
}

static void request_check_memory(struct wdf_request *r)
{
    int n = (r->input ? wdf_object_driver_references(wdf_memory_object(r->input)) : 0) +
            (r->output ? wdf_object_driver_references(wdf_memory_object(r->output)) : 0);

    if (n && check_on())
        check_failed(CHECK_WDF_REQUEST, "WdfRequestComplete", WDF_MEMORY_REFERENCED, (uintptr_t)r, (uint64_t)n, 0,
                     "WDFREQUEST %p is completed, and its memory objects have %d references of the driver", (void *)r,
                     n);
}

/*
 * Ends the request object and returns the IRP, which the caller must complete. The object ends first, because the
 * driver can be unloaded as soon as the IRP is complete. The queue counts the request until wdf_queue_finish_one.
 */
static PIRP request_end(struct wdf_request *r, NTSTATUS status)
{
    PIRP irp = r->irp;

    atomic_store(&r->in_cleanup, true);
    (void)wdf_object_dispose(&r->object);
    atomic_store(&r->in_cleanup, false);
    request_check_memory(r);
    wdf_request_free_mdls(r);
    wdf_send_end(r);
    if (r->is_create && r->file && !NT_SUCCESS(status))
        wdf_file_discard(r->device, r->file);
    irp->Tail.Overlay.DriverContext[3] = NULL;
    if (r->queue)
        wdf_queue_unlink(r->queue, r);
    r->irp = NULL; /* after wdf_queue_unlink, because each request in a queue's list has an IRP */
    wdf_object_release(&r->object);
    return irp;
}

void wdf_request_finish(struct wdf_request *r, NTSTATUS status, ULONG_PTR information, CCHAR boost)
{
    struct wdf_object *root = wdf_root_of(&r->object);
    struct wdf_queue *q = r->queue;
    PIRP irp;

    wdf_activity_begin(root);
    irp = request_end(r, status);
    irp->IoStatus.Status = request_outer_status(status);
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, boost);
    if (q)
        wdf_queue_finish_one(q);
    wdf_activity_end(root);
}

void wdf_request_pass_on(struct wdf_request *r, PDEVICE_OBJECT device)
{
    struct wdf_object *root = wdf_root_of(&r->object);
    struct wdf_queue *q = r->queue;
    PIRP irp;

    wdf_activity_begin(root);
    atomic_store(&r->owner, OWNER_NONE);
    irp = request_end(r, STATUS_SUCCESS);
    IoSkipCurrentIrpStackLocation(irp);
    (void)IoCallDriver(device, irp);
    if (q)
        wdf_queue_finish_one(q);
    wdf_activity_end(root);
}

void wdf_request_fail(struct wdf_request *r, NTSTATUS status)
{
    atomic_store(&r->owner, OWNER_NONE);
    wdf_request_finish(r, status, 0, IO_NO_INCREMENT);
}

/* Returns true if the cancel callback may still be called. */
static bool request_is_cancelable(struct wdf_request *r)
{
    enum wdf_cancel state = atomic_load(&r->cancel_state);

    return state == CANCEL_MARKED || state == CANCEL_CLAIMED;
}

bool wdf_request_check_uncancelable(const char *routine, struct wdf_request *r)
{
    if (!request_is_cancelable(r))
        return true;
    wdf_report_request(routine, r, IS_CANCELABLE, "is cancelable: WdfRequestUnmarkCancelable comes first");
    return false;
}

/* Removes the IRP's cancel routine. Returns false if a thread that cancels the request has already removed it. */
static bool request_unmark(struct wdf_request *r)
{
    if (!IoSetCancelRoutine(r->irp, NULL))
        return false;
    atomic_store(&r->cancel_state, CANCEL_NONE);
    return true;
}

/* Changes the owner from the driver to nobody. Returns false if the driver is not the owner. */
static bool request_end_ownership(struct wdf_request *r)
{
    enum wdf_owner owner = atomic_load(&r->owner);

    while (owner == OWNER_DRIVER || owner == OWNER_CALLER)
        if (atomic_compare_exchange_weak(&r->owner, &owner, OWNER_NONE))
            return true;
    return false;
}

/*
 * Reports the completion of a request that is marked cancelable, and unmarks the request. Returns false if the cancel
 * callback will complete the request.
 */
static bool request_uncancel_for_completion(const char *routine, struct wdf_request *r)
{
    wdf_report_request(routine, r, IS_CANCELABLE,
                       "is cancelable: WdfRequestUnmarkCancelable comes first, and if that returns STATUS_CANCELLED, "
                       "EvtRequestCancel completes the request");
    return request_unmark(r);
}

static void request_complete(const char *routine, WDFREQUEST request, NTSTATUS status, const ULONG_PTR *information,
                             CCHAR boost)
{
    struct wdf_request *r = wdf_request_owned(routine, request);
    ULONG_PTR bytes;

    if (!r)
        return;
    if (request_is_cancelable(r) && !request_uncancel_for_completion(routine, r))
        return; /* the cancel callback completes the request */
    bytes = information ? *information : r->irp->IoStatus.Information;
    if (!NT_ERROR(status) && bytes > request_output_room(r->irp)) {
        wdf_report_request(routine, r, TOO_MUCH_OUTPUT, "is completed with more bytes than its output buffer has");
        bytes = request_output_room(r->irp);
    }
    if (request_end_ownership(r))
        wdf_request_finish(r, status, bytes, boost);
    else
        wdf_report_request(routine, r, NOT_OWNED, "is completed already");
}

VOID WdfRequestComplete(WDFREQUEST Request, NTSTATUS Status)
{
    request_complete("WdfRequestComplete", Request, Status, NULL, IO_NO_INCREMENT);
}

VOID WdfRequestCompleteWithInformation(WDFREQUEST Request, NTSTATUS Status, ULONG_PTR Information)
{
    request_complete("WdfRequestCompleteWithInformation", Request, Status, &Information, IO_NO_INCREMENT);
}

VOID WdfRequestCompleteWithPriorityBoost(WDFREQUEST Request, NTSTATUS Status, CCHAR PriorityBoost)
{
    request_complete("WdfRequestCompleteWithPriorityBoost", Request, Status, NULL, PriorityBoost);
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

/* Another thread may have called the callback while this thread waited for `sync`. */
void wdf_request_call_cancel(struct wdf_request *r, struct wdf_sync *sync)
{
    PFN_WDF_REQUEST_CANCEL routine = atomic_load(&r->cancel);
    enum wdf_cancel claimed = CANCEL_CLAIMED;
    struct wdf_call call;

    wdf_call_begin(&call, sync);
    if (atomic_compare_exchange_strong(&r->cancel_state, &claimed, CANCEL_CALLED))
        routine((WDFREQUEST)r);
    wdf_call_end(&call, "EvtRequestCancel", (const void *)(uintptr_t)routine);
}

/* Returns the object whose execution level and scope the cancel callback has. */
static struct wdf_object *request_constraints(struct wdf_request *r)
{
    return r->queue ? &r->queue->object : &r->device->object;
}

/*
 * Adds references and begins an activity: the callback may complete the request, and the queue, whose lock the callback
 * holds, may then be deleted before the callback returns. A thread that deletes the queue may call the callback first.
 * Requires request_lock.
 */
static void request_set_claimed(struct wdf_request *r)
{
    r->claimed_with = request_constraints(r);
    wdf_activity_begin(wdf_root_of(r->claimed_with));
    wdf_object_ref(&r->object);
    wdf_object_ref(r->claimed_with);
    atomic_store(&r->cancel_state, CANCEL_CLAIMED);
    if (r->queue)
        pthread_cond_broadcast(&r->queue->done); /* a thread that deletes the queue may have to call the callback */
}

/* Calls the cancel callback, drops the references of request_set_claimed, and ends its activity. */
static void request_cancel_now(void *context)
{
    struct wdf_request *r = context;
    struct wdf_object *constraints = r->claimed_with, *root = wdf_root_of(constraints);

    wdf_request_call_cancel(r, wdf_callback_sync(constraints));
    wdf_object_unref(&r->object);
    wdf_object_unref(constraints);
    wdf_activity_end(root);
}

void wdf_request_cancel_claimed(struct wdf_request *r)
{
    struct wdf_object *constraints = r->claimed_with;

    if (wdf_can_call(constraints, wdf_callback_sync(constraints)))
        request_cancel_now(r);
    else
        wdf_defer(&r->deferred, &r->object, request_cancel_now, r);
}

static pthread_mutex_t *request_lock(struct wdf_request *r)
{
    return r->queue ? &r->queue->lock : &r->device->lock;
}

static VOID request_cancel_irp(PDEVICE_OBJECT device, PIRP irp)
{
    struct wdf_request *r = irp->Tail.Overlay.DriverContext[3];

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    pthread_mutex_lock(request_lock(r));
    request_set_claimed(r);
    pthread_mutex_unlock(request_lock(r));
    wdf_request_cancel_claimed(r);
}

bool wdf_request_claim(struct wdf_request *r)
{
    if (atomic_load(&r->cancel_state) != CANCEL_MARKED)
        return false;
    schedule_point();
    if (!IoSetCancelRoutine(r->irp, NULL))
        return false;
    request_set_claimed(r);
    return true;
}

/*
 * Makes the request cancelable. Returns false, and leaves the request not cancelable, if the IRP is cancelled already
 * or the queue is being purged. If the function returns true, another thread may already have called `callback`, which
 * completes the request.
 */
static bool request_mark(struct wdf_request *r, PFN_WDF_REQUEST_CANCEL callback)
{
    pthread_mutex_t *lock = request_lock(r);
    bool cancelled;

    pthread_mutex_lock(lock);
    atomic_store(&r->cancel, callback);
    cancelled = r->queue && r->queue->purged;
    if (!cancelled) {
        atomic_store(&r->cancel_state, CANCEL_MARKED);
        r->irp->Tail.Overlay.DriverContext[3] = r; /* the driver may have changed this member */
        (void)IoSetCancelRoutine(r->irp, request_cancel_irp);
        schedule_point();
        cancelled = __atomic_load_n(&r->irp->Cancel, __ATOMIC_SEQ_CST) && request_unmark(r);
    }
    pthread_mutex_unlock(lock);
    return !cancelled;
}

/* Returns STATUS_CANCELLED if request_mark returns false. */
static NTSTATUS request_mark_cancelable(const char *routine, WDFREQUEST request, PFN_WDF_REQUEST_CANCEL callback,
                                        const void *caller, struct wdf_request **out)
{
    struct wdf_request *r = wdf_request_owned(routine, request);

    *out = r;
    if (!r || !wdf_check_pointer(routine, (const void *)(uintptr_t)callback, caller))
        return STATUS_INVALID_DEVICE_REQUEST;
    if (atomic_load(&r->cancel_state) != CANCEL_NONE) {
        wdf_report_request(routine, r, IS_CANCELABLE, "is cancelable already");
        return STATUS_INVALID_DEVICE_REQUEST;
    }
    return request_mark(r, callback) ? STATUS_SUCCESS : STATUS_CANCELLED;
}

VOID WdfRequestMarkCancelable(WDFREQUEST Request, PFN_WDF_REQUEST_CANCEL EvtRequestCancel)
{
    struct wdf_request *r;
    struct wdf_object *constraints;
    struct wdf_sync *sync;

    if (request_mark_cancelable("WdfRequestMarkCancelable", Request, EvtRequestCancel, __builtin_return_address(0),
                                &r) != STATUS_CANCELLED)
        return;
    constraints = request_constraints(r);
    sync = wdf_callback_sync(constraints);
    atomic_store(&r->purged, true);
    /* WdfRequestUnmarkCancelable must fail from now on, not only when the callback runs. */
    pthread_mutex_lock(request_lock(r));
    request_set_claimed(r);
    pthread_mutex_unlock(request_lock(r));
    if (!sync || !wdf_sync_is_mine(sync)) {
        wdf_request_cancel_claimed(r);
        return;
    }
    wdf_request_call_cancel(r, NULL); /* NULL: the handler that calls this routine already has the lock */
    wdf_object_unref(&r->object);
    wdf_object_unref(constraints);
}

NTSTATUS WdfRequestMarkCancelableEx(WDFREQUEST Request, PFN_WDF_REQUEST_CANCEL EvtRequestCancel)
{
    struct wdf_request *r;

    return request_mark_cancelable("WdfRequestMarkCancelableEx", Request, EvtRequestCancel, __builtin_return_address(0),
                                   &r);
}

NTSTATUS WdfRequestUnmarkCancelable(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestUnmarkCancelable", Request);

    if (!r)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (atomic_load(&r->cancel_state) == CANCEL_NONE)
        return STATUS_INVALID_PARAMETER;
    return request_unmark(r) ? STATUS_SUCCESS : STATUS_CANCELLED;
}

BOOLEAN WdfRequestIsCanceled(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestIsCanceled", Request);

    if (!r)
        return FALSE;
    if (request_is_cancelable(r)) {
        wdf_report_request("WdfRequestIsCanceled", r, IS_CANCELABLE,
                           "is cancelable: WdfRequestUnmarkCancelable comes first");
        return FALSE;
    }
    return atomic_load(&r->purged) || __atomic_load_n(&r->irp->Cancel, __ATOMIC_SEQ_CST);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/* Returns the request if the driver may put it into a queue. */
static struct wdf_request *request_to_queue(const char *routine, WDFREQUEST request)
{
    struct wdf_request *r = wdf_request_owned(routine, request);

    if (!r || atomic_load(&r->cancel_state) == CANCEL_NONE)
        return r;
    wdf_report_request(routine, r, IS_CANCELABLE, "is cancelable: WdfRequestUnmarkCancelable comes first");
    return NULL;
}

NTSTATUS WdfRequestForwardToIoQueue(WDFREQUEST Request, WDFQUEUE DestinationQueue)
{
    const char *routine = "WdfRequestForwardToIoQueue";
    struct wdf_request *r = request_to_queue(routine, Request);
    struct wdf_queue *to = wdf_object_lookup(routine, DestinationQueue, WDF_QUEUE);

    if (!r || !to || !r->queue || r->queue == to || to->device != r->device || atomic_load(&r->in_cancel))
        return STATUS_INVALID_DEVICE_REQUEST;
    return wdf_queue_move(r->queue, to, r, false);
}

NTSTATUS WdfRequestRequeue(WDFREQUEST Request)
{
    struct wdf_request *r = request_to_queue("WdfRequestRequeue", Request);

    if (!r || !r->queue || r->queue->config.DispatchType != WdfIoQueueDispatchManual || atomic_load(&r->in_cancel))
        return STATUS_INVALID_DEVICE_REQUEST;
    return wdf_queue_move(r->queue, r->queue, r, true);
}

NTSTATUS WdfDeviceEnqueueRequest(WDFDEVICE Device, WDFREQUEST Request)
{
    const char *routine = "WdfDeviceEnqueueRequest";
    struct wdf_device *d = wdf_object_lookup(routine, Device, WDF_DEVICE);
    struct wdf_request *r = request_to_queue(routine, Request);

    if (!d || !r)
        return STATUS_INVALID_PARAMETER;
    if (r->device != d || atomic_load(&r->owner) != OWNER_CALLER) {
        wdf_report_request(routine, r, NOT_OWNED, "is enqueued outside of EvtIoInCallerContext");
        return STATUS_INVALID_DEVICE_REQUEST;
    }
    return wdf_device_enqueue(d, r, true);
}

void wdf_request_check_answered(struct wdf_request *r)
{
    if (atomic_load(&r->owner) == OWNER_CALLER)
        wdf_report_request("EvtIoInCallerContext", r, NOT_ANSWERED,
                           "was neither completed nor passed to WdfDeviceEnqueueRequest");
}

WDFQUEUE WdfRequestGetIoQueue(WDFREQUEST Request)
{
    struct wdf_request *r = request_of("WdfRequestGetIoQueue", Request);

    return r && r->irp ? (WDFQUEUE)r->queue : NULL;
}

VOID WdfRequestStopAcknowledge(WDFREQUEST Request, BOOLEAN Requeue)
{
    struct wdf_request *r = request_of("WdfRequestStopAcknowledge", Request);

    if (r && (Requeue || !wdf_send_is_sent(r)))
        r = wdf_request_owned("WdfRequestStopAcknowledge", Request);
    if (!r)
        return;
    if (!r->queue || !wdf_queue_acknowledge(r->queue, r)) {
        wdf_report_request("WdfRequestStopAcknowledge", r, NOT_STOPPING,
                           "is not being stopped: the routine is only for EvtIoStop");
        return;
    }
    if (Requeue && request_to_queue("WdfRequestStopAcknowledge", Request))
        (void)wdf_queue_move(r->queue, r->queue, r, true);
}
