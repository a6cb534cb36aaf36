/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines for parameters, properties and buffers of requests. An MDL that the framework builds belongs
 * to the request.
 */
#include <stdlib.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/request.h"
#include "wdk/wdf/target.h"

static const IO_STACK_LOCATION *request_stack(const struct wdf_request *r)
{
    return IoGetCurrentIrpStackLocation(r->irp);
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

void wdf_request_parameters(PIRP irp, PWDF_REQUEST_PARAMETERS out)
{
    const IO_STACK_LOCATION *s = IoGetCurrentIrpStackLocation(irp);

    WDF_REQUEST_PARAMETERS_INIT(out);
    out->MinorFunction = s->MinorFunction;
    out->Type = wdf_request_type(irp);
    switch (out->Type) {
    case WdfRequestTypeCreate:
        out->Parameters.Create.SecurityContext = s->Parameters.Create.SecurityContext;
        out->Parameters.Create.Options = s->Parameters.Create.Options;
        out->Parameters.Create.FileAttributes = s->Parameters.Create.FileAttributes;
        out->Parameters.Create.ShareAccess = s->Parameters.Create.ShareAccess;
        out->Parameters.Create.EaLength = s->Parameters.Create.EaLength;
        break;
    case WdfRequestTypeRead:
    case WdfRequestTypeWrite: /* has the same layout */
        out->Parameters.Read.Length = s->Parameters.Read.Length;
        out->Parameters.Read.Key = s->Parameters.Read.Key;
        out->Parameters.Read.DeviceOffset = s->Parameters.Read.ByteOffset.QuadPart;
        break;
    case WdfRequestTypeDeviceControl:
    case WdfRequestTypeDeviceControlInternal:
        out->Parameters.DeviceIoControl.OutputBufferLength = s->Parameters.DeviceIoControl.OutputBufferLength;
        out->Parameters.DeviceIoControl.InputBufferLength = s->Parameters.DeviceIoControl.InputBufferLength;
        out->Parameters.DeviceIoControl.IoControlCode = s->Parameters.DeviceIoControl.IoControlCode;
        out->Parameters.DeviceIoControl.Type3InputBuffer = s->Parameters.DeviceIoControl.Type3InputBuffer;
        break;
    default:
        break;
    }
}

VOID WdfRequestGetParameters(WDFREQUEST Request, PWDF_REQUEST_PARAMETERS Parameters)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestGetParameters", Request);

    if (r && wdf_check_pointer("WdfRequestGetParameters", Parameters, __builtin_return_address(0)))
        wdf_request_parameters(r->irp, Parameters);
}

WDFFILEOBJECT WdfRequestGetFileObject(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestGetFileObject", Request);

    return r ? (WDFFILEOBJECT)r->file : NULL;
}

KPROCESSOR_MODE WdfRequestGetRequestorMode(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestGetRequestorMode", Request);

    return r ? r->irp->RequestorMode : KernelMode;
}

VOID WdfRequestSetInformation(WDFREQUEST Request, ULONG_PTR Information)
{
    struct wdf_request *r = wdf_request_owned("WdfRequestSetInformation", Request);

    if (r)
        r->irp->IoStatus.Information = Information;
}

ULONG_PTR WdfRequestGetInformation(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_created("WdfRequestGetInformation", Request);

    if (r)
        return r->send->params.IoStatus.Information;
    r = wdf_request_owned("WdfRequestGetInformation", Request);
    return r ? r->irp->IoStatus.Information : 0;
}

NTSTATUS WdfRequestGetStatus(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_created("WdfRequestGetStatus", Request);

    if (r)
        return r->send->status;
    r = wdf_request_owned("WdfRequestGetStatus", Request);
    return r && r->send && r->send->failed ? r->send->status
           : r                             ? r->irp->IoStatus.Status
                                           : STATUS_INVALID_DEVICE_REQUEST;
}

BOOLEAN WdfRequestIsFrom32BitProcess(WDFREQUEST Request)
{
    (void)wdf_request_owned("WdfRequestIsFrom32BitProcess", Request);
    return FALSE; /* OpenNDK runs 64-bit processes only */
}

