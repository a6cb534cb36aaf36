/* SPDX-License-Identifier: MIT */
/* Implements I/O targets: creation, opening and closing. See target.h. */
#include <stdlib.h>

#include "wdf.h"
#include "ntifs.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/target.h"

static struct wdf_target *target_of(const char *routine, WDFIOTARGET target, KIRQL irql)
{
    irql_check_max(routine, irql);
    return wdf_object_lookup(routine, target, WDF_TARGET);
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

/* Returns a sent request with a reference on it, or NULL. Requires the lock. */
static struct wdf_request *target_first_sent(struct wdf_target *t)
{
    struct wdf_request *r;

    if (IsListEmpty(&t->sent))
        return NULL;
    r = CONTAINING_RECORD(t->sent.Flink, struct wdf_send, link)->request;
    wdf_object_ref(&r->object);
    /* The next call returns another request. */
    RemoveEntryList(&r->send->link);
    InsertTailList(&t->sent, &r->send->link);
    return r;
}

static unsigned target_count_sent(struct wdf_target *t)
{
    unsigned n = 0;

    pthread_mutex_lock(&wdf_target_lock);
    for (LIST_ENTRY *e = t->sent.Flink; e != &t->sent; e = e->Flink)
        n++;
    pthread_mutex_unlock(&wdf_target_lock);
    return n;
}

/* Cancels the requests that are sent now, and waits for them. */
static void target_cancel_sent(struct wdf_target *t)
{
    for (unsigned n = target_count_sent(t); n; n--) {
        struct wdf_request *r;

        pthread_mutex_lock(&wdf_target_lock);
        r = target_first_sent(t);
        pthread_mutex_unlock(&wdf_target_lock);
        if (!r)
            break;
        (void)wdf_send_cancel(r);
        wdf_object_unref(&r->object);
    }
    pthread_mutex_lock(&wdf_target_lock);
    while (!IsListEmpty(&t->sent))
        pthread_cond_wait(&wdf_target_changed, &wdf_target_lock);
    pthread_mutex_unlock(&wdf_target_lock);
}

static void target_close(struct wdf_target *t)
{
    pthread_mutex_lock(&wdf_target_lock);
    t->state = WdfIoTargetClosed;
    pthread_mutex_unlock(&wdf_target_lock);
    target_cancel_sent(t);
    if (t->file)
        ObDereferenceObject(t->file);
    else if (t->target && !t->local)
        ObDereferenceObject(t->target);
    if (t->handle)
        (void)ZwClose(t->handle);
    t->file = NULL;
    t->target = NULL;
    t->handle = NULL;
}

static void target_stop(struct wdf_object *o)
{
    target_close(CONTAINING_RECORD(o, struct wdf_target, object));
}

static void target_destroy(struct wdf_object *o)
{
    struct wdf_target *t = CONTAINING_RECORD(o, struct wdf_target, object);

    free(t->reopen.name.Buffer);
}

VOID WdfIoTargetClose(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetClose", IoTarget, PASSIVE_LEVEL);

    if (t && !t->local)
        target_close(t);
}

/* ---- Creating and opening ---------------------------------------------------------------------------------------- */

static NTSTATUS target_new(struct wdf_device *d, PWDF_OBJECT_ATTRIBUTES attributes, struct wdf_target **out)
{
    struct wdf_object *parent = attributes && attributes->ParentObject ? wdf_parent_of(attributes) : &d->object, *o;
    NTSTATUS status;

    if (!parent)
        return STATUS_INVALID_PARAMETER;
    status = wdf_object_new(WDF_TARGET, sizeof **out, attributes, parent, &o);
    if (!NT_SUCCESS(status))
        return status;
    *out = CONTAINING_RECORD(o, struct wdf_target, object);
    (*out)->device = d;
    (*out)->state = WdfIoTargetClosed;
    InitializeListHead(&(*out)->sent);
    o->stop = target_stop;
    o->destroy = target_destroy;
    return STATUS_SUCCESS;
}

NTSTATUS WdfIoTargetCreate(WDFDEVICE Device, PWDF_OBJECT_ATTRIBUTES IoTargetAttributes, WDFIOTARGET *IoTarget)
{
    struct wdf_device *d = wdf_object_lookup("WdfIoTargetCreate", Device, WDF_DEVICE);
    struct wdf_target *t;
    NTSTATUS status;

    irql_check_max("WdfIoTargetCreate", PASSIVE_LEVEL);
    if (!d || !wdf_check_pointer("WdfIoTargetCreate", IoTarget, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    status = target_new(d, IoTargetAttributes, &t);
    if (NT_SUCCESS(status))
        status = wdf_object_publish(&t->object);
    if (NT_SUCCESS(status))
        *IoTarget = (WDFIOTARGET)t;
    return status;
}

NTSTATUS wdf_target_create_local(struct wdf_device *d)
{
    struct wdf_target *t;
    NTSTATUS status = target_new(d, NULL, &t);

    if (!NT_SUCCESS(status))
        return status;
    t->local = true;
    t->object.framework = true;
    t->target = d->pnp.below;
    t->state = WdfIoTargetStarted;
    status = wdf_object_publish(&t->object);
    if (NT_SUCCESS(status))
        d->target = t;
    return status;
}

static NTSTATUS target_open_by_name(struct wdf_target *t)
{
    UNICODE_STRING name = t->reopen.name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK result;
    NTSTATUS status;

    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    status = ZwCreateFile(&t->handle, t->reopen.access, &attributes, &result, NULL, t->reopen.attributes,
                          t->reopen.share, t->reopen.disposition, t->reopen.options, NULL, 0);
    if (!NT_SUCCESS(status)) {
        t->handle = NULL;
        return status;
    }
    status = ObReferenceObjectByHandle(t->handle, t->reopen.access, *IoFileObjectType, KernelMode, (PVOID *)&t->file,
                                       NULL);
    if (!NT_SUCCESS(status)) {
        (void)ZwClose(t->handle);
        t->handle = NULL;
        return status;
    }
    t->target = IoGetRelatedDeviceObject(t->file);
    return STATUS_SUCCESS;
}

/* Stores what a later open with WdfIoTargetOpenReopen needs. */
static NTSTATUS target_keep_name(struct wdf_target *t, const WDF_IO_TARGET_OPEN_PARAMS *p)
{
    UNICODE_STRING copy;

    if (p->EaBufferLength)
        return STATUS_NOT_SUPPORTED;
    if (!p->TargetDeviceName.Length)
        return STATUS_INVALID_PARAMETER;
    if (!wdf_copy_string(&copy, &p->TargetDeviceName))
        return STATUS_INSUFFICIENT_RESOURCES;
    free(t->reopen.name.Buffer);
    t->reopen.name = copy;
    t->reopen.access = p->DesiredAccess;
    t->reopen.share = p->ShareAccess;
    t->reopen.attributes = p->FileAttributes ? p->FileAttributes : FILE_ATTRIBUTE_NORMAL;
    t->reopen.disposition = p->CreateDisposition ? p->CreateDisposition : FILE_OPEN;
    t->reopen.options = p->CreateOptions;
    return STATUS_SUCCESS;
}

static NTSTATUS target_use_existing(struct wdf_target *t, const WDF_IO_TARGET_OPEN_PARAMS *p)
{
    if (!p->TargetDeviceObject)
        return STATUS_INVALID_PARAMETER;
    t->target = p->TargetDeviceObject;
    t->file = p->TargetFileObject;
    ObReferenceObject(t->file ? (PVOID)t->file : (PVOID)t->target);
    return STATUS_SUCCESS;
}

static NTSTATUS target_open(struct wdf_target *t, const WDF_IO_TARGET_OPEN_PARAMS *p)
{
    NTSTATUS status;

    switch (p->Type) {
    case WdfIoTargetOpenUseExistingDevice:
        return target_use_existing(t, p);
    case WdfIoTargetOpenByName:
        status = target_keep_name(t, p);
        return NT_SUCCESS(status) ? target_open_by_name(t) : status;
    case WdfIoTargetOpenReopen:
        return t->reopen.name.Buffer ? target_open_by_name(t) : STATUS_INVALID_DEVICE_STATE;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

NTSTATUS WdfIoTargetOpen(WDFIOTARGET IoTarget, PWDF_IO_TARGET_OPEN_PARAMS OpenParams)
{
    struct wdf_target *t = target_of("WdfIoTargetOpen", IoTarget, PASSIVE_LEVEL);
    NTSTATUS status;

    if (!t || !wdf_check_pointer("WdfIoTargetOpen", OpenParams, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (OpenParams->Size != sizeof *OpenParams)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (t->local || t->target)
        return STATUS_INVALID_DEVICE_STATE;
    status = target_open(t, OpenParams);
    if (!NT_SUCCESS(status))
        return status;
    pthread_mutex_lock(&wdf_target_lock);
    t->state = WdfIoTargetStarted;
    pthread_mutex_unlock(&wdf_target_lock);
    return status;
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

WDF_IO_TARGET_STATE WdfIoTargetGetState(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetGetState", IoTarget, DISPATCH_LEVEL);
    WDF_IO_TARGET_STATE state;

    if (!t)
        return WdfIoTargetStateUndefined;
    pthread_mutex_lock(&wdf_target_lock);
    state = t->state;
    pthread_mutex_unlock(&wdf_target_lock);
    return state;
}

WDFDEVICE WdfIoTargetGetDevice(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetGetDevice", IoTarget, DISPATCH_LEVEL);

    return t ? (WDFDEVICE)t->device : NULL;
}

PDEVICE_OBJECT WdfIoTargetWdmGetTargetDeviceObject(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetWdmGetTargetDeviceObject", IoTarget, DISPATCH_LEVEL);

    return t ? t->target : NULL;
}

PFILE_OBJECT WdfIoTargetWdmGetTargetFileObject(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetWdmGetTargetFileObject", IoTarget, DISPATCH_LEVEL);

    return t ? t->file : NULL;
}

HANDLE WdfIoTargetWdmGetTargetFileHandle(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = target_of("WdfIoTargetWdmGetTargetFileHandle", IoTarget, DISPATCH_LEVEL);

    return t ? t->handle : NULL;
}

WDFIOTARGET WdfDeviceGetIoTarget(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetIoTarget", Device, WDF_DEVICE);

    irql_check_max("WdfDeviceGetIoTarget", DISPATCH_LEVEL);
    return d ? (WDFIOTARGET)d->target : NULL;
}
