/* SPDX-License-Identifier: MIT */
/*
 * Implements directories and symbolic links as objects, and the names of objects: see wdm/zw.h and ntifs.h. A directory
 * is only a name: objects may have names below it whether it exists or not. The invariant: a directory has its name,
 * and is not freed, while it is permanent or a handle to it is open. Therefore one lock is held while a directory gets
 * or loses its name, and while a directory is found by its name and a handle is counted.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ntifs.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/name.h"
#include "wdk/ob/object.h"

/* ---- Directories ------------------------------------------------------------------------------------------------- */

struct directory {
    int handles;
    bool permanent; /* the directory exists without handles, because it has a reference of its own */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the members of all directories */

static void directory_on_close(void *object, bool was_last)
{
    struct directory *d = object;

    UNREFERENCED_PARAMETER(was_last); /* unlike `handles`, was_last ignores handles that are being opened */
    pthread_mutex_lock(&lock);
    if (--d->handles == 0 && !d->permanent)
        name_remove_object(d);
    pthread_mutex_unlock(&lock);
}

static struct _OBJECT_TYPE directory_type = { .name = "directory", .closed = directory_on_close };

/* Gives the name to the new directory *d. Requires the lock. */
static NTSTATUS directory_add(struct directory *d, const OBJECT_ATTRIBUTES *a)
{
    NTSTATUS status = name_add_object(a->ObjectName, d);

    if (!NT_SUCCESS(status))
        return status;
    d->handles = 1;
    d->permanent = a->Attributes & OBJ_PERMANENT;
    if (d->permanent)
        ob_ref(d);
    return status;
}

/* Returns the directory of that name with a reference, and increments its `handles`. Requires the lock. */
static struct directory *directory_find(PCUNICODE_STRING name)
{
    UNICODE_STRING rest = { 0 };
    NTSTATUS status;
    void *object = name_find(name, &rest, &status);
    bool is_directory = object && ob_type(object) == &directory_type && !rest.Length;

