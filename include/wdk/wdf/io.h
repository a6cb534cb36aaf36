/* SPDX-License-Identifier: MIT */
/*
 * I/O queues. A sequential queue delivers one request at a time. A parallel queue delivers up to a given number of
 * requests at the same time. The driver itself retrieves the requests of a manual queue. A cancelled request in a queue
 * is completed with STATUS_CANCELLED, unless EvtIoCanceledOnQueue is called for it.
 */
#ifndef ONDK_WDK_WDF_IO_H
#define ONDK_WDK_WDF_IO_H

#include "request.h"

EXTERN_C_START

typedef enum _WDF_IO_QUEUE_DISPATCH_TYPE {
    WdfIoQueueDispatchInvalid = 0,
    WdfIoQueueDispatchSequential,
    WdfIoQueueDispatchParallel,
    WdfIoQueueDispatchManual,
    WdfIoQueueDispatchMax
} WDF_IO_QUEUE_DISPATCH_TYPE;

typedef enum _WDF_IO_QUEUE_STATE {
    WdfIoQueueAcceptRequests = 0x01,
    WdfIoQueueDispatchRequests = 0x02,
    WdfIoQueueNoRequests = 0x04,
    WdfIoQueueDriverNoRequests = 0x08,
    WdfIoQueuePnpHeld = 0x10
} WDF_IO_QUEUE_STATE;

/*
 * Request handlers. If the queue's execution level is passive, they run at PASSIVE_LEVEL. Otherwise they run at
 * DISPATCH_LEVEL if the scope has a lock, or else at the IRQL of the thread that delivers the request. At PASSIVE_LEVEL
 * they run in a critical region. They must not call the routines ...Synchronously of any queue (rule `wdf-queue`).
 */
typedef VOID EVT_WDF_IO_QUEUE_IO_DEFAULT(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request);
typedef EVT_WDF_IO_QUEUE_IO_DEFAULT *PFN_WDF_IO_QUEUE_IO_DEFAULT;
typedef VOID EVT_WDF_IO_QUEUE_IO_READ(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request, _In_ size_t Length);
typedef EVT_WDF_IO_QUEUE_IO_READ *PFN_WDF_IO_QUEUE_IO_READ;
typedef VOID EVT_WDF_IO_QUEUE_IO_WRITE(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request, _In_ size_t Length);
typedef EVT_WDF_IO_QUEUE_IO_WRITE *PFN_WDF_IO_QUEUE_IO_WRITE;
typedef VOID EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request,
                                                _In_ size_t OutputBufferLength, _In_ size_t InputBufferLength,
                                                _In_ ULONG IoControlCode);
typedef EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL *PFN_WDF_IO_QUEUE_IO_DEVICE_CONTROL;
typedef EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL EVT_WDF_IO_QUEUE_IO_INTERNAL_DEVICE_CONTROL;
typedef EVT_WDF_IO_QUEUE_IO_INTERNAL_DEVICE_CONTROL *PFN_WDF_IO_QUEUE_IO_INTERNAL_DEVICE_CONTROL;
/*
 * EvtIoStop is called for each delivered request of a power-managed queue when its device is removed, after the request
 * handlers have returned. ActionFlags has WdfRequestStopActionPurge. The driver completes the request or calls
 * WdfRequestStopAcknowledge, now or later. Without EvtIoStop the removal waits for the completion. EvtIoResume is never
 * called, because devices do not sleep.
 */
typedef VOID EVT_WDF_IO_QUEUE_IO_STOP(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request, _In_ ULONG ActionFlags);
typedef EVT_WDF_IO_QUEUE_IO_STOP *PFN_WDF_IO_QUEUE_IO_STOP;
typedef VOID EVT_WDF_IO_QUEUE_IO_RESUME(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request);
typedef EVT_WDF_IO_QUEUE_IO_RESUME *PFN_WDF_IO_QUEUE_IO_RESUME;
/*
 * Called for a cancelled request that the driver has put into the queue. The driver owns the request and completes it,
 * now or later.
 */
