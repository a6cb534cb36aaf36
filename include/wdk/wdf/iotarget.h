/* SPDX-License-Identifier: MIT */
/*
 * I/O targets: devices to which a driver sends requests. WdfDeviceGetIoTarget returns the device below an enumerated
 * device. The driver creates other targets and opens them. A driver sends requests that it has created, and requests
 * that it has received. A sent request belongs to the target until its completion: only WdfRequestCancelSentRequest may
 * be called for it then (rule `wdf-request`).
 */
#ifndef ONDK_WDK_WDF_IOTARGET_H
#define ONDK_WDK_WDF_IOTARGET_H

#include "io.h"

EXTERN_C_START

#define STATUS_WDF_DEVICE_REMOVED_NOT_SENT ((NTSTATUS)0xC0200206)
#define STATUS_WDF_REQUEST_INVALID_STATE ((NTSTATUS)0xC0200208)

/* ---- Targets ----------------------------------------------------------------------------------------------------- */

typedef enum _WDF_IO_TARGET_STATE {
    WdfIoTargetStateUndefined = 0,
    WdfIoTargetStarted,
    WdfIoTargetStopped,
    WdfIoTargetClosedForQueryRemove,
    WdfIoTargetClosed,
    WdfIoTargetDeleted,
    WdfIoTargetPurged
} WDF_IO_TARGET_STATE, *PWDF_IO_TARGET_STATE;

/* All but the last one wait until the sent requests' completion routines have returned. */
typedef enum _WDF_IO_TARGET_SENT_IO_ACTION {
    WdfIoTargetSentIoUndefined = 0,
    WdfIoTargetCancelSentIo,
    WdfIoTargetWaitForSentIoToComplete,
    WdfIoTargetLeaveSentIoPending
} WDF_IO_TARGET_SENT_IO_ACTION;

typedef enum _WDF_IO_TARGET_PURGE_IO_ACTION {
    WdfIoTargetPurgeIoUndefined = 0,
    WdfIoTargetPurgeIoAndWait,
    WdfIoTargetPurgeIo
} WDF_IO_TARGET_PURGE_IO_ACTION;

typedef enum _WDF_IO_TARGET_OPEN_TYPE {
    WdfIoTargetOpenUndefined = 0,
    WdfIoTargetOpenUseExistingDevice = 1,
    WdfIoTargetOpenByName = 2,
    WdfIoTargetOpenReopen = 3,
    WdfIoTargetOpenLocalTargetByFile = 4
} WDF_IO_TARGET_OPEN_TYPE;

/* The three callbacks are never called, because a target is not removed while it is open. */
typedef NTSTATUS EVT_WDF_IO_TARGET_QUERY_REMOVE(_In_ WDFIOTARGET IoTarget);
typedef EVT_WDF_IO_TARGET_QUERY_REMOVE *PFN_WDF_IO_TARGET_QUERY_REMOVE;
typedef VOID EVT_WDF_IO_TARGET_REMOVE_CANCELED(_In_ WDFIOTARGET IoTarget);
typedef EVT_WDF_IO_TARGET_REMOVE_CANCELED *PFN_WDF_IO_TARGET_REMOVE_CANCELED;
typedef VOID EVT_WDF_IO_TARGET_REMOVE_COMPLETE(_In_ WDFIOTARGET IoTarget);
typedef EVT_WDF_IO_TARGET_REMOVE_COMPLETE *PFN_WDF_IO_TARGET_REMOVE_COMPLETE;

