/* SPDX-License-Identifier: MIT */
/*
 * Requests. The framework creates one for each create, read, write and device control. A driver owns a request from its
 * delivery until the driver completes it, or puts it into a queue. A driver that calls a routine for a request of
 * another owner breaks rule `wdf-request`. All routines allow IRQL <= DISPATCH_LEVEL, except those with another level
 * in their comment.
 */
#ifndef ONDK_WDK_WDF_REQUEST_H
#define ONDK_WDK_WDF_REQUEST_H

#include "device.h"
#include "memory.h"

EXTERN_C_START

typedef enum _WDF_REQUEST_TYPE {
    WdfRequestTypeCreate = 0x0,
    WdfRequestTypeCreateNamedPipe = 0x1,
    WdfRequestTypeClose = 0x2,
    WdfRequestTypeRead = 0x3,
    WdfRequestTypeWrite = 0x4,
    WdfRequestTypeQueryInformation = 0x5,
    WdfRequestTypeSetInformation = 0x6,
    WdfRequestTypeQueryEA = 0x7,
    WdfRequestTypeSetEA = 0x8,
    WdfRequestTypeFlushBuffers = 0x9,
    WdfRequestTypeQueryVolumeInformation = 0xa,
    WdfRequestTypeSetVolumeInformation = 0xb,
    WdfRequestTypeDirectoryControl = 0xc,
    WdfRequestTypeFileSystemControl = 0xd,
    WdfRequestTypeDeviceControl = 0xe,
    WdfRequestTypeDeviceControlInternal = 0xf,
    WdfRequestTypeShutdown = 0x10,
    WdfRequestTypeLockControl = 0x11,
    WdfRequestTypeCleanup = 0x12,
    WdfRequestTypeOther = 0x1C,
    WdfRequestTypeNoFormat = 0xFF,
    WdfRequestTypeMax
} WDF_REQUEST_TYPE;

typedef struct _WDF_REQUEST_PARAMETERS {
    USHORT Size;
    UCHAR MinorFunction;
    WDF_REQUEST_TYPE Type;
    union {
        struct {
            PIO_SECURITY_CONTEXT SecurityContext;
            ULONG Options;
            USHORT POINTER_ALIGNMENT FileAttributes;
            USHORT ShareAccess;
            ULONG POINTER_ALIGNMENT EaLength;
        } Create;
        struct {
            size_t Length;
            ULONG POINTER_ALIGNMENT Key;
            LONGLONG DeviceOffset;
        } Read;
        struct {
            size_t Length;
            ULONG POINTER_ALIGNMENT Key;
            LONGLONG DeviceOffset;
        } Write;
        struct {
            size_t OutputBufferLength;
            size_t POINTER_ALIGNMENT InputBufferLength;
            ULONG POINTER_ALIGNMENT IoControlCode;
            PVOID Type3InputBuffer;
        } DeviceIoControl;
        struct {
            PVOID Arg1;
            PVOID Arg2;
            ULONG POINTER_ALIGNMENT IoControlCode;
            PVOID Arg4;
        } Others;
    } Parameters;
} WDF_REQUEST_PARAMETERS, *PWDF_REQUEST_PARAMETERS;

FORCEINLINE VOID WDF_REQUEST_PARAMETERS_INIT(_Out_ PWDF_REQUEST_PARAMETERS Parameters)
{
    RtlZeroMemory(Parameters, sizeof(*Parameters));
    Parameters->Size = (USHORT)sizeof(*Parameters);
}

typedef enum _WDF_REQUEST_STOP_ACTION_FLAGS {
    WdfRequestStopActionInvalid = 0,
    WdfRequestStopActionSuspend = 0x01,
    WdfRequestStopActionPurge = 0x2,
    WdfRequestStopRequestCancelable = 0x10000000
} WDF_REQUEST_STOP_ACTION_FLAGS;

