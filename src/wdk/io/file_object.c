/* SPDX-License-Identifier: MIT */
/* Creates, cleans up and closes file objects of devices and of the host's files. See device.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wdm.h"

#include "wdk/io/device.h"
#include "wdk/io/driver.h"
#include "wdk/io/file.h"
#include "wdk/io/irp.h"
#include "wdk/io/security.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/name.h"
#include "wdk/ob/object.h"

static void file_object_destroy(void *object);
static void file_object_on_close(void *object, bool was_last);
static void file_object_get_name(void *object, void **named, PCUNICODE_STRING *rest);
static struct _OBJECT_TYPE file_type = {
    .name = "file", .destroy = file_object_destroy, .closed = file_object_on_close, .get_name = file_object_get_name
};
static struct _OBJECT_TYPE *file_type_pointer = &file_type;
struct _OBJECT_TYPE **IoFileObjectType = &file_type_pointer;

PIRP file_object_irp(PFILE_OBJECT file, UCHAR major, enum irp_from from, PIO_STACK_LOCATION *next)
{
    PIRP irp = irp_new(file->DeviceObject);

    if (!irp)
        return NULL;
    irp->RequestorMode = (KPROCESSOR_MODE)from;
    irp->Tail.Overlay.OriginalFileObject = file;
    *next = IoGetNextIrpStackLocation(irp);
    (*next)->MajorFunction = major;
    (*next)->FileObject = file;
    return irp;
}

static void file_object_send(PFILE_OBJECT file, UCHAR major)
{
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, major, IRP_FROM_KERNEL, &next);

    if (!irp)
        return;
    if (major == IRP_MJ_CLOSE)
        irp->Flags |= IRP_CLOSE_OPERATION;
    (void)irp_send(irp, NULL);
}

void file_object_cleanup(PFILE_OBJECT file)
{
    file->Flags |= FO_CLEANUP_COMPLETE;
    file_object_send(file, IRP_MJ_CLEANUP);
}

/* Called when the handle to the file is closed. A file object never has a second handle. */
static void file_object_on_close(void *object, bool was_last)
{
    PFILE_OBJECT file = object;

    UNREFERENCED_PARAMETER(was_last);
    if (file->DeviceObject)
        file_object_cleanup(file);
    else if (file->DeletePending || file->Flags & FO_DELETE_ON_CLOSE)
        file_delete(file);
}

/*
 * Implements get_name of struct _OBJECT_TYPE. A file's full name is the device's name and then FileName. A file of the
 * host has no name.
 */
static void file_object_get_name(void *object, void **named, PCUNICODE_STRING *rest)
{
    *named = ((PFILE_OBJECT)object)->DeviceObject;
    *rest = &((PFILE_OBJECT)object)->FileName;
}

static void file_object_send_close(void *context)
{
    PFILE_OBJECT file = context;

    if (!(file->Flags & FO_CLEANUP_COMPLETE))
        file_object_cleanup(file);
    file_object_send(file, IRP_MJ_CLOSE);
}

/*
 * Closes the file when its last reference was dropped. Drivers must receive IRP_MJ_CLOSE at PASSIVE_LEVEL. So if the
 * IRQL is higher, another thread sends the IRP.
 */
static void file_object_destroy(void *object)
{
    PFILE_OBJECT file = object;

    if (file->DeviceObject && NT_SUCCESS(file->FinalStatus)) {
        if (irql_now() == PASSIVE_LEVEL)
            file_object_send_close(file);
        else
            (void)driver_call(file_object_send_close, file);
        device_count_close(file->DeviceObject);
    }
    if (file->DeviceObject)
        ob_unref(file->DeviceObject);
    else if (file->FsContext)
        close(file_object_descriptor(file));
    free(file->FileName.Buffer);
}

PDEVICE_OBJECT IoGetRelatedDeviceObject(PFILE_OBJECT FileObject)
{
    irql_check_max("IoGetRelatedDeviceObject", DISPATCH_LEVEL);
    return IoGetAttachedDevice(FileObject->DeviceObject);
}

static NTSTATUS file_object_send_create(PFILE_OBJECT file, ACCESS_MASK access, ULONG share, ULONG options,
                                        enum irp_from from, ULONG_PTR *information)
{
    IO_SECURITY_CONTEXT context = { .DesiredAccess = access, .FullCreateOptions = options };
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(file, IRP_MJ_CREATE, from, &next);

    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    irp->Flags |= IRP_CREATE_OPERATION | IRP_SYNCHRONOUS_API;
    next->Parameters.Create.SecurityContext = &context;
    next->Parameters.Create.Options = options;
    next->Parameters.Create.ShareAccess = (USHORT)share;
    return irp_send(irp, information);
}