typedef struct _WDF_IO_TARGET_OPEN_PARAMS {
    ULONG Size;
    WDF_IO_TARGET_OPEN_TYPE Type;
    PFN_WDF_IO_TARGET_QUERY_REMOVE EvtIoTargetQueryRemove;
    PFN_WDF_IO_TARGET_REMOVE_CANCELED EvtIoTargetRemoveCanceled;
    PFN_WDF_IO_TARGET_REMOVE_COMPLETE EvtIoTargetRemoveComplete;
    PDEVICE_OBJECT TargetDeviceObject;
    PFILE_OBJECT TargetFileObject;
    UNICODE_STRING TargetDeviceName;
    ACCESS_MASK DesiredAccess;
    ULONG ShareAccess;
    ULONG FileAttributes;
    ULONG CreateDisposition;
    ULONG CreateOptions;
    PVOID EaBuffer;
    ULONG EaBufferLength;
    PLONGLONG AllocationSize;
    ULONG FileInformation;
    UNICODE_STRING FileName;
} WDF_IO_TARGET_OPEN_PARAMS, *PWDF_IO_TARGET_OPEN_PARAMS;

FORCEINLINE VOID WDF_IO_TARGET_OPEN_PARAMS_INIT_EXISTING_DEVICE(_Out_ PWDF_IO_TARGET_OPEN_PARAMS Params,
                                                                _In_ PDEVICE_OBJECT DeviceObject)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->Type = WdfIoTargetOpenUseExistingDevice;
    Params->TargetDeviceObject = DeviceObject;
}

FORCEINLINE VOID WDF_IO_TARGET_OPEN_PARAMS_INIT_CREATE_BY_NAME(_Out_ PWDF_IO_TARGET_OPEN_PARAMS Params,
                                                               _In_ PCUNICODE_STRING TargetDeviceName,
                                                               _In_ ACCESS_MASK DesiredAccess)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->Type = WdfIoTargetOpenByName;
    Params->TargetDeviceName = *TargetDeviceName;
    Params->DesiredAccess = DesiredAccess;
    Params->CreateOptions = FILE_NON_DIRECTORY_FILE;
}

FORCEINLINE VOID WDF_IO_TARGET_OPEN_PARAMS_INIT_OPEN_BY_NAME(_Out_ PWDF_IO_TARGET_OPEN_PARAMS Params,
                                                             _In_ PCUNICODE_STRING TargetDeviceName,
                                                             _In_ ACCESS_MASK DesiredAccess)
{
    WDF_IO_TARGET_OPEN_PARAMS_INIT_CREATE_BY_NAME(Params, TargetDeviceName, DesiredAccess);
    Params->CreateDisposition = FILE_OPEN;
}

FORCEINLINE VOID WDF_IO_TARGET_OPEN_PARAMS_INIT_REOPEN(_Out_ PWDF_IO_TARGET_OPEN_PARAMS Params)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->Type = WdfIoTargetOpenReopen;
}

/* Creates a closed target. The default parent is the device. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfIoTargetCreate(_In_ WDFDEVICE Device, _In_opt_ PWDF_OBJECT_ATTRIBUTES IoTargetAttributes,
                                       _Out_ WDFIOTARGET *IoTarget);
/*
 * Opens a device by name, or uses an existing device or file. Returns STATUS_INVALID_DEVICE_STATE if the target is
 * open. Extended attributes are refused with STATUS_NOT_SUPPORTED. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoTargetOpen(_In_ WDFIOTARGET IoTarget, _In_ PWDF_IO_TARGET_OPEN_PARAMS OpenParams);
/*
 * Cancels the requests that were sent to the target, waits until their completion routines have returned, and closes
 * the target. A completion routine that closes its target does not wait for other completion routines. The deletion of
 * a target also closes it, after EvtCleanupCallback; in a completion routine of the target it breaks rule
 * `wdf-callback`. PASSIVE_LEVEL.
 */
