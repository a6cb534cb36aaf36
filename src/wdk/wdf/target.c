/* SPDX-License-Identifier: MIT */
/* Implements I/O targets: creation, opening and closing. See target.h. */
#include <stdlib.h>

#include "wdf.h"
#include "ntifs.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/target.h"

struct wdf_target *wdf_target_of(const char *routine, WDFIOTARGET target, KIRQL irql)
{
    irql_check_max(routine, irql);
    return wdf_object_lookup(routine, target, WDF_TARGET);
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

static void target_release(const struct wdf_target *t, const struct wdf_target_device *open)
{
    if (open->file)
        ObDereferenceObject(open->file);
    else if (open->device && !t->local)
        ObDereferenceObject(open->device);
    if (open->handle)
        (void)ZwClose(open->handle);
}

/* Returns true if nothing uses the target's device any more. Requires the lock. */
static bool target_is_unused(const struct wdf_target *t)
{
    return !t->users && IsListEmpty(&t->waiting) && wdf_target_is_back(t, &t->sent) &&
           wdf_target_is_back(t, &t->ignoring);
}

/*
 * If several threads close the target, the first one whose wait is over releases the device. The driver may then open
 * the target again. So the other threads cancel and release nothing if the target was opened meanwhile.
 */
static void target_close(struct wdf_target *t, WDF_IO_TARGET_STATE state)
{
    struct wdf_target_device open = { 0 };
    unsigned opens;

    pthread_mutex_lock(&wdf_target_lock);
    while (t->opening)
        pthread_cond_wait(&wdf_target_changed, &wdf_target_lock);
    if (t->state != WdfIoTargetDeleted)
        t->state = state;
    opens = t->opens;
    pthread_mutex_unlock(&wdf_target_lock);
    wdf_target_refuse_waiting(t, opens);
    wdf_target_cancel(t, &t->sent, opens);
    wdf_target_cancel(t, &t->ignoring, opens);
    pthread_mutex_lock(&wdf_target_lock);
    while (t->opens == opens && !target_is_unused(t))
        pthread_cond_wait(&wdf_target_changed, &wdf_target_lock);
    if (t->opens == opens) {
        open = t->open;
        t->open = (struct wdf_target_device){ 0 };
    }
    pthread_mutex_unlock(&wdf_target_lock);
    target_release(t, &open);
}

/* A deleted target cannot be opened any more. */
static void target_stop(struct wdf_object *o)
{
    struct wdf_target *t = CONTAINING_RECORD(o, struct wdf_target, object);

    if (wdf_send_is_finishing(t) && check_on())
        check_failed(CHECK_WDF_CALLBACK, "WdfObjectDelete", WDF_WAITS_FOR_ITSELF, (uintptr_t)o, 0, 0,
                     "a completion routine deletes its target, WDFIOTARGET %p, and so waits for its own end",
                     (void *)o);
    target_close(t, WdfIoTargetDeleted);
}

static void target_destroy(struct wdf_object *o)
{
    struct wdf_target *t = CONTAINING_RECORD(o, struct wdf_target, object);

    free(t->reopen.name.Buffer);
}

VOID WdfIoTargetClose(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetClose", IoTarget, PASSIVE_LEVEL);

    if (!t || t->local)
        return;
    wdf_object_ref(&t->object); /* a completion routine that the close calls may delete the target */
    target_close(t, WdfIoTargetClosed);
    wdf_object_unref(&t->object);
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
    InitializeListHead(&(*out)->waiting);
    InitializeListHead(&(*out)->sent.requests);
    InitializeListHead(&(*out)->ignoring.requests);
    o->stop = target_stop;
    o->cleans_up_first = true;
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
    t->open.device = d->pnp.below;
    t->state = WdfIoTargetStarted;
    status = wdf_object_publish(&t->object);
    if (NT_SUCCESS(status))
        d->target = t;
    return status;
}

static NTSTATUS target_open_by_name(struct wdf_target *t, struct wdf_target_device *open)
{
    UNICODE_STRING name = t->reopen.name;
    OBJECT_ATTRIBUTES attributes;
    IO_STATUS_BLOCK result;
    NTSTATUS status;

    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    status = ZwCreateFile(&open->handle, t->reopen.access, &attributes, &result, NULL, t->reopen.attributes,
                          t->reopen.share, t->reopen.disposition, t->reopen.options, NULL, 0);
    if (!NT_SUCCESS(status))
        return status;
    status = ObReferenceObjectByHandle(open->handle, t->reopen.access, *IoFileObjectType, KernelMode,
                                       (PVOID *)&open->file, NULL);
    if (!NT_SUCCESS(status)) {
        (void)ZwClose(open->handle);
        return status;
    }
    open->device = IoGetRelatedDeviceObject(open->file);
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

static NTSTATUS target_use_existing(const WDF_IO_TARGET_OPEN_PARAMS *p, struct wdf_target_device *open)
{
    if (!p->TargetDeviceObject)
        return STATUS_INVALID_PARAMETER;
    open->device = p->TargetDeviceObject;
    open->file = p->TargetFileObject;
    ObReferenceObject(open->file ? (PVOID)open->file : (PVOID)open->device);
    return STATUS_SUCCESS;
}

static NTSTATUS target_open(struct wdf_target *t, const WDF_IO_TARGET_OPEN_PARAMS *p, struct wdf_target_device *open)
{
    NTSTATUS status;

    switch (p->Type) {
    case WdfIoTargetOpenUseExistingDevice:
        return target_use_existing(p, open);
    case WdfIoTargetOpenByName:
        status = target_keep_name(t, p);
        return NT_SUCCESS(status) ? target_open_by_name(t, open) : status;
    case WdfIoTargetOpenReopen:
        return t->reopen.name.Buffer ? target_open_by_name(t, open) : STATUS_INVALID_DEVICE_STATE;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

/* Returns false if the target is open, is being opened, or is deleted. */
static bool target_begin_open(struct wdf_target *t)
{
    bool begun;

    pthread_mutex_lock(&wdf_target_lock);
    begun = !t->open.device && !t->opening && t->state != WdfIoTargetDeleted;
    t->opening = t->opening || begun;
    pthread_mutex_unlock(&wdf_target_lock);
    return begun;
}

/* `open` is NULL if the target could not be opened. */
static void target_end_open(struct wdf_target *t, const struct wdf_target_device *open)
{
    pthread_mutex_lock(&wdf_target_lock);
    t->opening = false;
    if (open) {
        t->open = *open;
        t->opens++;
        t->state = WdfIoTargetStarted;
    }
    pthread_cond_broadcast(&wdf_target_changed); /* a close waits until `opening` is false */
    pthread_mutex_unlock(&wdf_target_lock);
}

NTSTATUS WdfIoTargetOpen(WDFIOTARGET IoTarget, PWDF_IO_TARGET_OPEN_PARAMS OpenParams)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetOpen", IoTarget, PASSIVE_LEVEL);
    struct wdf_target_device open = { 0 };
    NTSTATUS status;

    if (!t || !wdf_check_pointer("WdfIoTargetOpen", OpenParams, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (OpenParams->Size != sizeof *OpenParams)
        return STATUS_INFO_LENGTH_MISMATCH;
    if (!target_begin_open(t))
        return STATUS_INVALID_DEVICE_STATE;
    status = target_open(t, OpenParams, &open);
    target_end_open(t, NT_SUCCESS(status) ? &open : NULL);
    return status;
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

WDF_IO_TARGET_STATE WdfIoTargetGetState(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetGetState", IoTarget, DISPATCH_LEVEL);
    WDF_IO_TARGET_STATE state;

    if (!t)
        return WdfIoTargetStateUndefined;
    pthread_mutex_lock(&wdf_target_lock);
    state = t->state;
    pthread_mutex_unlock(&wdf_target_lock);
    return state;
}

/* Returns a copy of the target's `open`. Returns zeros if the handle is wrong. */
static struct wdf_target_device target_get_open(const char *routine, WDFIOTARGET target)
{
    struct wdf_target *t = wdf_target_of(routine, target, DISPATCH_LEVEL);
    struct wdf_target_device open = { 0 };

    if (!t)
        return open;
    pthread_mutex_lock(&wdf_target_lock);
    open = t->open;
    pthread_mutex_unlock(&wdf_target_lock);
    return open;
}

WDFDEVICE WdfIoTargetGetDevice(WDFIOTARGET IoTarget)
{
    struct wdf_target *t = wdf_target_of("WdfIoTargetGetDevice", IoTarget, DISPATCH_LEVEL);

    return t ? (WDFDEVICE)t->device : NULL;
}

PDEVICE_OBJECT WdfIoTargetWdmGetTargetDeviceObject(WDFIOTARGET IoTarget)
{
    return target_get_open("WdfIoTargetWdmGetTargetDeviceObject", IoTarget).device;
}

PFILE_OBJECT WdfIoTargetWdmGetTargetFileObject(WDFIOTARGET IoTarget)
{
    return target_get_open("WdfIoTargetWdmGetTargetFileObject", IoTarget).file;
}

HANDLE WdfIoTargetWdmGetTargetFileHandle(WDFIOTARGET IoTarget)
{
    return target_get_open("WdfIoTargetWdmGetTargetFileHandle", IoTarget).handle;
}

WDFIOTARGET WdfDeviceGetIoTarget(WDFDEVICE Device)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetIoTarget", Device, WDF_DEVICE);

    irql_check_max("WdfDeviceGetIoTarget", DISPATCH_LEVEL);
    return d ? (WDFIOTARGET)d->target : NULL;
}
