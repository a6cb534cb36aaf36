/* SPDX-License-Identifier: MIT */
/*
 * Serialized requests through the driver's StartIo routine (DriverStartIo), which is called at DISPATCH_LEVEL.
 */
#ifndef ONDK_WDK_WDM_STARTIO_H
#define ONDK_WDK_WDM_STARTIO_H

#include "io.h"
#include "timer.h"

EXTERN_C_START

/*
 * Makes CancelFunction, if given, the request's cancel routine. If the device is busy, inserts the request into
 * DeviceObject->DeviceQueue: at the end, or by *Key. Otherwise passes the request to StartIo at once. Calls
 * CancelFunction if the inserted request is already cancelled. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI VOID IoStartPacket(_In_ PDEVICE_OBJECT DeviceObject, _In_ PIRP Irp, _In_opt_ PULONG Key,
                               _In_opt_ PDRIVER_CANCEL CancelFunction);
/*
 * The driver calls one of these two functions when it has completed CurrentIrp. The function passes the next request to
 * StartIo, if there is one. Cancelable must be TRUE if requests have cancel routines. DISPATCH_LEVEL.
 */
NTKERNELAPI VOID IoStartNextPacket(_In_ PDEVICE_OBJECT DeviceObject, _In_ BOOLEAN Cancelable);
NTKERNELAPI VOID IoStartNextPacketByKey(_In_ PDEVICE_OBJECT DeviceObject, _In_ BOOLEAN Cancelable, _In_ ULONG Key);
/*
 * With DeferredStartIo, StartIo is not called for the next packet until the running call of StartIo has returned. With
 * NonCancelable, the cancel routine of a request is removed when the request leaves the queue. Must be called before
 * the first request. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI VOID IoSetStartIoAttributes(_In_ PDEVICE_OBJECT DeviceObject, _In_ BOOLEAN DeferredStartIo,
                                        _In_ BOOLEAN NonCancelable);

/* The device's own DPC. Its routine receives the device, the request and the context. IRQL <= DISPATCH_LEVEL. */
typedef VOID IO_DPC_ROUTINE(_In_ PKDPC Dpc, _In_ PDEVICE_OBJECT DeviceObject, _Inout_ PIRP Irp, _In_opt_ PVOID Context);
typedef IO_DPC_ROUTINE *PIO_DPC_ROUTINE;

FORCEINLINE VOID IoInitializeDpcRequest(_In_ PDEVICE_OBJECT DeviceObject, _In_ PIO_DPC_ROUTINE DpcRoutine)
{
    KeInitializeDpc(&DeviceObject->Dpc, (PKDEFERRED_ROUTINE)(ULONG_PTR)DpcRoutine, DeviceObject);
}

#define IoRequestDpc(DeviceObject, Irp, Context) KeInsertQueueDpc(&(DeviceObject)->Dpc, (Irp), (Context))

EXTERN_C_END

#endif
