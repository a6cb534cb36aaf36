/* SPDX-License-Identifier: MIT */
/*
 * Implements the framework's file objects. A file object exists from IRP_MJ_CREATE, unless the open fails, to
 * IRP_MJ_CLOSE. It is stored in the WDM file object, or in the device's list if the driver keeps FsContext and
 * FsContext2 for itself.
 */
#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

static int file_class(const struct wdf_device *d)
{
    return (int)((ULONG)d->init.file.FileObjectClass & ~(ULONG)WdfFileObjectCanBeOptional);
}

/*
 * Returns the member of the WDM file object that stores the framework's object, or NULL if that object is in the
 * device's list.
 */
static PVOID *file_slot(const struct wdf_device *d, PFILE_OBJECT file)
{
    switch (file_class(d)) {
    case WdfFileObjectWdfCanUseFsContext:
        return &file->FsContext;
    case WdfFileObjectWdfCanUseFsContext2:
        return &file->FsContext2;
    default:
        return NULL;
    }
}

static bool file_is_wanted(const struct wdf_device *d)
{
    return file_class(d) > WdfFileObjectNotRequired && file_class(d) <= WdfFileObjectWdfCannotUseFsContexts;
}

struct wdf_file *wdf_file_find(struct wdf_device *d, PFILE_OBJECT file)
{
    PVOID *slot = file_slot(d, file);
    struct wdf_file *found = NULL;

    if (!file_is_wanted(d))
        return NULL;
    if (slot)
        return *slot;
    pthread_mutex_lock(&d->lock);
    for (LIST_ENTRY *e = d->files.Flink; e != &d->files && !found; e = e->Flink)
        if (CONTAINING_RECORD(e, struct wdf_file, link)->file == file)
            found = CONTAINING_RECORD(e, struct wdf_file, link);
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* Creates the framework's object for a file that is being opened, if the driver wants one. */
NTSTATUS wdf_file_create(struct wdf_device *d, PIRP irp)
{
    PWDF_OBJECT_ATTRIBUTES attributes = d->init.file_attributes.Size ? &d->init.file_attributes : NULL;
    PFILE_OBJECT file = IoGetCurrentIrpStackLocation(irp)->FileObject;
    struct wdf_object *o;
    struct wdf_file *f;
    NTSTATUS status;
    PVOID *slot;

    if (!file || !file_is_wanted(d))
        return STATUS_SUCCESS;
    status = wdf_object_new(WDF_FILE, sizeof *f, attributes, &d->object, &o);
    if (!NT_SUCCESS(status))
        return status;
    f = CONTAINING_RECORD(o, struct wdf_file, object);
    f->file = file;
    InitializeListHead(&f->link);
    status = wdf_object_publish(o);
    if (!NT_SUCCESS(status))
        return status;
    slot = file_slot(d, file);
    if (slot) {
        *slot = f;
        return STATUS_SUCCESS;
    }
    pthread_mutex_lock(&d->lock);
    InsertTailList(&d->files, &f->link);
    pthread_mutex_unlock(&d->lock);
    return STATUS_SUCCESS;
}

void wdf_file_discard(struct wdf_device *d, struct wdf_file *f)
{
    PVOID *slot;

    if (!f)
        return;
    slot = file_slot(d, f->file);
    if (slot)
        *slot = NULL;
    pthread_mutex_lock(&d->lock);
    RemoveEntryList(&f->link);
    InitializeListHead(&f->link);
    pthread_mutex_unlock(&d->lock);
    (void)wdf_object_delete(&f->object);
}

/* Returns the lock that file callbacks hold, or NULL. They run at PASSIVE_LEVEL, so they cannot hold a spin lock. */
static struct wdf_sync *file_sync(struct wdf_file *f, struct wdf_device *d)
{
    struct wdf_sync *sync = wdf_callback_sync(f ? &f->object : &d->object);

