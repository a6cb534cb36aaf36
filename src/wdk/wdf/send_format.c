/* SPDX-License-Identifier: MIT */
/*
 * Formats requests to I/O targets: sets the buffers and the next stack location of their IRPs. See target.h. The
 * invariant: an IRP that the framework has not allocated has its own buffers back when the driver completes it.
 */
#include <stdlib.h>
#include <string.h>

#include "wdf.h"

#include "wdk/wdf/target.h"

#define SEND_TAG 'tdWF'

struct wdf_send *wdf_send_of(struct wdf_request *r)
{
    struct wdf_send *s = r->send;

    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->request = r;
    InitializeListHead(&s->link);
    KeInitializeEvent(&s->done, NotificationEvent, FALSE);
    r->send = s;
    return s;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static void send_drop_span(struct wdf_span *span)
{
    if (span->memory)
        wdf_object_unref(span->memory);
    *span = (struct wdf_span){ 0 };
}

/* Frees the buffers of the last format. An IRP that the framework has not allocated gets its own buffers back. */
static void send_release(struct wdf_send *s)
{
    PIRP irp = s->request->irp;

    if (s->formatted && irp && !s->request->own_irp) {
        irp->AssociatedIrp.SystemBuffer = s->saved.system;
        irp->UserBuffer = s->saved.user;
        irp->MdlAddress = s->saved.mdl;
    } else if (irp && s->request->own_irp) {
        irp->MdlAddress = NULL;
    }
    if (s->system)
        ExFreePool(s->system);
    if (s->mdl && s->locked)
        MmUnlockPages(s->mdl);
    if (s->mdl)
        IoFreeMdl(s->mdl);
    s->locked = false;
    s->system = NULL;
    s->mdl = NULL;
    s->copies_out = s->formatted = s->ready = false;
    send_drop_span(&s->in);
    send_drop_span(&s->out);
}

void wdf_send_end(struct wdf_request *r)
{
    if (r->send)
        send_release(r->send);
}

void wdf_send_free(struct wdf_request *r)
{
    if (!r->send)
        return;
    send_release(r->send);
    free(r->send);
    r->send = NULL;
}

/* Sets the IRP's system buffer, which has the input and room for the output. */
static NTSTATUS send_use_system_buffer(struct wdf_send *s, PIRP irp, size_t room)
{
    size_t size = s->in.length > room ? s->in.length : room;

    irp->AssociatedIrp.SystemBuffer = NULL;
    if (!size)
        return STATUS_SUCCESS;
    s->system = ExAllocatePoolWithTag(NonPagedPoolNx, size, SEND_TAG);
    if (!s->system)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (s->in.length)
        memcpy(s->system, s->in.address, s->in.length);
    irp->AssociatedIrp.SystemBuffer = s->system;
    s->copies_out = room != 0;
    return STATUS_SUCCESS;
}

/* Sets the IRP's MDL. `operation` is what the target does with the buffer. */
static NTSTATUS send_use_mdl(struct wdf_send *s, PIRP irp, const struct wdf_span *span, LOCK_OPERATION operation)
{
    irp->MdlAddress = span->mdl;
    if (span->mdl || !span->length)
        return STATUS_SUCCESS;
    s->mdl = IoAllocateMdl(span->address, (ULONG)span->length, FALSE, FALSE, NULL);
    if (!s->mdl)
        return STATUS_INSUFFICIENT_RESOURCES;
    irp->MdlAddress = s->mdl;
    if (span->memory) {
        MmBuildMdlForNonPagedPool(s->mdl);
        return STATUS_SUCCESS;
    }
    __try {
        /* The buffer belongs to a driver that sends synchronously, and may be pageable or on the stack. */
        MmProbeAndLockPages(s->mdl, KernelMode, operation);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    s->locked = true;
    return STATUS_SUCCESS;
}

static NTSTATUS send_format_control(struct wdf_send *s, PIRP irp, ULONG code)
{
    ULONG method = METHOD_FROM_CTL_CODE(code);
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);
    NTSTATUS status;

    next->Parameters.DeviceIoControl.IoControlCode = code;
    next->Parameters.DeviceIoControl.InputBufferLength = (ULONG)s->in.length;
    next->Parameters.DeviceIoControl.OutputBufferLength = (ULONG)s->out.length;
    switch (method) {
    case METHOD_BUFFERED:
        return send_use_system_buffer(s, irp, s->out.length);
    case METHOD_NEITHER:
        next->Parameters.DeviceIoControl.Type3InputBuffer = s->in.address;
        irp->UserBuffer = s->out.address;
        return STATUS_SUCCESS;
    default:
        status = send_use_system_buffer(s, irp, 0);
        return NT_SUCCESS(status)
                   ? send_use_mdl(s, irp, &s->out, method == METHOD_IN_DIRECT ? IoReadAccess : IoWriteAccess)
                   : status;
    }
}

static NTSTATUS send_format_transfer(struct wdf_send *s, PIRP irp, PDEVICE_OBJECT target, const struct wdf_what *what)
{
    struct wdf_span *span = what->major == IRP_MJ_READ ? &s->out : &s->in;
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(irp);

    next->Parameters.Read.Length = (ULONG)span->length; /* Parameters.Write has the same layout */
    next->Parameters.Read.ByteOffset.QuadPart = what->offset;
    if (target->Flags & DO_BUFFERED_IO)
        return send_use_system_buffer(s, irp, s->out.length);
    if (target->Flags & DO_DIRECT_IO)
        return send_use_mdl(s, irp, span, what->major == IRP_MJ_READ ? IoWriteAccess : IoReadAccess);
    irp->UserBuffer = span->address;
    return STATUS_SUCCESS;
}

static WDF_REQUEST_TYPE send_type(UCHAR major)
{
    switch (major) {
    case IRP_MJ_READ:
        return WdfRequestTypeRead;
    case IRP_MJ_WRITE:
        return WdfRequestTypeWrite;
    case IRP_MJ_DEVICE_CONTROL:
        return WdfRequestTypeDeviceControl;
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        return WdfRequestTypeDeviceControlInternal;
    default:
        return WdfRequestTypeNoFormat;
    }
}

static void send_set_params(struct wdf_send *s, const struct wdf_what *what)
{
    WDF_REQUEST_COMPLETION_PARAMS *p = &s->params;

    WDF_REQUEST_COMPLETION_PARAMS_INIT(p);
    p->Type = send_type(what->major);
    if (what->major == IRP_MJ_READ) {
        p->Parameters.Read.Buffer = (WDFMEMORY)s->out.memory;
        p->Parameters.Read.Offset = s->out.offset;
    } else if (what->major == IRP_MJ_WRITE) {
        p->Parameters.Write.Buffer = (WDFMEMORY)s->in.memory;
        p->Parameters.Write.Offset = s->in.offset;
    } else {
        p->Parameters.Ioctl.IoControlCode = what->code;
        p->Parameters.Ioctl.Input.Buffer = (WDFMEMORY)s->in.memory;
        p->Parameters.Ioctl.Input.Offset = s->in.offset;
        p->Parameters.Ioctl.Output.Buffer = (WDFMEMORY)s->out.memory;
        p->Parameters.Ioctl.Output.Offset = s->out.offset;
    }
}

void wdf_send_free_irp(struct wdf_request *r)
{
    if (r->irp && r->frees_irp)
        IoFreeIrp(r->irp);
    r->irp = NULL;
}

/*
 * Gives the request an IRP with enough stack locations for the target. Replaces only an IRP that the framework has to
 * free: returns STATUS_REQUEST_NOT_ACCEPTED if another IRP has too few stack locations left.
 */
static NTSTATUS send_prepare_irp(struct wdf_request *r, PDEVICE_OBJECT target)
{
    PIRP irp = r->irp;

    if (irp && !r->own_irp && irp->CurrentLocation > target->StackSize)
        return STATUS_SUCCESS;
    if (irp && !r->frees_irp)
        return STATUS_REQUEST_NOT_ACCEPTED;
    if (irp && r->own_irp && irp->StackCount >= target->StackSize) {
        IoReuseIrp(irp, STATUS_SUCCESS);
        return STATUS_SUCCESS;
    }
    irp = IoAllocateIrp(target->StackSize, FALSE);
    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    wdf_send_free_irp(r);
    r->irp = irp;
    r->own_irp = r->frees_irp = true;
    return STATUS_SUCCESS;
}

static void send_add_span(struct wdf_span *to, const struct wdf_span *from)
{
    *to = *from;
    if (to->memory)
        wdf_object_ref(to->memory);
}

/* Prepares the request's IRP for the target. The caller keeps the target open. */
static NTSTATUS send_format_for(const struct wdf_target_device *open, struct wdf_send *s, const struct wdf_what *what)
{
    struct wdf_request *r = s->request;
    PIO_STACK_LOCATION next;
    NTSTATUS status;

    send_release(s);
    status = send_prepare_irp(r, open->device);
    if (!NT_SUCCESS(status))
        return status;
    s->saved.system = r->irp->AssociatedIrp.SystemBuffer;
    s->saved.user = r->irp->UserBuffer;
    s->saved.mdl = r->irp->MdlAddress;
    s->formatted = true;
    send_add_span(&s->in, &what->in);
    send_add_span(&s->out, &what->out);
    next = IoGetNextIrpStackLocation(r->irp);
    RtlZeroMemory(next, sizeof *next);
    next->MajorFunction = what->major;
    next->FileObject = open->file;
    send_set_params(s, what);
    status = what->major == IRP_MJ_READ || what->major == IRP_MJ_WRITE
                 ? send_format_transfer(s, r->irp, open->device, what)
                 : send_format_control(s, r->irp, what->code);
    s->ready = NT_SUCCESS(status);
    if (!s->ready)
        send_release(s);
    return status;
}

/* Prevents the release of the target's device. Returns false if the target is closed. */
static bool send_begin_use(struct wdf_target *t, struct wdf_target_device *open)
{
    pthread_mutex_lock(&wdf_target_lock);
    *open = t->open;
    t->users += open->device != NULL;
    pthread_mutex_unlock(&wdf_target_lock);
    return open->device != NULL;
}

static void send_end_use(struct wdf_target *t)
{
    pthread_mutex_lock(&wdf_target_lock);
    t->users--;
    pthread_cond_broadcast(&wdf_target_changed);
    pthread_mutex_unlock(&wdf_target_lock);
}

NTSTATUS wdf_send_format(struct wdf_target *t, struct wdf_request *r, const struct wdf_what *what)
{
    struct wdf_send *s = wdf_send_of(r);
    struct wdf_target_device open;
    NTSTATUS status;

    if (!s)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (!send_begin_use(t, &open))
        return STATUS_INVALID_DEVICE_STATE;
    status = send_format_for(&open, s, what);
    send_end_use(t);
    return status;
}

void wdf_send_format_current(struct wdf_send *s)
{
    PIRP irp = s->request->irp;

    send_release(s);
    if (!irp || irp->CurrentLocation <= 1 || irp->CurrentLocation > irp->StackCount)
        return; /* there is no location for the target, or no current one: wdf_send refuses the request */
    s->saved.system = irp->AssociatedIrp.SystemBuffer;
    s->saved.user = irp->UserBuffer;
    s->saved.mdl = irp->MdlAddress;
    IoCopyCurrentIrpStackLocationToNext(irp);
    WDF_REQUEST_COMPLETION_PARAMS_INIT(&s->params);
    s->formatted = s->ready = true;
}

void wdf_send_reset(struct wdf_send *s, NTSTATUS status)
{
    PIRP irp = s->request->irp;

    send_release(s);
    s->routine = NULL;
    s->context = NULL;
    s->status = status;
    WDF_REQUEST_COMPLETION_PARAMS_INIT(&s->params);
    if (irp && s->request->own_irp) /* other IRPs may have stack locations in use, and the result is the driver's */
        IoReuseIrp(irp, status);
}