static bool access_can_write(ACCESS_MASK access)
{
    return access & (FILE_WRITE_DATA | FILE_APPEND_DATA | GENERIC_WRITE | GENERIC_ALL);
}

static bool access_can_read(ACCESS_MASK access)
{
    return access & (FILE_READ_DATA | GENERIC_READ | GENERIC_ALL);
}

static PFILE_OBJECT file_object_create(ACCESS_MASK access)
{
    PFILE_OBJECT f = ob_new(&file_type, sizeof *f);

    if (!f)
        return NULL;
    f->Type = IO_TYPE_FILE;
    f->Size = sizeof *f;
    f->Flags = FO_SYNCHRONOUS_IO;
    f->ReadAccess = access_can_read(access);
    f->WriteAccess = access_can_write(access);
    f->DeleteAccess = (access & (DELETE | GENERIC_ALL)) != 0;
    return f;
}

/*
 * Returns STATUS_SUCCESS if the named object is a device that may be opened with these rights. A driver's own open is
 * not checked, as on Windows. `rest` is the part of the name after the object's name.
 */
static NTSTATUS file_object_may_open(void *object, PCUNICODE_STRING rest, ACCESS_MASK access, enum irp_from from)
{
    if (ob_type(object) != *IoDeviceObjectType)
        return rest->Length ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_OBJECT_TYPE_MISMATCH;
    return from == IRP_FROM_USER ? device_check_security(object, rest, access) : STATUS_SUCCESS;
}

NTSTATUS file_object_open(PCUNICODE_STRING name, ACCESS_MASK access, ULONG share, ULONG options, enum irp_from from,
                          PFILE_OBJECT *file, ULONG_PTR *information)
{
    PFILE_OBJECT f = file_object_create(access);
    NTSTATUS status;

    *file = NULL;
    if (!f)
        return STATUS_INSUFFICIENT_RESOURCES;
    f->IrpList.Flink = f->IrpList.Blink = &f->IrpList;
    f->FinalStatus = STATUS_UNSUCCESSFUL;
    f->DeviceObject = name_find(name, &f->FileName, &status);
    if (f->DeviceObject)
        status = file_object_may_open(f->DeviceObject, &f->FileName, access, from);
    if (f->DeviceObject && NT_SUCCESS(status))
        status = device_count_open(f->DeviceObject);
    if (f->DeviceObject && NT_SUCCESS(status)) {
        status = file_object_send_create(f, access, share, options, from, information);
        if (!NT_SUCCESS(status))
            device_count_close(f->DeviceObject);
    }
    f->FinalStatus = status;
    if (!NT_SUCCESS(status))
        ob_unref(f);
    else
        *file = f;
    return status;
}

/* Stores descriptor + 1 in FsContext, where NULL means that the file has no descriptor of the host. */
PFILE_OBJECT file_object_of_host(int descriptor, ACCESS_MASK access)
{
    PFILE_OBJECT f = file_object_create(access);

    if (f) {
        f->FsContext = (PVOID)((uintptr_t)descriptor + 1);
        f->FsContext2 = (PVOID)(uintptr_t)(access & (FILE_WRITE_ATTRIBUTES | GENERIC_WRITE | GENERIC_ALL));
    }
    return f;
}

bool file_object_may_set_attributes(PFILE_OBJECT file)
{
    return file->FsContext2 != NULL;
}

int file_object_descriptor(PFILE_OBJECT file)
{
    return file->DeviceObject ? -1 : (int)((uintptr_t)file->FsContext - 1);
}

NTSTATUS IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName, ACCESS_MASK DesiredAccess, PFILE_OBJECT *FileObject,
                                  PDEVICE_OBJECT *DeviceObject)
{
    ULONG_PTR information;
    NTSTATUS status;

    irql_check_max("IoGetDeviceObjectPointer", PASSIVE_LEVEL);
    status = file_object_open(ObjectName, DesiredAccess, 0, 0, IRP_FROM_KERNEL, FileObject, &information);
    if (!NT_SUCCESS(status))
        return status;
    file_object_cleanup(*FileObject); /* Windows' IoGetDeviceObjectPointer opens a handle and closes it at once */
    *DeviceObject = IoGetRelatedDeviceObject(*FileObject);
    ob_pass_to_driver(*FileObject);
    return STATUS_SUCCESS;
}

PGENERIC_MAPPING IoGetFileObjectGenericMapping(VOID)
{
    static GENERIC_MAPPING mapping = { FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE, FILE_ALL_ACCESS };

    irql_check_max(__func__, PASSIVE_LEVEL);
    return &mapping;
}