NTKERNELAPI VOID WdfIoTargetClose(_In_ WDFIOTARGET IoTarget);
/*
 * Change the state of an open target: started, stopped or purged. A stopped target accepts requests, which wait until
 * the next start; WdfRequestSend returns TRUE for them. A purge completes the requests that wait with
 * STATUS_WDF_DEVICE_REMOVED_NOT_SENT, cancels those that were sent, and refuses others. Requests with
 * WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE are sent in each state, and neither cancelled nor waited for. The three
 * routines are called one after the other, and a wait is not for request handlers and completion routines: rule
 * `wdf-target`. WdfIoTargetStart returns STATUS_INVALID_DEVICE_STATE for a closed target. IRQL <= DISPATCH_LEVEL, but
 * with an action that waits PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoTargetStart(_In_ WDFIOTARGET IoTarget);
NTKERNELAPI VOID WdfIoTargetStop(_In_ WDFIOTARGET IoTarget, _In_ WDF_IO_TARGET_SENT_IO_ACTION Action);
NTKERNELAPI VOID WdfIoTargetPurge(_In_ WDFIOTARGET IoTarget, _In_ WDF_IO_TARGET_PURGE_IO_ACTION Action);
NTKERNELAPI WDF_IO_TARGET_STATE WdfIoTargetGetState(_In_ WDFIOTARGET IoTarget);
NTKERNELAPI WDFDEVICE WdfIoTargetGetDevice(_In_ WDFIOTARGET IoTarget);
/* Return NULL for a closed target. The file object and handle are those of a target that was opened by name. */
NTKERNELAPI PDEVICE_OBJECT WdfIoTargetWdmGetTargetDeviceObject(_In_ WDFIOTARGET IoTarget);
NTKERNELAPI PFILE_OBJECT WdfIoTargetWdmGetTargetFileObject(_In_ WDFIOTARGET IoTarget);
NTKERNELAPI HANDLE WdfIoTargetWdmGetTargetFileHandle(_In_ WDFIOTARGET IoTarget);
/* Returns NULL for a control device, which has no device below it. */
NTKERNELAPI WDFIOTARGET WdfDeviceGetIoTarget(_In_ WDFDEVICE Device);

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

typedef enum _WDF_MEMORY_DESCRIPTOR_TYPE {
    WdfMemoryDescriptorTypeInvalid = 0,
    WdfMemoryDescriptorTypeBuffer,
    WdfMemoryDescriptorTypeMdl,
    WdfMemoryDescriptorTypeHandle
} WDF_MEMORY_DESCRIPTOR_TYPE;

typedef struct _WDF_MEMORY_DESCRIPTOR {
    WDF_MEMORY_DESCRIPTOR_TYPE Type;
    union {
        struct {
            PVOID Buffer;
            ULONG Length;
        } BufferType;
        struct {
            PMDL Mdl;
            ULONG BufferLength;
        } MdlType;
        struct {
            WDFMEMORY Memory;
            PWDFMEMORY_OFFSET Offsets;
        } HandleType;
    } u;
} WDF_MEMORY_DESCRIPTOR, *PWDF_MEMORY_DESCRIPTOR;

FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_BUFFER(_Out_ PWDF_MEMORY_DESCRIPTOR Descriptor, _In_ PVOID Buffer,
                                                   _In_ ULONG BufferLength)
{
    RtlZeroMemory(Descriptor, sizeof(*Descriptor));
    Descriptor->Type = WdfMemoryDescriptorTypeBuffer;
    Descriptor->u.BufferType.Buffer = Buffer;
    Descriptor->u.BufferType.Length = BufferLength;
}

FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_HANDLE(_Out_ PWDF_MEMORY_DESCRIPTOR Descriptor, _In_ WDFMEMORY Memory,
                                                   _In_opt_ PWDFMEMORY_OFFSET Offsets)
{
    RtlZeroMemory(Descriptor, sizeof(*Descriptor));
    Descriptor->Type = WdfMemoryDescriptorTypeHandle;
    Descriptor->u.HandleType.Memory = Memory;
    Descriptor->u.HandleType.Offsets = Offsets;
}

