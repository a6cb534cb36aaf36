/* SPDX-License-Identifier: MIT */
/*
 * Implements the security descriptors of devices: see security.h, wdm/access.h and ntifs/security.h. A descriptor is
 * memory in self-relative format that DEVICE_OBJECT.SecurityDescriptor owns.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ntifs.h"

#include "wdk/common/check.h"
#include "wdk/io/security.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"
#include "wdk/se/access.h"

#define OB_TAG 'dSbO'

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the descriptors of all devices */

/* Allocates and returns a descriptor with these parts. Returns NULL if out of memory. */
static void *security_new(const struct descriptor *d)
{
    void *memory = malloc(descriptor_size(d));

    if (memory)
        access_write(d, IoGetFileObjectGenericMapping(), memory);
    return memory;
}

/* Frees the device's descriptor and stores `memory` as the new one. Requires the lock. */
static void security_replace(PDEVICE_OBJECT device, void *memory)
{
    free(device->SecurityDescriptor);
    device->SecurityDescriptor = memory;
}

NTSTATUS device_set_security(PDEVICE_OBJECT device, const struct descriptor *d)
{
    void *memory = security_new(d);

    if (!memory)
        return STATUS_INSUFFICIENT_RESOURCES;
    pthread_mutex_lock(&lock);
    security_replace(device, memory);
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

NTSTATUS device_check_security(PDEVICE_OBJECT device, PCUNICODE_STRING rest, ACCESS_MASK access)
{
    NTSTATUS status = STATUS_SUCCESS;
    ACCESS_MASK granted;

    if (rest->Length && !(device->Characteristics & FILE_DEVICE_SECURE_OPEN))
        return STATUS_SUCCESS;
    pthread_mutex_lock(&lock);
    if (device->SecurityDescriptor)
        status = access_check(device->SecurityDescriptor, access, IoGetFileObjectGenericMapping(), &granted);
    pthread_mutex_unlock(&lock);
    return status;
}

void device_free_security(PDEVICE_OBJECT device)
{
    free(device->SecurityDescriptor);
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

/*
 * Returns the object of a handle, with a reference. If the handle is not open, reports this, sets *status and returns
 * NULL.
 */
static void *security_lookup(const char *routine, HANDLE handle, NTSTATUS *status)
{
    void *object;

    irql_check_max(routine, PASSIVE_LEVEL);
    object = handle_lookup(handle, NULL, status);
    if (!object && check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
    return object;
}

/* Returns the object itself if it is a device. Returns the device of a file object. Otherwise returns NULL. */
static PDEVICE_OBJECT security_device(void *object)
{
    if (ob_type(object) == *IoDeviceObjectType)
        return object;
    return ob_type(object) == *IoFileObjectType ? ((PFILE_OBJECT)object)->DeviceObject : NULL;
}

/* Copies the parts that `what` names from *from to *d. The other parts of *d remain. */
static void security_merge(struct descriptor *d, SECURITY_INFORMATION what, const struct descriptor *from)
{
    SECURITY_DESCRIPTOR_CONTROL mask = 0;

    if (what & OWNER_SECURITY_INFORMATION) {
        d->owner = from->owner;
        mask |= SE_OWNER_DEFAULTED;
    }
    if (what & GROUP_SECURITY_INFORMATION) {
        d->group = from->group;
        mask |= SE_GROUP_DEFAULTED;
    }
    if (what & DACL_SECURITY_INFORMATION) {
        d->dacl = from->dacl;
        mask |= SE_DACL_PRESENT | SE_DACL_DEFAULTED | SE_DACL_AUTO_INHERITED | SE_DACL_PROTECTED;
    }
    if (what & SACL_SECURITY_INFORMATION) {
        d->sacl = from->sacl;
        mask |= SE_SACL_PRESENT | SE_SACL_DEFAULTED | SE_SACL_AUTO_INHERITED | SE_SACL_PROTECTED;
    }
    d->control = (SECURITY_DESCRIPTOR_CONTROL)((d->control & ~mask) | (from->control & mask));
}

/*
 * Replaces the parts of a device's descriptor that `what` names. Holds the lock from the read to the write. Otherwise
 * this call could undo a concurrent call that replaces other parts.
 */
static NTSTATUS security_set(PDEVICE_OBJECT device, SECURITY_INFORMATION what, const struct descriptor *from)
{
    struct descriptor d;
    NTSTATUS status;
    void *memory;

    pthread_mutex_lock(&lock);
    status = access_parts_of_new(device->SecurityDescriptor, &d);
    security_merge(&d, what, from);
    memory = NT_SUCCESS(status) ? security_new(&d) : NULL;
    if (memory)
        security_replace(device, memory);
    pthread_mutex_unlock(&lock);
    return !NT_SUCCESS(status) ? status : memory ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS ZwSetSecurityObject(HANDLE Handle, SECURITY_INFORMATION SecurityInformation,
                             PSECURITY_DESCRIPTOR SecurityDescriptor)
{
    struct descriptor d;
    PDEVICE_OBJECT device;
    NTSTATUS status;
    void *object = security_lookup("ZwSetSecurityObject", Handle, &status);

    if (!object)
        return status;
    status = !SecurityDescriptor                        ? STATUS_ACCESS_VIOLATION
             : !descriptor_read(SecurityDescriptor, &d) ? STATUS_UNKNOWN_REVISION
                                                        : descriptor_check(&d);
    if (NT_SUCCESS(status) && ((SecurityInformation & OWNER_SECURITY_INFORMATION && !d.owner) ||
                               (SecurityInformation & GROUP_SECURITY_INFORMATION && !d.group)))
        status = STATUS_INVALID_SECURITY_DESCR;
    device = security_device(object);
    if (NT_SUCCESS(status) && device)
        status = security_set(device, SecurityInformation, &d);
    ob_unref(object);
    return status;
}

NTSTATUS ZwQuerySecurityObject(HANDLE Handle, SECURITY_INFORMATION SecurityInformation,
                               PSECURITY_DESCRIPTOR SecurityDescriptor, ULONG Length, PULONG LengthNeeded)
{
    struct descriptor all, wanted = { 0 };
    PDEVICE_OBJECT device;
    NTSTATUS status;
    void *object = security_lookup("ZwQuerySecurityObject", Handle, &status);

    if (!object)
        return status;
    device = security_device(object);
    pthread_mutex_lock(&lock);
    status = access_parts_of_new(device ? device->SecurityDescriptor : NULL, &all);
    security_merge(&wanted, SecurityInformation, &all);
    *LengthNeeded = (ULONG)descriptor_size(&wanted);
    if (NT_SUCCESS(status) && Length < *LengthNeeded)
        status = STATUS_BUFFER_TOO_SMALL;
    if (NT_SUCCESS(status))
        access_write(&wanted, IoGetFileObjectGenericMapping(), SecurityDescriptor);
    pthread_mutex_unlock(&lock);
    ob_unref(object);
    return status;
}

NTSTATUS ObGetObjectSecurity(PVOID Object, PSECURITY_DESCRIPTOR *SecurityDescriptor, PBOOLEAN MemoryAllocated)
{
    PDEVICE_OBJECT device = security_device(Object);
    NTSTATUS status = STATUS_SUCCESS;
    struct descriptor d;

    irql_check_max("ObGetObjectSecurity", PASSIVE_LEVEL);
    *SecurityDescriptor = NULL;
    *MemoryAllocated = FALSE;
    pthread_mutex_lock(&lock);
    if (device && device->SecurityDescriptor && descriptor_read(device->SecurityDescriptor, &d)) {
        *SecurityDescriptor = ExAllocatePool2(POOL_FLAG_PAGED, descriptor_size(&d), OB_TAG);
        *MemoryAllocated = *SecurityDescriptor != NULL;
        if (*SecurityDescriptor)
            descriptor_write(&d, *SecurityDescriptor);
        else
            status = STATUS_INSUFFICIENT_RESOURCES;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

VOID ObReleaseObjectSecurity(PSECURITY_DESCRIPTOR SecurityDescriptor, BOOLEAN MemoryAllocated)
{
    irql_check_max("ObReleaseObjectSecurity", APC_LEVEL);
    if (SecurityDescriptor && MemoryAllocated)
        ExFreePoolWithTag(SecurityDescriptor, OB_TAG);
}

NTSTATUS ObOpenObjectByPointer(PVOID Object, ULONG HandleAttributes, struct _ACCESS_STATE *PassedAccessState,
                               ACCESS_MASK DesiredAccess, POBJECT_TYPE ObjectType, KPROCESSOR_MODE AccessMode,
                               PHANDLE Handle)
{
    NTSTATUS status;

    UNREFERENCED_PARAMETER(HandleAttributes);
    UNREFERENCED_PARAMETER(PassedAccessState);
    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(AccessMode);
    irql_check_max("ObOpenObjectByPointer", PASSIVE_LEVEL);
    *Handle = NULL;
    if (ObjectType && ob_type(Object) != ObjectType)
        return STATUS_OBJECT_TYPE_MISMATCH;
    if (ob_type(Object) == *IoFileObjectType) /* closing a second handle would send IRP_MJ_CLEANUP a second time */
        return STATUS_NOT_SUPPORTED;
    ob_ref(Object);
    status = handle_open(Object, Handle);
    if (!NT_SUCCESS(status))
        ob_unref(Object);
    return status;
}