typedef VOID EVT_WDF_IO_QUEUE_IO_CANCELED_ON_QUEUE(_In_ WDFQUEUE Queue, _In_ WDFREQUEST Request);
typedef EVT_WDF_IO_QUEUE_IO_CANCELED_ON_QUEUE *PFN_WDF_IO_QUEUE_IO_CANCELED_ON_QUEUE;
/*
 * Called when a stop, drain or purge has ended, or when a manual queue gets its first request (WdfIoQueueReadyNotify).
 */
typedef VOID EVT_WDF_IO_QUEUE_STATE(_In_ WDFQUEUE Queue, _In_ WDFCONTEXT Context);
typedef EVT_WDF_IO_QUEUE_STATE *PFN_WDF_IO_QUEUE_STATE;

/*
 * PowerManaged has no effect for a control device. Otherwise WdfUseDefault means WdfTrue: the queue delivers while the
 * device is started. NumberOfPresentedRequests limits the number of requests that the driver owns at the
 * same time; 0xFFFFFFFF: no limit.
 */
typedef struct _WDF_IO_QUEUE_CONFIG {
    ULONG Size;
    WDF_IO_QUEUE_DISPATCH_TYPE DispatchType;
    WDF_TRI_STATE PowerManaged;
    BOOLEAN AllowZeroLengthRequests; /* FALSE: the framework completes reads and writes of zero bytes */
    BOOLEAN DefaultQueue;
    PFN_WDF_IO_QUEUE_IO_DEFAULT EvtIoDefault;
    PFN_WDF_IO_QUEUE_IO_READ EvtIoRead;
    PFN_WDF_IO_QUEUE_IO_WRITE EvtIoWrite;
    PFN_WDF_IO_QUEUE_IO_DEVICE_CONTROL EvtIoDeviceControl;
    PFN_WDF_IO_QUEUE_IO_INTERNAL_DEVICE_CONTROL EvtIoInternalDeviceControl;
    PFN_WDF_IO_QUEUE_IO_STOP EvtIoStop;
    PFN_WDF_IO_QUEUE_IO_RESUME EvtIoResume;
    PFN_WDF_IO_QUEUE_IO_CANCELED_ON_QUEUE EvtIoCanceledOnQueue;
    union {
        struct {
            ULONG NumberOfPresentedRequests;
        } Parallel;
    } Settings;
    WDFDRIVER Driver;
} WDF_IO_QUEUE_CONFIG, *PWDF_IO_QUEUE_CONFIG;

FORCEINLINE VOID WDF_IO_QUEUE_CONFIG_INIT(_Out_ PWDF_IO_QUEUE_CONFIG Config,
                                          _In_ WDF_IO_QUEUE_DISPATCH_TYPE DispatchType)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->PowerManaged = WdfUseDefault;
    Config->DispatchType = DispatchType;
    if (DispatchType == WdfIoQueueDispatchParallel)
        Config->Settings.Parallel.NumberOfPresentedRequests = (ULONG)-1;
}

FORCEINLINE VOID WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(_Out_ PWDF_IO_QUEUE_CONFIG Config,
                                                        _In_ WDF_IO_QUEUE_DISPATCH_TYPE DispatchType)
{
    WDF_IO_QUEUE_CONFIG_INIT(Config, DispatchType);
    Config->DefaultQueue = TRUE;
}

FORCEINLINE BOOLEAN WDF_IO_QUEUE_IDLE(_In_ WDF_IO_QUEUE_STATE State)
{
    return (State & WdfIoQueueNoRequests) && (State & WdfIoQueueDriverNoRequests);
}

FORCEINLINE BOOLEAN WDF_IO_QUEUE_READY(_In_ WDF_IO_QUEUE_STATE State)
{
    return (State & WdfIoQueueDispatchRequests) && (State & WdfIoQueueAcceptRequests);
}

