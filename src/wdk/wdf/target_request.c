/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines for requests to I/O targets: see target.h. A driver must not complete a request that it has
 * created.
 */
#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/target.h"

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

NTSTATUS wdf_span_of_memory(const char *routine, WDFMEMORY memory, PWDFMEMORY_OFFSET offset, struct wdf_span *span)
{
    struct wdf_memory *m = memory ? wdf_object_lookup(routine, memory, WDF_MEMORY) : NULL;
    size_t size = 0;
    char *buffer;

    *span = (struct wdf_span){ 0 };
    if (!m)
        return memory || offset ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
    buffer = WdfMemoryGetBuffer(memory, &size);
    if (offset && (offset->BufferOffset > size || offset->BufferLength > size - offset->BufferOffset))
        return STATUS_INVALID_DEVICE_REQUEST;
    span->memory = wdf_memory_object(m);
    span->offset = offset ? offset->BufferOffset : 0;
    span->length = offset && offset->BufferLength ? offset->BufferLength : size - span->offset;
    span->address = buffer + span->offset;
    return span->length > MAXULONG ? STATUS_INVALID_DEVICE_REQUEST : STATUS_SUCCESS;
}

static NTSTATUS span_of_descriptor(const char *routine, const WDF_MEMORY_DESCRIPTOR *d, struct wdf_span *span)
{
    *span = (struct wdf_span){ 0 };
    if (!d)
        return STATUS_SUCCESS;
    switch (d->Type) {
    case WdfMemoryDescriptorTypeBuffer:
        span->address = d->u.BufferType.Buffer;
        span->length = d->u.BufferType.Length;
        return span->address || !span->length ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    case WdfMemoryDescriptorTypeMdl:
        if (!d->u.MdlType.Mdl || d->u.MdlType.BufferLength > MmGetMdlByteCount(d->u.MdlType.Mdl))
            return STATUS_INVALID_PARAMETER;
        span->mdl = d->u.MdlType.Mdl;
        span->address = MmGetSystemAddressForMdlSafe(span->mdl, NormalPagePriority);
        span->length = d->u.MdlType.BufferLength ? d->u.MdlType.BufferLength : MmGetMdlByteCount(span->mdl);
        return span->address ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
    case WdfMemoryDescriptorTypeHandle:
        return wdf_span_of_memory(routine, d->u.HandleType.Memory, d->u.HandleType.Offsets, span);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

/* ---- Requests of the driver -------------------------------------------------------------------------------------- */

/*
 * Called after the cleanup callbacks, which may use the IRP. Restores the IRP's buffers, and does not use an IRP of the
 * driver any more, because the driver may free or complete it after the deletion.
 */
static void created_stop(struct wdf_object *o)
{
    struct wdf_request *r = CONTAINING_RECORD(o, struct wdf_request, object);

    if (wdf_send_is_sent(r)) {
        wdf_report_request("WdfObjectDelete", r, WDF_REQUEST_SENT, "is sent to an I/O target");
        return;
    }
    wdf_send_end(r);
    if (!r->frees_irp)
        r->irp = NULL;
}

static void created_destroy(struct wdf_object *o)
{
    struct wdf_request *r = CONTAINING_RECORD(o, struct wdf_request, object);

    wdf_send_free(r);
    wdf_send_free_irp(r);
}

/* The IRP that a request is created with, or NULL. */
struct created_irp {
    PIRP irp;
    bool freed; /* with the request */
};

/*
 * Sets up and inserts a request that the driver has created. If `temporary` is true, the request is not deleted
 * together with its parent. Only the thread that waits for the request deletes it. On failure the driver keeps the IRP
 * of `from`.
 */
static NTSTATUS created_publish(struct wdf_object *o, bool temporary, struct created_irp from, struct wdf_request **out)
{
    struct wdf_request *r = CONTAINING_RECORD(o, struct wdf_request, object);

    o->framework = false;
    o->unmanaged = temporary;
    o->stop = created_stop;
    o->cleans_up_first = true;
    o->destroy = created_destroy;
    r->created = true;
    atomic_store(&r->owner, OWNER_CREATED);
    InitializeListHead(&r->link);
    if (!wdf_send_of(r)) {
        wdf_object_discard(o);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    r->irp = from.irp;
    r->from_irp = from.irp != NULL;
    r->frees_irp = from.freed;
    if (wdf_object_insert(o)) {
        *out = r;
        return STATUS_SUCCESS;
    }
    r->irp = NULL;
    wdf_object_discard(o);
    return STATUS_DELETE_PENDING;
}

NTSTATUS WdfRequestCreateFromIrp(PWDF_OBJECT_ATTRIBUTES RequestAttributes, PIRP Irp, BOOLEAN RequestFreesIrp,
                                 WDFREQUEST *Request)
{
    const char *routine = "WdfRequestCreateFromIrp";
    const void *caller = __builtin_return_address(0);
    struct wdf_request *r;
    struct wdf_object *o;
    NTSTATUS status;

    irql_check_max(routine, DISPATCH_LEVEL);
    if (!wdf_check_pointer(routine, Irp, caller) || !wdf_check_pointer(routine, Request, caller))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new_for(WDF_REQUEST, sizeof *r, RequestAttributes, caller, &o);
    if (NT_SUCCESS(status))
        status = created_publish(o, false, (struct created_irp){ Irp, RequestFreesIrp }, &r);
    if (NT_SUCCESS(status))
        *Request = (WDFREQUEST)r;
    return status;
}

NTSTATUS WdfRequestCreate(PWDF_OBJECT_ATTRIBUTES RequestAttributes, WDFIOTARGET IoTarget, WDFREQUEST *Request)
{
    const void *caller = __builtin_return_address(0);
    struct wdf_request *r;
    struct wdf_object *o;
    NTSTATUS status;

    irql_check_max("WdfRequestCreate", DISPATCH_LEVEL);
    if (!wdf_check_pointer("WdfRequestCreate", Request, caller) ||
        (IoTarget && !wdf_object_lookup("WdfRequestCreate", IoTarget, WDF_TARGET)))
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new_for(WDF_REQUEST, sizeof *r, RequestAttributes, caller, &o);
    if (NT_SUCCESS(status))
        status = created_publish(o, false, (struct created_irp){ NULL, false }, &r);
    if (NT_SUCCESS(status))
        *Request = (WDFREQUEST)r;
    return status;
}

/* Returns a request that the driver may send: one that it has created, or a received one that it owns. */
static struct wdf_request *request_to_send(const char *routine, WDFREQUEST request)
{
    struct wdf_request *r;

    irql_check_max(routine, DISPATCH_LEVEL);
    r = wdf_object_lookup(routine, request, WDF_REQUEST);
    if (!r || !r->created)
        return r ? wdf_request_owned(routine, request) : NULL;
    if (atomic_load(&r->send->state) == SEND_IDLE)
        return r;
    wdf_report_request(routine, r, WDF_REQUEST_SENT, "is sent to an I/O target");
    return NULL;
}

struct wdf_request *wdf_request_created(const char *routine, WDFREQUEST request)
{
    struct wdf_request *r = wdf_object_lookup(routine, request, WDF_REQUEST);

    return r && r->created ? request_to_send(routine, request) : NULL;
}

NTSTATUS WdfRequestReuse(WDFREQUEST Request, PWDF_REQUEST_REUSE_PARAMS ReuseParams)
{
    struct wdf_request *r = request_to_send("WdfRequestReuse", Request);

    if (!r || !wdf_check_pointer("WdfRequestReuse", ReuseParams, __builtin_return_address(0)) ||
        ReuseParams->Size != sizeof *ReuseParams)
        return STATUS_INVALID_PARAMETER;
    if (!r->created || (!r->from_irp && ReuseParams->Flags & WDF_REQUEST_REUSE_SET_NEW_IRP))
        return STATUS_WDF_REQUEST_INVALID_STATE;
    wdf_send_reset(r->send, ReuseParams->Status);
    if (ReuseParams->Flags & WDF_REQUEST_REUSE_SET_NEW_IRP) {
        wdf_send_free_irp(r);
        r->irp = ReuseParams->NewIrp;
        r->own_irp = r->frees_irp = false;
    }
    return STATUS_SUCCESS;
}

/* ---- Formats ----------------------------------------------------------------------------------------------------- */

/* The buffers of a request: memory objects, and the parts of them to use. Any member may be NULL. */
struct memories {
    WDFMEMORY in, out;
    PWDFMEMORY_OFFSET in_offset, out_offset;
};

static NTSTATUS request_format(const char *routine, WDFIOTARGET target, WDFREQUEST request, const struct memories *m,
                               struct wdf_what *what)
{
    struct wdf_target *t = wdf_object_lookup(routine, target, WDF_TARGET);
    struct wdf_request *r = request_to_send(routine, request);
    NTSTATUS status;

    if (!t)
        return STATUS_INVALID_PARAMETER;
    if (!r)
        return STATUS_INVALID_DEVICE_REQUEST;
    status = wdf_span_of_memory(routine, m->in, m->in_offset, &what->in);
    if (NT_SUCCESS(status))
        status = wdf_span_of_memory(routine, m->out, m->out_offset, &what->out);
    return NT_SUCCESS(status) ? wdf_send_format(t, r, what) : status;
}

NTSTATUS WdfIoTargetFormatRequestForIoctl(WDFIOTARGET IoTarget, WDFREQUEST Request, ULONG IoctlCode,
                                          WDFMEMORY InputBuffer, PWDFMEMORY_OFFSET InputBufferOffset,
                                          WDFMEMORY OutputBuffer, PWDFMEMORY_OFFSET OutputBufferOffset)
{
    struct memories m = { InputBuffer, OutputBuffer, InputBufferOffset, OutputBufferOffset };
    struct wdf_what what = { .major = IRP_MJ_DEVICE_CONTROL, .code = IoctlCode };

    return request_format("WdfIoTargetFormatRequestForIoctl", IoTarget, Request, &m, &what);
}

NTSTATUS WdfIoTargetFormatRequestForInternalIoctl(WDFIOTARGET IoTarget, WDFREQUEST Request, ULONG IoctlCode,
                                                  WDFMEMORY InputBuffer, PWDFMEMORY_OFFSET InputBufferOffset,
                                                  WDFMEMORY OutputBuffer, PWDFMEMORY_OFFSET OutputBufferOffset)
{
    struct memories m = { InputBuffer, OutputBuffer, InputBufferOffset, OutputBufferOffset };
    struct wdf_what what = { .major = IRP_MJ_INTERNAL_DEVICE_CONTROL, .code = IoctlCode };

    return request_format("WdfIoTargetFormatRequestForInternalIoctl", IoTarget, Request, &m, &what);
}

NTSTATUS WdfIoTargetFormatRequestForRead(WDFIOTARGET IoTarget, WDFREQUEST Request, WDFMEMORY OutputBuffer,
                                         PWDFMEMORY_OFFSET OutputBufferOffset, PLONGLONG DeviceOffset)
{
    struct wdf_what what = { .major = IRP_MJ_READ, .offset = DeviceOffset ? *DeviceOffset : 0 };

    return request_format("WdfIoTargetFormatRequestForRead", IoTarget, Request,
                          &(struct memories){ .out = OutputBuffer, .out_offset = OutputBufferOffset }, &what);
}

NTSTATUS WdfIoTargetFormatRequestForWrite(WDFIOTARGET IoTarget, WDFREQUEST Request, WDFMEMORY InputBuffer,
                                          PWDFMEMORY_OFFSET InputBufferOffset, PLONGLONG DeviceOffset)
{
    struct wdf_what what = { .major = IRP_MJ_WRITE, .offset = DeviceOffset ? *DeviceOffset : 0 };

    return request_format("WdfIoTargetFormatRequestForWrite", IoTarget, Request,
                          &(struct memories){ .in = InputBuffer, .in_offset = InputBufferOffset }, &what);
}

VOID WdfRequestFormatRequestUsingCurrentType(WDFREQUEST Request)
{
    const char *routine = "WdfRequestFormatRequestUsingCurrentType";
    struct wdf_request *r = wdf_object_lookup(routine, Request, WDF_REQUEST);
    struct wdf_send *s;

    if (r)
        r = r->from_irp ? request_to_send(routine, Request) : wdf_request_owned(routine, Request);
    s = r ? wdf_send_of(r) : NULL;

    if (s)
        wdf_send_format_current(s);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

VOID WdfRequestSetCompletionRoutine(WDFREQUEST Request, PFN_WDF_REQUEST_COMPLETION_ROUTINE CompletionRoutine,
                                    WDFCONTEXT CompletionContext)
{
    struct wdf_request *r = request_to_send("WdfRequestSetCompletionRoutine", Request);
    struct wdf_send *s = r ? wdf_send_of(r) : NULL;

    if (!s)
        return;
    s->routine = CompletionRoutine;
    s->context = CompletionContext;
}

/* Returns true if the driver may send a received request with these flags. Otherwise reports the request. */
static bool send_is_allowed(struct wdf_request *r, ULONG flags)
{
    ULONG answered = WDF_REQUEST_SEND_OPTION_SYNCHRONOUS | WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET;

    if (!wdf_request_check_uncancelable("WdfRequestSend", r))
        return false;
    if (flags & answered || r->send->routine)
        return true;
    wdf_report_request("WdfRequestSend", r, WDF_REQUEST_UNWATCHED, "is sent without a completion routine");
    return false;
}

/* Returns why the driver must not forget the request, or NULL. */
static const char *send_why_not_forget(const struct wdf_request *r, const struct wdf_target_device *open)
{
    if (r->is_create && r->file)
        return "is a create request with a framework file object: only its completion ends the file object";
    if (r->send->formatted && r->send->params.Type != WdfRequestTypeNoFormat)
        return "has the buffers of a format, which nobody would free";
    if (open->file)
        return "is sent to a target with a file object";
    return NULL;
}

/* Returns a copy of t->open, with a reference on the device. */
static struct wdf_target_device target_ref_open(struct wdf_target *t)
{
    struct wdf_target_device open;

    pthread_mutex_lock(&wdf_target_lock);
    open = t->open;
    if (open.device)
        ObReferenceObject(open.device);
    pthread_mutex_unlock(&wdf_target_lock);
    return open;
}

/* Passes the request on to `open`. Returns false if the driver keeps the request. */
static bool send_pass_on(struct wdf_request *r, ULONG flags, const struct wdf_target_device *open)
{
    const char *why = send_why_not_forget(r, open);
    struct wdf_send *s = r->send;

    if (flags != WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET)
        s->status = STATUS_INVALID_PARAMETER;
    else if (r->created || why)
        s->status = STATUS_INVALID_DEVICE_REQUEST;
    else if (!open->device)
        s->status = STATUS_INVALID_DEVICE_STATE;
    else {
        wdf_request_pass_on(r, open->device);
        return true;
    }
    s->failed = true;
    if (why && !r->created)
        wdf_report_request("WdfRequestSend", r, WDF_REQUEST_FORGOTTEN, why);
    return false;
}

/*
 * The target's driver completes the request. The target's state does not matter, unless the target is closed. The
 * reference keeps the device if the target is closed meanwhile, for example by the request's EvtCleanupCallback.
 */
static BOOLEAN send_and_forget(struct wdf_target *t, struct wdf_request *r, ULONG flags)
{
    struct wdf_target_device open = target_ref_open(t);
    bool passed_on = send_pass_on(r, flags, &open);

    if (open.device)
        ObDereferenceObject(open.device);
    return passed_on;
}

BOOLEAN WdfRequestSend(WDFREQUEST Request, WDFIOTARGET Target, PWDF_REQUEST_SEND_OPTIONS Options)
{
    struct wdf_request *r = request_to_send("WdfRequestSend", Request);
    struct wdf_target *t = wdf_object_lookup("WdfRequestSend", Target, WDF_TARGET);
    struct wdf_send *s = r ? wdf_send_of(r) : NULL;

    if (Options && Options->Flags & WDF_REQUEST_SEND_OPTION_SYNCHRONOUS)
        irql_check_max("WdfRequestSend", PASSIVE_LEVEL);
    if (!s || !t)
        return FALSE;
    if (Options && Options->Size != sizeof *Options) {
        s->status = STATUS_INFO_LENGTH_MISMATCH;
        return FALSE;
    }
    if (!r->created && !send_is_allowed(r, Options ? Options->Flags : 0)) {
        s->failed = true;
        s->status = STATUS_INVALID_DEVICE_REQUEST;
        return FALSE;
    }
    if (!Options || !(Options->Flags & WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET))
        return wdf_send(t, r, Options);
    return send_and_forget(t, r, Options->Flags);
}

NTSTATUS WdfRequestAllocateTimer(WDFREQUEST Request)
{
    return request_to_send("WdfRequestAllocateTimer", Request) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

BOOLEAN WdfRequestCancelSentRequest(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_object_lookup("WdfRequestCancelSentRequest", Request, WDF_REQUEST);

    irql_check_max("WdfRequestCancelSentRequest", DISPATCH_LEVEL);
    return r && wdf_send_cancel(r);
}

VOID WdfRequestGetCompletionParams(WDFREQUEST Request, PWDF_REQUEST_COMPLETION_PARAMS Params)
{
    struct wdf_request *r = request_to_send("WdfRequestGetCompletionParams", Request);

    if (r && r->send && wdf_check_pointer("WdfRequestGetCompletionParams", Params, __builtin_return_address(0)))
        *Params = r->send->params;
}

/* ---- Synchronous requests ---------------------------------------------------------------------------------------- */

/* Sends `what` and waits. If `request` is NULL, uses a request that exists only during this call. */
static NTSTATUS send_synchronously(const char *routine, WDFIOTARGET target, WDFREQUEST request,
                                   const struct wdf_what *what, const WDF_REQUEST_SEND_OPTIONS *options,
                                   PULONG_PTR bytes)
{
    struct wdf_target *t = wdf_object_lookup(routine, target, WDF_TARGET);
    WDF_REQUEST_SEND_OPTIONS all = { sizeof all, WDF_REQUEST_SEND_OPTION_SYNCHRONOUS, 0 };
    struct wdf_request *r = request ? request_to_send(routine, request) : NULL;
    struct wdf_object *o = NULL;
    NTSTATUS status = STATUS_SUCCESS;

    irql_check_max(routine, PASSIVE_LEVEL);
    if (bytes)
        *bytes = 0;
    if (!t)
        return STATUS_INVALID_PARAMETER;
    if (request && !r)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (options && options->Size != sizeof *options)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (options) {
        all.Flags |= options->Flags;
        all.Timeout = options->Timeout;
    }
    if (!r) {
        status = wdf_object_new(WDF_REQUEST, sizeof *r, NULL, &t->object, &o);
        if (NT_SUCCESS(status))
            status = created_publish(o, true, (struct created_irp){ NULL, false }, &r);
    }
    if (NT_SUCCESS(status))
        status = wdf_send_format(t, r, what);
    if (NT_SUCCESS(status)) {
        if (wdf_send(t, r, &all) && bytes)
            *bytes = r->send->params.IoStatus.Information;
        status = r->send->status;
    }
    if (o && r)
        (void)wdf_object_delete(o);
    return status;
}

static NTSTATUS control_synchronously(const char *routine, UCHAR major, WDFIOTARGET target, WDFREQUEST request,
                                      ULONG code, const WDF_MEMORY_DESCRIPTOR *in, const WDF_MEMORY_DESCRIPTOR *out,
                                      const WDF_REQUEST_SEND_OPTIONS *options, PULONG_PTR bytes)
{
    struct wdf_what what = { .major = major, .code = code };
    NTSTATUS status = span_of_descriptor(routine, in, &what.in);

    if (NT_SUCCESS(status))
        status = span_of_descriptor(routine, out, &what.out);
    return NT_SUCCESS(status) ? send_synchronously(routine, target, request, &what, options, bytes) : status;
}

NTSTATUS WdfIoTargetSendIoctlSynchronously(WDFIOTARGET IoTarget, WDFREQUEST Request, ULONG IoctlCode,
                                           PWDF_MEMORY_DESCRIPTOR InputBuffer, PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                           PWDF_REQUEST_SEND_OPTIONS RequestOptions, PULONG_PTR BytesReturned)
{
    return control_synchronously("WdfIoTargetSendIoctlSynchronously", IRP_MJ_DEVICE_CONTROL, IoTarget, Request,
                                 IoctlCode, InputBuffer, OutputBuffer, RequestOptions, BytesReturned);
}

NTSTATUS WdfIoTargetSendInternalIoctlSynchronously(WDFIOTARGET IoTarget, WDFREQUEST Request, ULONG IoctlCode,
                                                   PWDF_MEMORY_DESCRIPTOR InputBuffer,
                                                   PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                                   PWDF_REQUEST_SEND_OPTIONS RequestOptions, PULONG_PTR BytesReturned)
{
    return control_synchronously("WdfIoTargetSendInternalIoctlSynchronously", IRP_MJ_INTERNAL_DEVICE_CONTROL, IoTarget,
                                 Request, IoctlCode, InputBuffer, OutputBuffer, RequestOptions, BytesReturned);
}

NTSTATUS WdfIoTargetSendReadSynchronously(WDFIOTARGET IoTarget, WDFREQUEST Request, PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                          PLONGLONG DeviceOffset, PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                          PULONG_PTR BytesRead)
{
    const char *routine = "WdfIoTargetSendReadSynchronously";
    struct wdf_what what = { .major = IRP_MJ_READ, .offset = DeviceOffset ? *DeviceOffset : 0 };
    NTSTATUS status = span_of_descriptor(routine, OutputBuffer, &what.out);

    return NT_SUCCESS(status) ? send_synchronously(routine, IoTarget, Request, &what, RequestOptions, BytesRead)
                              : status;
}

NTSTATUS WdfIoTargetSendWriteSynchronously(WDFIOTARGET IoTarget, WDFREQUEST Request, PWDF_MEMORY_DESCRIPTOR InputBuffer,
                                           PLONGLONG DeviceOffset, PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                           PULONG_PTR BytesWritten)
{
    const char *routine = "WdfIoTargetSendWriteSynchronously";
    struct wdf_what what = { .major = IRP_MJ_WRITE, .offset = DeviceOffset ? *DeviceOffset : 0 };
    NTSTATUS status = span_of_descriptor(routine, InputBuffer, &what.in);

    return NT_SUCCESS(status) ? send_synchronously(routine, IoTarget, Request, &what, RequestOptions, BytesWritten)
                              : status;
}