    return sync && sync->passive ? sync : NULL;
}

void wdf_file_call_create(struct wdf_device *d, struct wdf_request *r)
{
    PFN_WDF_DEVICE_FILE_CREATE routine = d->init.file.EvtDeviceFileCreate;
    struct wdf_call call;

    atomic_store(&r->owner, OWNER_DRIVER);
    wdf_call_begin(&call, file_sync(r->file, d));
    routine((WDFDEVICE)d, (WDFREQUEST)r, (WDFFILEOBJECT)r->file);
    wdf_call_end(&call, "EvtDeviceFileCreate", (const void *)(uintptr_t)routine);
}

static void file_call(struct wdf_device *d, struct wdf_file *f, VOID (*routine)(WDFFILEOBJECT), const char *name)
{
    struct wdf_call call;

    if (!routine || !f)
        return;
    wdf_call_begin(&call, file_sync(f, d));
    routine((WDFFILEOBJECT)f);
    wdf_call_end(&call, name, (const void *)(uintptr_t)routine);
}

static void file_cancel_requests(struct wdf_device *d, PFILE_OBJECT file)
{
    for (struct wdf_queue *q = wdf_device_next_queue(d, NULL); q; q = wdf_device_next_queue(d, q))
        wdf_queue_cancel_waiting(q, file);
}

NTSTATUS wdf_file_cleanup(struct wdf_device *d, PIRP irp)
{
    PFILE_OBJECT file = IoGetCurrentIrpStackLocation(irp)->FileObject;

    if (file) {
        file_call(d, wdf_file_find(d, file), d->init.file.EvtFileCleanup, "EvtFileCleanup");
        file_cancel_requests(d, file);
    }
    return wdf_complete_irp(irp, STATUS_SUCCESS);
}

NTSTATUS wdf_file_close(struct wdf_device *d, PIRP irp)
{
    PFILE_OBJECT file = IoGetCurrentIrpStackLocation(irp)->FileObject;
    struct wdf_file *f = file ? wdf_file_find(d, file) : NULL;

    file_call(d, f, d->init.file.EvtFileClose, "EvtFileClose");
    wdf_file_discard(d, f);
    return wdf_complete_irp(irp, STATUS_SUCCESS);
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

static struct wdf_file *file_of(const char *routine, WDFFILEOBJECT file)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    return wdf_object_lookup(routine, file, WDF_FILE);
}

WDFFILEOBJECT WdfDeviceGetFileObject(WDFDEVICE Device, PFILE_OBJECT FileObject)
{
    struct wdf_device *d = wdf_object_lookup("WdfDeviceGetFileObject", Device, WDF_DEVICE);

    irql_check_max("WdfDeviceGetFileObject", DISPATCH_LEVEL);
    return d && FileObject ? (WDFFILEOBJECT)wdf_file_find(d, FileObject) : NULL;
}

PUNICODE_STRING WdfFileObjectGetFileName(WDFFILEOBJECT FileObject)
{
    struct wdf_file *f = file_of("WdfFileObjectGetFileName", FileObject);

    irql_check_max("WdfFileObjectGetFileName", PASSIVE_LEVEL);
    return f ? &f->file->FileName : NULL;
}

ULONG WdfFileObjectGetFlags(WDFFILEOBJECT FileObject)
{
    struct wdf_file *f = file_of("WdfFileObjectGetFlags", FileObject);

    return f ? f->file->Flags : 0;
}

WDFDEVICE WdfFileObjectGetDevice(WDFFILEOBJECT FileObject)
{
    struct wdf_file *f = file_of("WdfFileObjectGetDevice", FileObject);

    return f ? (WDFDEVICE)f->object.parent : NULL;
}

PFILE_OBJECT WdfFileObjectWdmGetFileObject(WDFFILEOBJECT FileObject)
{
    struct wdf_file *f = file_of("WdfFileObjectWdmGetFileObject", FileObject);

    return f ? f->file : NULL;
}