    free(rest.Buffer);
    if (is_directory)
        ((struct directory *)object)->handles++;
    else if (object)
        ob_unref(object);
    return is_directory ? object : NULL;
}

/*
 * Gives the name to the new directory *d. If another directory has the name already and `a` has OBJ_OPENIF, sets *d to
 * that directory. On success the caller has a reference and a counted handle on *d. If the new directory does not get
 * the name, drops the reference on it.
 */
static NTSTATUS directory_add_or_find(struct directory **d, const OBJECT_ATTRIBUTES *a)
{
    struct directory *added = *d;
    NTSTATUS status;

    pthread_mutex_lock(&lock);
    status = directory_add(added, a);
    if (status == STATUS_OBJECT_NAME_COLLISION && a->Attributes & OBJ_OPENIF) {
        *d = directory_find(a->ObjectName);
        status = *d ? STATUS_OBJECT_NAME_EXISTS : status;
    }
    pthread_mutex_unlock(&lock);
    if (status)
        ob_unref(added);
    return status;
}

static void directory_make_temporary(struct directory *d)
{
    bool was_permanent;

    pthread_mutex_lock(&lock);
    was_permanent = d->permanent;
    d->permanent = false;
    if (d->handles == 0) /* another thread has closed the last handle meanwhile */
        name_remove_object(d);
    pthread_mutex_unlock(&lock);
    if (was_permanent)
        ob_unref(d);
}

NTSTATUS ZwCreateDirectoryObject(PHANDLE DirectoryHandle, ACCESS_MASK DesiredAccess,
                                 POBJECT_ATTRIBUTES ObjectAttributes)
{
    struct directory *d;
    NTSTATUS status, opened;

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max("ZwCreateDirectoryObject", PASSIVE_LEVEL);
    *DirectoryHandle = NULL;
    if (ObjectAttributes->RootDirectory)
        return STATUS_INVALID_PARAMETER;
    d = ob_new(&directory_type, sizeof *d);
    if (!d)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = directory_add_or_find(&d, ObjectAttributes);
    if (!NT_SUCCESS(status))
        return status;
    opened = handle_open(d, DirectoryHandle);
    if (NT_SUCCESS(opened))
        return status;
    if (status == STATUS_SUCCESS)
        directory_make_temporary(d);
    directory_on_close(d, false);
    ob_unref(d);
    return opened;
}

/* Returns the handle's object with a reference. Reports a handle that is not open. */
static void *directory_lookup(const char *routine, HANDLE handle, POBJECT_TYPE type, NTSTATUS *status)
{
    void *object;

    irql_check_max(routine, PASSIVE_LEVEL);
    object = handle_lookup(handle, type, status);
    if (!object && *status == STATUS_INVALID_HANDLE && check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
    return object;
}

NTSTATUS ZwMakeTemporaryObject(HANDLE Handle)
{
    NTSTATUS status;
    void *object = directory_lookup("ZwMakeTemporaryObject", Handle, NULL, &status);

    if (!object)
        return status;
    if (ob_type(object) == &directory_type)
        directory_make_temporary(object);
    ob_unref(object);
    return STATUS_SUCCESS;
}

/* ---- Symbolic links ---------------------------------------------------------------------------------------------- */

struct link_object {
    UNICODE_STRING target;
};

static void link_destroy(void *object)
{
    free(((struct link_object *)object)->target.Buffer);
}

static struct _OBJECT_TYPE link_type = { .name = "symbolic link", .destroy = link_destroy };

NTSTATUS ZwOpenSymbolicLinkObject(PHANDLE LinkHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes)
{
    struct link_object *l;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max("ZwOpenSymbolicLinkObject", PASSIVE_LEVEL);
    *LinkHandle = NULL;
    if (ObjectAttributes->RootDirectory)
        return STATUS_INVALID_PARAMETER;
    l = ob_new(&link_type, sizeof *l);
    if (!l)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = name_get_target(ObjectAttributes->ObjectName, &l->target);
    if (NT_SUCCESS(status))
        status = handle_open(l, LinkHandle);
    if (!NT_SUCCESS(status))
        ob_unref(l);
    return status;
}

/*
 * Copies the target. If `needed` is not NULL, also copies a terminator, and sets *needed to the size of both: a driver
 * allocates this size and calls again. As on Windows, a caller without `needed` gets no terminator. Returns false if
 * there is no room.
 */
static bool link_copy_target(PCUNICODE_STRING target, PUNICODE_STRING to, PULONG needed)
{
    ULONG size = target->Length + (needed ? (ULONG)sizeof(WCHAR) : 0);

    if (needed)
        *needed = size;
    if (size > to->MaximumLength)
        return false;
    memcpy(to->Buffer, target->Buffer, target->Length);
    if (needed)
        to->Buffer[target->Length / sizeof(WCHAR)] = 0;
    to->Length = target->Length;
    return true;
}

NTSTATUS ZwQuerySymbolicLinkObject(HANDLE LinkHandle, PUNICODE_STRING LinkTarget, PULONG ReturnedLength)
{
    NTSTATUS status;
    struct link_object *l = directory_lookup("ZwQuerySymbolicLinkObject", LinkHandle, &link_type, &status);

    if (!l)
        return status;
    if (!link_copy_target(&l->target, LinkTarget, ReturnedLength))
        status = STATUS_BUFFER_TOO_SMALL;
    ob_unref(l);
    return status;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* Stores the name, which has two parts, and its terminator behind *info. */
static void object_write_name(POBJECT_NAME_INFORMATION info, PCUNICODE_STRING name, PCUNICODE_STRING rest)
{
    info->Name = (UNICODE_STRING){ 0, 0, NULL };
    if (!name->Length && !rest->Length)
        return;
    info->Name.Buffer = (WCHAR *)(info + 1);
    if (name->Length)
        memcpy(info->Name.Buffer, name->Buffer, name->Length);
    if (rest->Length)
        memcpy((char *)info->Name.Buffer + name->Length, rest->Buffer, rest->Length);
    info->Name.Length = (USHORT)(name->Length + rest->Length);
    info->Name.MaximumLength = (USHORT)(info->Name.Length + sizeof(WCHAR));
    info->Name.Buffer[info->Name.Length / sizeof(WCHAR)] = 0;
}

NTSTATUS ObQueryNameString(PVOID Object, POBJECT_NAME_INFORMATION ObjectNameInfo, ULONG Length, PULONG ReturnLength)
{
    static const UNICODE_STRING nothing;
    PCUNICODE_STRING rest = &nothing;
    UNICODE_STRING name = { 0 };
    void *named = Object;

    irql_check_max("ObQueryNameString", APC_LEVEL);
    if (ob_type(Object)->get_name)
        ob_type(Object)->get_name(Object, &named, &rest);
    if (named && !name_of_object(named, &name))
        return STATUS_INSUFFICIENT_RESOURCES;
    *ReturnLength = sizeof *ObjectNameInfo;
    if (name.Length + rest->Length > 0)
        *ReturnLength += name.Length + rest->Length + sizeof(WCHAR);
    if (Length >= *ReturnLength)
        object_write_name(ObjectNameInfo, &name, rest);
    free(name.Buffer);
    return Length >= *ReturnLength ? STATUS_SUCCESS : STATUS_INFO_LENGTH_MISMATCH;
}