FORCEINLINE VOID WDF_MEMORY_DESCRIPTOR_INIT_MDL(_Out_ PWDF_MEMORY_DESCRIPTOR Descriptor, _In_ PMDL Mdl,
                                                _In_ ULONG BufferLength)
{
    RtlZeroMemory(Descriptor, sizeof(*Descriptor));
    Descriptor->Type = WdfMemoryDescriptorTypeMdl;
    Descriptor->u.MdlType.Mdl = Mdl;
    Descriptor->u.MdlType.BufferLength = BufferLength;
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

typedef enum _WDF_REQUEST_SEND_OPTIONS_FLAGS {
    WDF_REQUEST_SEND_OPTION_TIMEOUT = 0x00000001,
    WDF_REQUEST_SEND_OPTION_SYNCHRONOUS = 0x00000002,
    WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE = 0x00000004,
    WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET = 0x00000008
} WDF_REQUEST_SEND_OPTIONS_FLAGS;

/* Timeout is in units of 100 ns, negative if relative. */
typedef struct _WDF_REQUEST_SEND_OPTIONS {
    ULONG Size;
    ULONG Flags;
    LONGLONG Timeout;
} WDF_REQUEST_SEND_OPTIONS, *PWDF_REQUEST_SEND_OPTIONS;

FORCEINLINE VOID WDF_REQUEST_SEND_OPTIONS_INIT(_Out_ PWDF_REQUEST_SEND_OPTIONS Options, _In_ ULONG Flags)
{
    RtlZeroMemory(Options, sizeof(*Options));
    Options->Size = sizeof(*Options);
    Options->Flags = Flags;
}

FORCEINLINE VOID WDF_REQUEST_SEND_OPTIONS_SET_TIMEOUT(_Out_ PWDF_REQUEST_SEND_OPTIONS Options, _In_ LONGLONG Timeout)
{
    Options->Flags |= WDF_REQUEST_SEND_OPTION_TIMEOUT;
    Options->Timeout = Timeout;
}

typedef struct _WDF_REQUEST_COMPLETION_PARAMS {
    ULONG Size;
    WDF_REQUEST_TYPE Type;
    IO_STATUS_BLOCK IoStatus;
    union {
        struct {
            WDFMEMORY Buffer;
            size_t Length;
            size_t Offset;
        } Write, Read;
        struct {
            ULONG IoControlCode;
            struct {
                WDFMEMORY Buffer;
                size_t Offset;
            } Input;
            struct {
                WDFMEMORY Buffer;
                size_t Offset;
                size_t Length;
            } Output;
        } Ioctl;
        struct {
            union {
                PVOID Ptr;
                ULONG_PTR Value;
            } Argument1, Argument2, Argument3, Argument4;
        } Others;
    } Parameters;
} WDF_REQUEST_COMPLETION_PARAMS, *PWDF_REQUEST_COMPLETION_PARAMS;

FORCEINLINE VOID WDF_REQUEST_COMPLETION_PARAMS_INIT(_Out_ PWDF_REQUEST_COMPLETION_PARAMS Params)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->Type = WdfRequestTypeNoFormat;
}

/* Called at IRQL <= DISPATCH_LEVEL, on the thread that completes the request, or on one that cancels it meanwhile. */
typedef VOID EVT_WDF_REQUEST_COMPLETION_ROUTINE(_In_ WDFREQUEST Request, _In_ WDFIOTARGET Target,
                                                _In_ PWDF_REQUEST_COMPLETION_PARAMS Params, _In_ WDFCONTEXT Context);
typedef EVT_WDF_REQUEST_COMPLETION_ROUTINE *PFN_WDF_REQUEST_COMPLETION_ROUTINE;

typedef enum _WDF_REQUEST_REUSE_FLAGS {
    WDF_REQUEST_REUSE_NO_FLAGS = 0x00000000,
    WDF_REQUEST_REUSE_SET_NEW_IRP = 0x00000001
} WDF_REQUEST_REUSE_FLAGS;

typedef struct _WDF_REQUEST_REUSE_PARAMS {
    ULONG Size;
    ULONG Flags;
    NTSTATUS Status;
    PIRP NewIrp;
} WDF_REQUEST_REUSE_PARAMS, *PWDF_REQUEST_REUSE_PARAMS;

FORCEINLINE VOID WDF_REQUEST_REUSE_PARAMS_INIT(_Out_ PWDF_REQUEST_REUSE_PARAMS Params, _In_ ULONG Flags,
                                               _In_ NTSTATUS Status)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->Flags = Flags;
    Params->Status = Status;
}