PIRP WdfRequestWdmGetIrp(WDFREQUEST Request)
{
    struct wdf_request *r = wdf_request_created("WdfRequestWdmGetIrp", Request);

    if (r)
        return r->irp;
    r = wdf_request_owned("WdfRequestWdmGetIrp", Request);
    return r ? r->irp : NULL;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* How the sender passes a buffer. */
enum method { METHOD_SYSTEM_BUFFER, METHOD_MDL, METHOD_ADDRESS };

struct data {
    enum method method;
    PVOID address; /* NULL if the method is METHOD_MDL */
    size_t length;
};

/* Formatting a request for an I/O target replaces the IRP's buffers. r->send->saved has the request's own buffers. */
static PVOID request_system_buffer(const struct wdf_request *r)
{
    return r->send && r->send->formatted ? r->send->saved.system : r->irp->AssociatedIrp.SystemBuffer;
}

static PVOID request_user_buffer(const struct wdf_request *r)
{
    return r->send && r->send->formatted ? r->send->saved.user : r->irp->UserBuffer;
}

static PMDL request_own_mdl(const struct wdf_request *r)
{
    return r->send && r->send->formatted ? r->send->saved.mdl : r->irp->MdlAddress;
}

static enum method request_transfer_method(const struct wdf_request *r)
{
    ULONG flags = r->device->device->Flags;

    return flags & DO_BUFFERED_IO ? METHOD_SYSTEM_BUFFER : flags & DO_DIRECT_IO ? METHOD_MDL : METHOD_ADDRESS;
}

static void request_locate_control(const struct wdf_request *r, bool input, struct data *data)
{
    const IO_STACK_LOCATION *s = request_stack(r);
    ULONG method = METHOD_FROM_CTL_CODE(s->Parameters.DeviceIoControl.IoControlCode);

    data->length = input ? s->Parameters.DeviceIoControl.InputBufferLength
                         : s->Parameters.DeviceIoControl.OutputBufferLength;
    if (method == METHOD_NEITHER) {
        data->method = METHOD_ADDRESS;
        data->address = input ? s->Parameters.DeviceIoControl.Type3InputBuffer : request_user_buffer(r);
    } else if (input || method == METHOD_BUFFERED) {
        data->method = METHOD_SYSTEM_BUFFER;
        data->address = request_system_buffer(r);
    } else {
        data->method = METHOD_MDL;
    }
}

/* Finds the input or output buffer. Returns false if this type of request has none. */
static bool request_locate(const struct wdf_request *r, bool input, struct data *data)
{
    const IO_STACK_LOCATION *s = request_stack(r);

    *data = (struct data){ METHOD_SYSTEM_BUFFER, NULL, 0 };
    switch (s->MajorFunction) {
    case IRP_MJ_READ:
    case IRP_MJ_WRITE:
        if (input != (s->MajorFunction == IRP_MJ_WRITE))
            return false;
        data->length = s->Parameters.Read.Length; /* Parameters.Write has the same layout */
        data->method = request_transfer_method(r);
        if (data->method == METHOD_SYSTEM_BUFFER)
            data->address = request_system_buffer(r);
        else if (data->method == METHOD_ADDRESS)
            data->address = request_user_buffer(r);
        return true;
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
        request_locate_control(r, input, data);
        return true;
    default:
        return false;
    }
}

/*
 * Finds the input or output buffer. Fails for a program's buffer that is neither buffered nor direct: only
 * WdfRequestRetrieveUnsafeUser...Buffer return it.
 */
static NTSTATUS request_data(const char *routine, WDFREQUEST request, bool input, struct wdf_request **out,
                             struct data *data)
{
    struct wdf_request *r = wdf_request_owned(routine, request);

    *out = r;
    if (!r)
        return STATUS_INTERNAL_ERROR;
    if (!request_locate(r, input, data))
        return STATUS_INVALID_DEVICE_REQUEST;
    if (data->method == METHOD_ADDRESS && r->irp->RequestorMode != KernelMode &&
        request_stack(r)->MajorFunction != IRP_MJ_INTERNAL_DEVICE_CONTROL)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!data->length)
        return STATUS_BUFFER_TOO_SMALL;
    if (data->method == METHOD_MDL)
        data->address = MmGetSystemAddressForMdlSafe(request_own_mdl(r), NormalPagePriority);
    return data->address ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS request_buffer(const char *routine, WDFREQUEST request, bool input, size_t minimum, PVOID *buffer,
                               size_t *length)
{
    struct wdf_request *r;
    struct data data = { 0 };
    NTSTATUS status = request_data(routine, request, input, &r, &data);

    if (NT_SUCCESS(status) && data.length < minimum)
        status = STATUS_BUFFER_TOO_SMALL;
    *buffer = NT_SUCCESS(status) ? data.address : NULL;
    if (length)
        *length = NT_SUCCESS(status) ? data.length : 0;
    return status;
}

NTSTATUS WdfRequestRetrieveInputBuffer(WDFREQUEST Request, size_t MinimumRequiredLength, PVOID *Buffer, size_t *Length)
{
    if (!wdf_check_pointer("WdfRequestRetrieveInputBuffer", Buffer, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_buffer("WdfRequestRetrieveInputBuffer", Request, true, MinimumRequiredLength, Buffer, Length);
}

NTSTATUS WdfRequestRetrieveOutputBuffer(WDFREQUEST Request, size_t MinimumRequiredSize, PVOID *Buffer, size_t *Length)
{
    if (!wdf_check_pointer("WdfRequestRetrieveOutputBuffer", Buffer, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_buffer("WdfRequestRetrieveOutputBuffer", Request, false, MinimumRequiredSize, Buffer, Length);
}

static NTSTATUS request_memory(const char *routine, WDFREQUEST request, bool input, WDFMEMORY *memory)
{
    struct wdf_memory **slot;
    struct wdf_request *r;
    struct data data;
    NTSTATUS status = request_data(routine, request, input, &r, &data);

    *memory = NULL;
    if (!NT_SUCCESS(status))
        return status;
    slot = input ? &r->input : &r->output;
    if (!*slot)
        status = wdf_memory_new(&r->object, data.address, data.length, slot);
    if (NT_SUCCESS(status))
        *memory = (WDFMEMORY)*slot;
    return status;
}

NTSTATUS WdfRequestRetrieveInputMemory(WDFREQUEST Request, WDFMEMORY *Memory)
{
    if (!wdf_check_pointer("WdfRequestRetrieveInputMemory", Memory, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_memory("WdfRequestRetrieveInputMemory", Request, true, Memory);
}

NTSTATUS WdfRequestRetrieveOutputMemory(WDFREQUEST Request, WDFMEMORY *Memory)
{
    if (!wdf_check_pointer("WdfRequestRetrieveOutputMemory", Memory, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_memory("WdfRequestRetrieveOutputMemory", Request, false, Memory);
}

/* ---- MDLs -------------------------------------------------------------------------------------------------------- */

void wdf_request_free_mdls(struct wdf_request *r)
{
    for (struct wdf_mdl *m = r->mdls, *next; m; m = next) {
        next = m->next;
        if (m->locked)
            MmUnlockPages(m->mdl);
        IoFreeMdl(m->mdl);
        free(m);
    }
    r->mdls = NULL;
}

/* Allocates an MDL that the request frees. */
static struct wdf_mdl *request_new_mdl(struct wdf_request *r, PVOID address, size_t length)
{
    struct wdf_mdl *m = calloc(1, sizeof *m);

    if (m)
        m->mdl = IoAllocateMdl(address, (ULONG)length, FALSE, FALSE, NULL);
    if (!m || !m->mdl) {
        free(m);
        return NULL;
    }
    m->next = r->mdls;
    r->mdls = m;
    return m;
}

static PMDL request_find_mdl(const struct wdf_request *r, const void *address)
{
    for (const struct wdf_mdl *m = r->mdls; m; m = m->next)
        if (MmGetMdlVirtualAddress(m->mdl) == address)
            return m->mdl;
    return NULL;
}

static NTSTATUS request_mdl(const char *routine, WDFREQUEST request, bool input, PMDL *mdl)
{
    struct wdf_request *r;
    struct wdf_mdl *m;
    struct data data;
    NTSTATUS status = request_data(routine, request, input, &r, &data);

    *mdl = NULL;
    if (!NT_SUCCESS(status))
        return status;
    *mdl = data.method == METHOD_MDL ? request_own_mdl(r) : request_find_mdl(r, data.address);
    if (*mdl)
        return STATUS_SUCCESS;
    m = request_new_mdl(r, data.address, data.length);
    if (!m)
        return STATUS_INSUFFICIENT_RESOURCES;
    MmBuildMdlForNonPagedPool(m->mdl);
    *mdl = m->mdl;
    return STATUS_SUCCESS;
}

NTSTATUS WdfRequestRetrieveInputWdmMdl(WDFREQUEST Request, PMDL *Mdl)
{
    if (!wdf_check_pointer("WdfRequestRetrieveInputWdmMdl", Mdl, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_mdl("WdfRequestRetrieveInputWdmMdl", Request, true, Mdl);
}

NTSTATUS WdfRequestRetrieveOutputWdmMdl(WDFREQUEST Request, PMDL *Mdl)
{
    if (!wdf_check_pointer("WdfRequestRetrieveOutputWdmMdl", Mdl, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_mdl("WdfRequestRetrieveOutputWdmMdl", Request, false, Mdl);
}

/* ---- Buffers of programs ----------------------------------------------------------------------------------------- */

static NTSTATUS request_unsafe_buffer(const char *routine, WDFREQUEST request, bool input, size_t minimum,
                                      PVOID *buffer, size_t *length)
{
    struct wdf_request *r = wdf_request_owned(routine, request);
    struct data data;

    irql_check_max(routine, PASSIVE_LEVEL);
    *buffer = NULL;
    if (length)
        *length = 0;
    if (!r || atomic_load(&r->owner) != OWNER_CALLER ||
        request_stack(r)->MajorFunction == IRP_MJ_INTERNAL_DEVICE_CONTROL || !request_locate(r, input, &data) ||
        data.method != METHOD_ADDRESS)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (data.length < minimum)
        return STATUS_BUFFER_TOO_SMALL;
    *buffer = data.address;
    if (length)
        *length = data.length;
    return STATUS_SUCCESS;
}

NTSTATUS WdfRequestRetrieveUnsafeUserInputBuffer(WDFREQUEST Request, size_t MinimumRequiredLength, PVOID *InputBuffer,
                                                 size_t *Length)
{
    const char *routine = "WdfRequestRetrieveUnsafeUserInputBuffer";

    if (!wdf_check_pointer(routine, InputBuffer, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_unsafe_buffer(routine, Request, true, MinimumRequiredLength, InputBuffer, Length);
}

NTSTATUS WdfRequestRetrieveUnsafeUserOutputBuffer(WDFREQUEST Request, size_t MinimumRequiredLength, PVOID *OutputBuffer,
                                                  size_t *Length)
{
    const char *routine = "WdfRequestRetrieveUnsafeUserOutputBuffer";

    if (!wdf_check_pointer(routine, OutputBuffer, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_unsafe_buffer(routine, Request, false, MinimumRequiredLength, OutputBuffer, Length);
}

static NTSTATUS request_lock_mdl(struct wdf_mdl *m, KPROCESSOR_MODE mode, LOCK_OPERATION operation)
{
    __try {
        MmProbeAndLockPages(m->mdl, mode, operation);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    m->locked = true;
    return STATUS_SUCCESS;
}

/* If the lock fails, the MDL still belongs to the request, which frees it. */
static NTSTATUS request_lock_user_buffer(const char *routine, WDFREQUEST request, PVOID buffer, size_t length,
                                         LOCK_OPERATION operation, WDFMEMORY *memory)
{
    struct wdf_request *r = wdf_request_owned(routine, request);
    struct wdf_memory *made;
    struct wdf_mdl *m;
    NTSTATUS status;
    PVOID address;

    irql_check_max(routine, PASSIVE_LEVEL);
    *memory = NULL;
    if (!r || !buffer)
        return !r ? STATUS_INVALID_DEVICE_REQUEST : STATUS_INVALID_PARAMETER;
    if (!length || length > MAXULONG)
        return STATUS_INVALID_USER_BUFFER;
    m = request_new_mdl(r, buffer, length);
    if (!m)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = request_lock_mdl(m, r->irp->RequestorMode, operation);
    address = NT_SUCCESS(status) ? MmGetSystemAddressForMdlSafe(m->mdl, NormalPagePriority) : NULL;
    if (NT_SUCCESS(status))
        status = address ? wdf_memory_new(&r->object, address, length, &made) : STATUS_INSUFFICIENT_RESOURCES;
    if (NT_SUCCESS(status))
        *memory = (WDFMEMORY)made;
    return status;
}

NTSTATUS WdfRequestProbeAndLockUserBufferForRead(WDFREQUEST Request, PVOID Buffer, size_t Length,
                                                 WDFMEMORY *MemoryObject)
{
    const char *routine = "WdfRequestProbeAndLockUserBufferForRead";

    if (!wdf_check_pointer(routine, MemoryObject, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_lock_user_buffer(routine, Request, Buffer, Length, IoReadAccess, MemoryObject);
}

NTSTATUS WdfRequestProbeAndLockUserBufferForWrite(WDFREQUEST Request, PVOID Buffer, size_t Length,
                                                  WDFMEMORY *MemoryObject)
{
    const char *routine = "WdfRequestProbeAndLockUserBufferForWrite";

    if (!wdf_check_pointer(routine, MemoryObject, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return request_lock_user_buffer(routine, Request, Buffer, Length, IoWriteAccess, MemoryObject);
}