/*
 * Called once for a cancelled request that the driver has marked cancelable, at IRQL <= DISPATCH_LEVEL. As during a
 * request handler, the thread has the lock of the queue's scope. The driver completes the request, now or later.
 */
typedef VOID EVT_WDF_REQUEST_CANCEL(_In_ WDFREQUEST Request);
typedef EVT_WDF_REQUEST_CANCEL *PFN_WDF_REQUEST_CANCEL;

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/*
 * Completes the request and deletes it. The cleanup callbacks run before the IRP completes. The driver must not use the
 * request any more, and must have dropped its references on the request's memory objects. A request that is still
 * marked cancelable breaks rule `wdf-request`, except in its cancel callback.
 */
NTKERNELAPI VOID WdfRequestComplete(_In_ WDFREQUEST Request, _In_ NTSTATUS Status);
NTKERNELAPI VOID WdfRequestCompleteWithInformation(_In_ WDFREQUEST Request, _In_ NTSTATUS Status,
                                                   _In_ ULONG_PTR Information);
NTKERNELAPI VOID WdfRequestCompleteWithPriorityBoost(_In_ WDFREQUEST Request, _In_ NTSTATUS Status,
                                                     _In_ CCHAR PriorityBoost);

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

/*
 * If the request is already cancelled, calls EvtRequestCancel before it returns. If the IRQL or a lock of callbacks
 * that the thread has does not allow this call, a system thread calls EvtRequestCancel.
 */
NTKERNELAPI VOID WdfRequestMarkCancelable(_In_ WDFREQUEST Request, _In_ PFN_WDF_REQUEST_CANCEL EvtRequestCancel);
/* If the request is already cancelled, returns STATUS_CANCELLED and does not call EvtRequestCancel. */
NTKERNELAPI NTSTATUS WdfRequestMarkCancelableEx(_In_ WDFREQUEST Request, _In_ PFN_WDF_REQUEST_CANCEL EvtRequestCancel);
/*
 * Returns STATUS_CANCELLED if EvtRequestCancel runs or will run; that callback then completes the request. Returns
 * STATUS_INVALID_PARAMETER if the request is not cancelable.
 */
NTKERNELAPI NTSTATUS WdfRequestUnmarkCancelable(_In_ WDFREQUEST Request);
/*
 * Returns TRUE if the IRP is cancelled, or if a purge has cancelled the request. A request that is marked cancelable
 * breaks rule `wdf-request`.
 */
NTKERNELAPI BOOLEAN WdfRequestIsCanceled(_In_ WDFREQUEST Request);

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

/*
 * Moves the request to the end of another queue of the same device. The driver no longer owns it. On failure the driver
 * still owns the request: STATUS_WDF_BUSY (the queue accepts no requests), STATUS_INVALID_DEVICE_REQUEST (the same
 * queue, a queue of another device, the request is cancelable or comes from no queue).
 */
NTKERNELAPI NTSTATUS WdfRequestForwardToIoQueue(_In_ WDFREQUEST Request, _In_ WDFQUEUE DestinationQueue);
/* Returns the request to the front of the manual queue from which it came. */
NTKERNELAPI NTSTATUS WdfRequestRequeue(_In_ WDFREQUEST Request);
/* Returns NULL for a request that is in no queue and comes from none. */
NTKERNELAPI WDFQUEUE WdfRequestGetIoQueue(_In_ WDFREQUEST Request);
/*
 * Lets the removal of the device go on after EvtIoStop. If Requeue is TRUE, the request returns to the front of its
 * queue. Otherwise the driver still owns the request and completes it. A call at another time breaks rule
 * `wdf-request`.
 */
NTKERNELAPI VOID WdfRequestStopAcknowledge(_In_ WDFREQUEST Request, _In_ BOOLEAN Requeue);

/* ---- Properties -------------------------------------------------------------------------------------------------- */