FORCEINLINE BOOLEAN WDF_IO_QUEUE_STOPPED(_In_ WDF_IO_QUEUE_STATE State)
{
    return !(State & WdfIoQueueDispatchRequests) && (State & WdfIoQueueAcceptRequests) &&
           (State & WdfIoQueueDriverNoRequests);
}

FORCEINLINE BOOLEAN WDF_IO_QUEUE_DRAINED(_In_ WDF_IO_QUEUE_STATE State)
{
    return !(State & WdfIoQueueAcceptRequests) && WDF_IO_QUEUE_IDLE(State);
}

FORCEINLINE BOOLEAN WDF_IO_QUEUE_PURGED(_In_ WDF_IO_QUEUE_STATE State)
{
    return !(State & WdfIoQueueAcceptRequests) && WDF_IO_QUEUE_IDLE(State);
}

/*
 * Creates a queue below the device, or below the attributes' parent, which must be the device or below it. The queue is
 * ready. It has the execution level and scope of its attributes or of the device. Errors: STATUS_WDF_NO_CALLBACK (no
 * handler and not manual), STATUS_UNSUCCESSFUL (a second default queue), STATUS_INVALID_PARAMETER (a manual queue with
 * handlers, NumberOfPresentedRequests for a queue that is not parallel, the device's scope with another execution level
 * than the device's), STATUS_INFO_LENGTH_MISMATCH. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoQueueCreate(_In_ WDFDEVICE Device, _In_ PWDF_IO_QUEUE_CONFIG Config,
                                      _In_opt_ PWDF_OBJECT_ATTRIBUTES QueueAttributes, _Out_opt_ WDFQUEUE *Queue);
/*
 * Sends all requests of a type to the queue: create, read, write, device control, internal device control. If a type
 * has no queue, its requests go to the default queue, except creates. The default queue cannot receive creates. Returns
 * STATUS_WDF_BUSY if the type already has a queue. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceConfigureRequestDispatching(_In_ WDFDEVICE Device, _In_ WDFQUEUE Queue,
                                                          _In_ WDF_REQUEST_TYPE RequestType);
NTKERNELAPI WDFDEVICE WdfIoQueueGetDevice(_In_ WDFQUEUE Queue);
/* Returns WDF_IO_QUEUE_STATE flags. The pointers may be NULL. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI WDF_IO_QUEUE_STATE WdfIoQueueGetState(_In_ WDFQUEUE Queue, _Out_opt_ PULONG QueueRequests,
                                                  _Out_opt_ PULONG DriverRequests);

/* ---- States ------------------------------------------------------------------------------------------------------ */

/*
 * These routines change how the queue treats requests:
 *   Start         accepts and delivers requests; may call request handlers before it returns
 *   Stop          accepts requests and does not deliver them
 *   Drain         refuses new requests, and delivers those that wait
 *   Purge         refuses new requests, cancels those that wait, and calls the cancel callbacks of those that the
 *                 driver owns
 *   StopAndPurge  cancels as Purge does, but accepts new requests and does not deliver them
 * Refused requests complete with STATUS_INVALID_DEVICE_STATE. The callback of Stop and StopAndPurge is called when the
 * driver owns no request of the queue and no request handler runs. The callback of Drain and Purge is called when in
 * addition no request waits. IRQL <= DISPATCH_LEVEL.
 *
 * These calls break rule `wdf-queue`:
 *   - a second stop with a callback, before the callback of a stop was called
 *   - a second drain or purge with a callback, before the callback of a drain or purge was called
 *   - any change before the callback of a drain was called
 *   - a drain of a stopped queue
 */
NTKERNELAPI VOID WdfIoQueueStart(_In_ WDFQUEUE Queue);
NTKERNELAPI VOID WdfIoQueueStop(_In_ WDFQUEUE Queue, _In_opt_ PFN_WDF_IO_QUEUE_STATE StopComplete,
                                _In_opt_ WDFCONTEXT Context);