FORCEINLINE VOID WDF_REQUEST_REUSE_PARAMS_SET_NEW_IRP(_Inout_ PWDF_REQUEST_REUSE_PARAMS Params, _In_opt_ PIRP NewIrp)
{
    Params->Flags |= WDF_REQUEST_REUSE_SET_NEW_IRP;
    Params->NewIrp = NewIrp;
}

/* ---- Synchronous requests ---------------------------------------------------------------------------------------- */

/*
 * Send a request, and return its status. If Request is NULL, the framework creates a request. A timeout cancels the
 * request, and the status is STATUS_IO_TIMEOUT. Return STATUS_INVALID_DEVICE_STATE if the target is closed.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoTargetSendIoctlSynchronously(_In_ WDFIOTARGET IoTarget, _In_opt_ WDFREQUEST Request,
                                                       _In_ ULONG IoctlCode,
                                                       _In_opt_ PWDF_MEMORY_DESCRIPTOR InputBuffer,
                                                       _In_opt_ PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                                       _In_opt_ PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                                       _Out_opt_ PULONG_PTR BytesReturned);
NTKERNELAPI NTSTATUS WdfIoTargetSendInternalIoctlSynchronously(_In_ WDFIOTARGET IoTarget, _In_opt_ WDFREQUEST Request,
                                                               _In_ ULONG IoctlCode,
                                                               _In_opt_ PWDF_MEMORY_DESCRIPTOR InputBuffer,
                                                               _In_opt_ PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                                               _In_opt_ PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                                               _Out_opt_ PULONG_PTR BytesReturned);
NTKERNELAPI NTSTATUS WdfIoTargetSendReadSynchronously(_In_ WDFIOTARGET IoTarget, _In_opt_ WDFREQUEST Request,
                                                      _In_opt_ PWDF_MEMORY_DESCRIPTOR OutputBuffer,
                                                      _In_opt_ PLONGLONG DeviceOffset,
                                                      _In_opt_ PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                                      _Out_opt_ PULONG_PTR BytesRead);
NTKERNELAPI NTSTATUS WdfIoTargetSendWriteSynchronously(_In_ WDFIOTARGET IoTarget, _In_opt_ WDFREQUEST Request,
                                                       _In_opt_ PWDF_MEMORY_DESCRIPTOR InputBuffer,
                                                       _In_opt_ PLONGLONG DeviceOffset,
                                                       _In_opt_ PWDF_REQUEST_SEND_OPTIONS RequestOptions,
                                                       _Out_opt_ PULONG_PTR BytesWritten);

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* The driver deletes the request, and never completes it. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfRequestCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES RequestAttributes, _In_opt_ WDFIOTARGET IoTarget,
                                      _Out_ WDFREQUEST *Request);
/*
 * Works like WdfRequestCreate, with an IRP of the driver, which may have stack locations in use. If RequestFreesIrp is
 * true, the framework frees the IRP when the request is destroyed, and replaces it if it has too few stack locations
 * for a target. Otherwise the driver frees or completes it, after it has removed it from the request with
 * WdfRequestReuse or has deleted the request. WdfObjectDelete restores the IRP's buffers. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfRequestCreateFromIrp(_In_opt_ PWDF_OBJECT_ATTRIBUTES RequestAttributes, _In_ PIRP Irp,
                                             _In_ BOOLEAN RequestFreesIrp, _Out_ WDFREQUEST *Request);
/*
 * Resets a created request for another send. The request's status becomes that of the parameters, and the request has
 * no format and no completion routine. If the parameters have a new IRP, which may be NULL, it takes the place of the
 * request's IRP. The new IRP is the driver's to free. Refuses received requests, and a new IRP for a request that
 * WdfRequestCreateFromIrp has not created (STATUS_WDF_REQUEST_INVALID_STATE). IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfRequestReuse(_In_ WDFREQUEST Request, _In_ PWDF_REQUEST_REUSE_PARAMS ReuseParams);
/*
 * Set up the next request. They add references on the memory objects, which the next format, a reuse and the deletion
 * drop. Return STATUS_INVALID_DEVICE_REQUEST if the offsets exceed the buffer, or if the request is sent, and
 * STATUS_REQUEST_NOT_ACCEPTED if the request's IRP has too few stack locations. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoTargetFormatRequestForIoctl(_In_ WDFIOTARGET IoTarget, _In_ WDFREQUEST Request,
                                                      _In_ ULONG IoctlCode, _In_opt_ WDFMEMORY InputBuffer,
                                                      _In_opt_ PWDFMEMORY_OFFSET InputBufferOffset,
                                                      _In_opt_ WDFMEMORY OutputBuffer,
                                                      _In_opt_ PWDFMEMORY_OFFSET OutputBufferOffset);
NTKERNELAPI NTSTATUS WdfIoTargetFormatRequestForInternalIoctl(_In_ WDFIOTARGET IoTarget, _In_ WDFREQUEST Request,
                                                              _In_ ULONG IoctlCode, _In_opt_ WDFMEMORY InputBuffer,
                                                              _In_opt_ PWDFMEMORY_OFFSET InputBufferOffset,
                                                              _In_opt_ WDFMEMORY OutputBuffer,
                                                              _In_opt_ PWDFMEMORY_OFFSET OutputBufferOffset);
NTKERNELAPI NTSTATUS WdfIoTargetFormatRequestForRead(_In_ WDFIOTARGET IoTarget, _In_ WDFREQUEST Request,
                                                     _In_opt_ WDFMEMORY OutputBuffer,
                                                     _In_opt_ PWDFMEMORY_OFFSET OutputBufferOffset,
                                                     _In_opt_ PLONGLONG DeviceOffset);
NTKERNELAPI NTSTATUS WdfIoTargetFormatRequestForWrite(_In_ WDFIOTARGET IoTarget, _In_ WDFREQUEST Request,
                                                      _In_opt_ WDFMEMORY InputBuffer,
                                                      _In_opt_ PWDFMEMORY_OFFSET InputBufferOffset,
                                                      _In_opt_ PLONGLONG DeviceOffset);
/* Formats a received request for the target as it was received. */
NTKERNELAPI VOID WdfRequestFormatRequestUsingCurrentType(_In_ WDFREQUEST Request);
NTKERNELAPI VOID WdfRequestSetCompletionRoutine(_In_ WDFREQUEST Request,
                                                _In_opt_ PFN_WDF_REQUEST_COMPLETION_ROUTINE CompletionRoutine,
                                                _In_opt_ WDFCONTEXT CompletionContext);
/*
 * Returns FALSE if the request was not sent; WdfRequestGetStatus then returns the reason. With
 * WDF_REQUEST_SEND_OPTION_SYNCHRONOUS requires PASSIVE_LEVEL, and returns after the completion. With
 * WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET the target's driver completes a received request, which the driver then must
 * not use any more. That option is not for create requests with a framework file object, targets with a file object,
 * and requests with the buffers of a format (rule `wdf-request`). IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI BOOLEAN WdfRequestSend(_In_ WDFREQUEST Request, _In_ WDFIOTARGET Target,
                                   _In_opt_ PWDF_REQUEST_SEND_OPTIONS Options);
/* Allocates nothing, because each request has a timer. */
NTKERNELAPI NTSTATUS WdfRequestAllocateTimer(_In_ WDFREQUEST Request);
/* Returns FALSE if the request was not sent, has completed, or its receiver has set no cancel routine. */
NTKERNELAPI BOOLEAN WdfRequestCancelSentRequest(_In_ WDFREQUEST Request);
/* The results of the last completion. */
NTKERNELAPI VOID WdfRequestGetCompletionParams(_In_ WDFREQUEST Request, _Out_ PWDF_REQUEST_COMPLETION_PARAMS Params);

EXTERN_C_END

#endif