NTKERNELAPI VOID WdfRequestGetParameters(_In_ WDFREQUEST Request, _Out_ PWDF_REQUEST_PARAMETERS Parameters);
/* Returns NULL if the framework has created no file object for the request. */
NTKERNELAPI WDFFILEOBJECT WdfRequestGetFileObject(_In_ WDFREQUEST Request);
NTKERNELAPI KPROCESSOR_MODE WdfRequestGetRequestorMode(_In_ WDFREQUEST Request);
NTKERNELAPI VOID WdfRequestSetInformation(_In_ WDFREQUEST Request, _In_ ULONG_PTR Information);
NTKERNELAPI ULONG_PTR WdfRequestGetInformation(_In_ WDFREQUEST Request);
NTKERNELAPI NTSTATUS WdfRequestGetStatus(_In_ WDFREQUEST Request);
NTKERNELAPI BOOLEAN WdfRequestIsFrom32BitProcess(_In_ WDFREQUEST Request);
NTKERNELAPI PIRP WdfRequestWdmGetIrp(_In_ WDFREQUEST Request);

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/*
 * These routines return the address and length of a buffered or direct request's buffer. They return
 * STATUS_BUFFER_TOO_SMALL if the length is zero or below the minimum, STATUS_INVALID_DEVICE_REQUEST if this type of
 * request has no such buffer, or if a program sent the request without buffered or direct I/O, and
 * STATUS_INTERNAL_ERROR if the request is completed.
 */
NTKERNELAPI NTSTATUS WdfRequestRetrieveInputBuffer(_In_ WDFREQUEST Request, _In_ size_t MinimumRequiredLength,
                                                   _Out_ PVOID *Buffer, _Out_opt_ size_t *Length);
NTKERNELAPI NTSTATUS WdfRequestRetrieveOutputBuffer(_In_ WDFREQUEST Request, _In_ size_t MinimumRequiredSize,
                                                    _Out_ PVOID *Buffer, _Out_opt_ size_t *Length);
/* The memory object belongs to the request. */
NTKERNELAPI NTSTATUS WdfRequestRetrieveInputMemory(_In_ WDFREQUEST Request, _Out_ WDFMEMORY *Memory);
NTKERNELAPI NTSTATUS WdfRequestRetrieveOutputMemory(_In_ WDFREQUEST Request, _Out_ WDFMEMORY *Memory);
/* The MDL belongs to the request. */
NTKERNELAPI NTSTATUS WdfRequestRetrieveInputWdmMdl(_In_ WDFREQUEST Request, _Out_ PMDL *Mdl);
NTKERNELAPI NTSTATUS WdfRequestRetrieveOutputWdmMdl(_In_ WDFREQUEST Request, _Out_ PMDL *Mdl);
/*
 * Return the address of a program's own buffer. Only for requests without buffered or direct I/O, and only in
 * EvtIoInCallerContext. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfRequestRetrieveUnsafeUserInputBuffer(_In_ WDFREQUEST Request, _In_ size_t MinimumRequiredLength,
                                                             _Out_ PVOID *InputBuffer, _Out_opt_ size_t *Length);
NTKERNELAPI NTSTATUS WdfRequestRetrieveUnsafeUserOutputBuffer(_In_ WDFREQUEST Request,
                                                              _In_ size_t MinimumRequiredLength,
                                                              _Out_ PVOID *OutputBuffer, _Out_opt_ size_t *Length);
/* Locks a program's buffer until the request completes. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfRequestProbeAndLockUserBufferForRead(_In_ WDFREQUEST Request, _In_ PVOID Buffer,
                                                             _In_ size_t Length, _Out_ WDFMEMORY *MemoryObject);
NTKERNELAPI NTSTATUS WdfRequestProbeAndLockUserBufferForWrite(_In_ WDFREQUEST Request, _In_ PVOID Buffer,
                                                              _In_ size_t Length, _Out_ WDFMEMORY *MemoryObject);

EXTERN_C_END

#endif