NTKERNELAPI VOID WdfIoQueueDrain(_In_ WDFQUEUE Queue, _In_opt_ PFN_WDF_IO_QUEUE_STATE DrainComplete,
                                 _In_opt_ WDFCONTEXT Context);
NTKERNELAPI VOID WdfIoQueuePurge(_In_ WDFQUEUE Queue, _In_opt_ PFN_WDF_IO_QUEUE_STATE PurgeComplete,
                                 _In_opt_ WDFCONTEXT Context);
NTKERNELAPI VOID WdfIoQueueStopAndPurge(_In_ WDFQUEUE Queue, _In_opt_ PFN_WDF_IO_QUEUE_STATE StopAndPurgeComplete,
                                        _In_opt_ WDFCONTEXT Context);
/*
 * These routines work like the ones above, but wait instead of calling a callback. PASSIVE_LEVEL, not in a request
 * handler.
 */
NTKERNELAPI VOID WdfIoQueueStopSynchronously(_In_ WDFQUEUE Queue);
NTKERNELAPI VOID WdfIoQueueDrainSynchronously(_In_ WDFQUEUE Queue);
NTKERNELAPI VOID WdfIoQueuePurgeSynchronously(_In_ WDFQUEUE Queue);
NTKERNELAPI VOID WdfIoQueueStopAndPurgeSynchronously(_In_ WDFQUEUE Queue);
/*
 * Registers a callback for each change of a manual queue from empty to not empty. Returns STATUS_INVALID_DEVICE_REQUEST
 * for a second callback, or if the queue is not manual. NULL removes the callback, but only while the queue is stopped.
 */
NTKERNELAPI NTSTATUS WdfIoQueueReadyNotify(_In_ WDFQUEUE Queue, _In_opt_ PFN_WDF_IO_QUEUE_STATE QueueReady,
                                           _In_opt_ WDFCONTEXT Context);

/* ---- Retrieval --------------------------------------------------------------------------------------------------- */

/*
 * These routines retrieve a request, which the driver then owns. They return STATUS_NO_MORE_ENTRIES if there is no
 * request, STATUS_WDF_PAUSED if the queue is stopped, and STATUS_INVALID_DEVICE_STATE if the queue is parallel.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfIoQueueRetrieveNextRequest(_In_ WDFQUEUE Queue, _Out_ WDFREQUEST *OutRequest);
NTKERNELAPI NTSTATUS WdfIoQueueRetrieveRequestByFileObject(_In_ WDFQUEUE Queue, _In_ WDFFILEOBJECT FileObject,
                                                           _Out_ WDFREQUEST *OutRequest);
/*
 * Finds the request behind FoundRequest in a manual queue, or the first request if FoundRequest is NULL. Adds a
 * reference to the found request, which the driver drops with WdfObjectDereference. The driver does not own the found
 * request. Returns STATUS_NOT_FOUND if FoundRequest has left the queue, and STATUS_NO_MORE_ENTRIES if no request
 * follows. A call for a queue that is not manual breaks rule `wdf-queue`.
 */
NTKERNELAPI NTSTATUS WdfIoQueueFindRequest(_In_ WDFQUEUE Queue, _In_opt_ WDFREQUEST FoundRequest,
                                           _In_opt_ WDFFILEOBJECT FileObject,
                                           _Inout_opt_ PWDF_REQUEST_PARAMETERS Parameters,
                                           _Out_ WDFREQUEST *OutRequest);
/*
 * Retrieves the found request, unless it has left the queue (STATUS_NOT_FOUND). Returns STATUS_INVALID_DEVICE_STATE if
 * the queue is parallel.
 */
NTKERNELAPI NTSTATUS WdfIoQueueRetrieveFoundRequest(_In_ WDFQUEUE Queue, _In_ WDFREQUEST FoundRequest,
                                                    _Out_ WDFREQUEST *OutRequest);

EXTERN_C_END

#endif
