/* SPDX-License-Identifier: MIT */
/*
 * Control devices and their files. A driver allocates a WDFDEVICE_INIT, sets it up, creates the device, its queues and
 * symbolic link, and calls WdfControlFinishInitializing. The framework deletes the device after EvtDriverUnload, unless
 * the driver has deleted it.
 */
#ifndef ONDK_WDK_WDF_DEVICE_H
#define ONDK_WDK_WDF_DEVICE_H

#include "driver.h"

EXTERN_C_START

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

typedef enum _WDF_DEVICE_IO_TYPE {
    WdfDeviceIoUndefined = 0,
    WdfDeviceIoNeither,
    WdfDeviceIoBuffered,
    WdfDeviceIoDirect,
    WdfDeviceIoBufferedOrDirect = 4,
    WdfDeviceIoMaximum
} WDF_DEVICE_IO_TYPE, *PWDF_DEVICE_IO_TYPE;

typedef enum _WDF_FILEOBJECT_CLASS {
    WdfFileObjectInvalid = 0,
    WdfFileObjectNotRequired = 1,
    WdfFileObjectWdfCanUseFsContext = 2,
    WdfFileObjectWdfCanUseFsContext2 = 3,
    WdfFileObjectWdfCannotUseFsContexts = 4,
    WdfFileObjectCanBeOptional = (int)0x80000000
} WDF_FILEOBJECT_CLASS, *PWDF_FILEOBJECT_CLASS;

typedef enum _WDF_DEVICE_SHUTDOWN_FLAGS {
    WdfDeviceShutdown = 0x01,
    WdfDeviceLastChanceShutdown = 0x02
} WDF_DEVICE_SHUTDOWN_FLAGS;

/*
 * Called at PASSIVE_LEVEL on the thread that opens the device. The driver completes the request, now or later. If the
 * status is an error, the framework deletes the file object without further file callbacks.
 */
typedef VOID EVT_WDF_DEVICE_FILE_CREATE(_In_ WDFDEVICE Device, _In_ WDFREQUEST Request, _In_ WDFFILEOBJECT FileObject);
typedef EVT_WDF_DEVICE_FILE_CREATE *PFN_WDF_DEVICE_FILE_CREATE;
/*
 * Called at PASSIVE_LEVEL when the last handle is closed. Afterwards the framework cancels the file's requests that
 * wait in queues.
 */
typedef VOID EVT_WDF_FILE_CLEANUP(_In_ WDFFILEOBJECT FileObject);
typedef EVT_WDF_FILE_CLEANUP *PFN_WDF_FILE_CLEANUP;
/* Called at PASSIVE_LEVEL when all requests of the file have completed. Afterwards the file object is deleted. */
typedef VOID EVT_WDF_FILE_CLOSE(_In_ WDFFILEOBJECT FileObject);
typedef EVT_WDF_FILE_CLOSE *PFN_WDF_FILE_CLOSE;
/*
 * Called for each read, write and device control, on the sender's thread and at its IRQL, before the request enters a
 * queue. The callback completes the request or calls WdfDeviceEnqueueRequest.
 */
typedef VOID EVT_WDF_IO_IN_CALLER_CONTEXT(_In_ WDFDEVICE Device, _In_ WDFREQUEST Request);
typedef EVT_WDF_IO_IN_CALLER_CONTEXT *PFN_WDF_IO_IN_CALLER_CONTEXT;
/* Called at PASSIVE_LEVEL when the system shuts down. */
typedef VOID EVT_WDF_DEVICE_SHUTDOWN_NOTIFICATION(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_SHUTDOWN_NOTIFICATION *PFN_WDF_DEVICE_SHUTDOWN_NOTIFICATION;

/*
 * Called for an IRP before the framework handles it, at the sender's IRQL. The routine completes the IRP, or calls
 * IoSkipCurrentIrpStackLocation or IoCopyCurrentIrpStackLocationToNext, and then WdfDeviceWdmDispatchPreprocessedIrp.
 */
typedef NTSTATUS EVT_WDFDEVICE_WDM_IRP_PREPROCESS(_In_ WDFDEVICE Device, _Inout_ PIRP Irp);
typedef EVT_WDFDEVICE_WDM_IRP_PREPROCESS *PFN_WDFDEVICE_WDM_IRP_PREPROCESS;

/* A control device has no device below it, so AutoForwardCleanupClose must not be WdfTrue. */
typedef struct _WDF_FILEOBJECT_CONFIG {
    ULONG Size;
    PFN_WDF_DEVICE_FILE_CREATE EvtDeviceFileCreate;
    PFN_WDF_FILE_CLOSE EvtFileClose;
    PFN_WDF_FILE_CLEANUP EvtFileCleanup;
    WDF_TRI_STATE AutoForwardCleanupClose;
    WDF_FILEOBJECT_CLASS FileObjectClass;
} WDF_FILEOBJECT_CONFIG, *PWDF_FILEOBJECT_CONFIG;

FORCEINLINE VOID WDF_FILEOBJECT_CONFIG_INIT(_Out_ PWDF_FILEOBJECT_CONFIG FileEventCallbacks,
                                            _In_opt_ PFN_WDF_DEVICE_FILE_CREATE EvtDeviceFileCreate,
                                            _In_opt_ PFN_WDF_FILE_CLOSE EvtFileClose,
                                            _In_opt_ PFN_WDF_FILE_CLEANUP EvtFileCleanup)
{
    RtlZeroMemory(FileEventCallbacks, sizeof(*FileEventCallbacks));
    FileEventCallbacks->Size = sizeof(*FileEventCallbacks);
    FileEventCallbacks->FileObjectClass = WdfFileObjectWdfCannotUseFsContexts;
    FileEventCallbacks->EvtDeviceFileCreate = EvtDeviceFileCreate;
    FileEventCallbacks->EvtFileClose = EvtFileClose;
    FileEventCallbacks->EvtFileCleanup = EvtFileCleanup;
    FileEventCallbacks->AutoForwardCleanupClose = WdfUseDefault;
}

typedef struct _WDF_IO_TYPE_CONFIG {
    ULONG Size;
    WDF_DEVICE_IO_TYPE ReadWriteIoType;
    WDF_DEVICE_IO_TYPE DeviceControlIoType;
    ULONG DirectTransferThreshold;
} WDF_IO_TYPE_CONFIG, *PWDF_IO_TYPE_CONFIG;

FORCEINLINE VOID WDF_IO_TYPE_CONFIG_INIT(_Out_ PWDF_IO_TYPE_CONFIG IoTypeConfig)
{
    RtlZeroMemory(IoTypeConfig, sizeof(*IoTypeConfig));
    IoTypeConfig->Size = sizeof(*IoTypeConfig);
    IoTypeConfig->ReadWriteIoType = WdfDeviceIoBuffered;
    IoTypeConfig->DeviceControlIoType = WdfDeviceIoBuffered;
}

/* ---- Initialization ---------------------------------------------------------------------------------------------- */

/*
 * Returns NULL if out of memory. SDDLString is the device's security descriptor (wdmsec.h). WdfDeviceCreate consumes
 * the structure; after a failure the driver must free the structure. A structure that is not freed is reported at
 * unload. PASSIVE_LEVEL.
 */
NTKERNELAPI PWDFDEVICE_INIT WdfControlDeviceInitAllocate(_In_ WDFDRIVER Driver, _In_ CONST UNICODE_STRING *SDDLString);
NTKERNELAPI VOID WdfDeviceInitFree(_In_ PWDFDEVICE_INIT DeviceInit);
/*
 * NULL removes the name. If a control device has no name, the system makes one, and the device cannot have a symbolic
 * link. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceInitAssignName(_In_ PWDFDEVICE_INIT DeviceInit, _In_opt_ PCUNICODE_STRING DeviceName);
/* The descriptor's syntax is checked when the device is created. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfDeviceInitAssignSDDLString(_In_ PWDFDEVICE_INIT DeviceInit,
                                                   _In_opt_ PCUNICODE_STRING SDDLString);
/* Sets how reads and writes pass their buffers. The default is WdfDeviceIoBuffered. */
NTKERNELAPI VOID WdfDeviceInitSetIoType(_In_ PWDFDEVICE_INIT DeviceInit, _In_ WDF_DEVICE_IO_TYPE IoType);
/*
 * Uses only ReadWriteIoType, because each control code selects its own method. WdfDeviceIoBufferedOrDirect means direct
 * here.
 */
NTKERNELAPI VOID WdfDeviceInitSetIoTypeEx(_In_ PWDFDEVICE_INIT DeviceInit, _In_ PWDF_IO_TYPE_CONFIG IoTypeConfig);
NTKERNELAPI VOID WdfDeviceInitSetExclusive(_In_ PWDFDEVICE_INIT DeviceInit, _In_ BOOLEAN IsExclusive);
NTKERNELAPI VOID WdfDeviceInitSetDeviceType(_In_ PWDFDEVICE_INIT DeviceInit, _In_ DEVICE_TYPE DeviceType);
/* The class selects registry values on Windows. Here a device with a class only needs a name: see WdfDeviceCreate. */
NTKERNELAPI VOID WdfDeviceInitSetDeviceClass(_In_ PWDFDEVICE_INIT DeviceInit, _In_ CONST GUID *DeviceClassGuid);
NTKERNELAPI VOID WdfDeviceInitSetCharacteristics(_In_ PWDFDEVICE_INIT DeviceInit, _In_ ULONG DeviceCharacteristics,
                                                 _In_ BOOLEAN OrInValues);
NTKERNELAPI VOID WdfDeviceInitSetFileObjectConfig(_In_ PWDFDEVICE_INIT DeviceInit,
                                                  _In_ PWDF_FILEOBJECT_CONFIG FileObjectConfig,
                                                  _In_opt_ PWDF_OBJECT_ATTRIBUTES FileObjectAttributes);
/* The attributes of the requests that the framework creates. */
NTKERNELAPI VOID WdfDeviceInitSetRequestAttributes(_In_ PWDFDEVICE_INIT DeviceInit,
                                                   _In_ PWDF_OBJECT_ATTRIBUTES RequestAttributes);
NTKERNELAPI VOID WdfDeviceInitSetIoInCallerContextCallback(_In_ PWDFDEVICE_INIT DeviceInit,
                                                           _In_ PFN_WDF_IO_IN_CALLER_CONTEXT EvtIoInCallerContext);
/* If MinorFunctions is NULL, the callback is for all minor functions. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfDeviceInitAssignWdmIrpPreprocessCallback(
    _In_ PWDFDEVICE_INIT DeviceInit, _In_ PFN_WDFDEVICE_WDM_IRP_PREPROCESS EvtDeviceWdmIrpPreprocess,
    _In_ UCHAR MajorFunction, _In_opt_ PUCHAR MinorFunctions, _In_ ULONG NumMinorFunctions);
/* ShutdownFlags combines WDF_DEVICE_SHUTDOWN_FLAGS. Both flags together cause only one notification here. */
NTKERNELAPI VOID WdfControlDeviceInitSetShutdownNotification(_In_ PWDFDEVICE_INIT DeviceInit,
                                                             _In_ PFN_WDF_DEVICE_SHUTDOWN_NOTIFICATION Notification,
                                                             _In_ UCHAR ShutdownFlags);

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/*
 * Creates a control device, or the device of EvtDriverDeviceAdd (pnp.h), and sets *DeviceInit to NULL. The parent is
 * the driver; the attributes must not name one. Returns STATUS_OBJECT_NAME_COLLISION if another device has the name.
 * Returns STATUS_INVALID_SECURITY_DESCR if a device without a name has a class or has a descriptor of
 * WdfDeviceInitAssignSDDLString. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceCreate(_Inout_ PWDFDEVICE_INIT *DeviceInit,
                                     _In_opt_ PWDF_OBJECT_ATTRIBUTES DeviceAttributes, _Out_ WDFDEVICE *Device);
/*
 * Creates the device's only symbolic link, which is removed with the device. Returns STATUS_INVALID_DEVICE_REQUEST for
 * a second link, or if a control device has no name. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceCreateSymbolicLink(_In_ WDFDEVICE Device, _In_ PCUNICODE_STRING SymbolicLinkName);
/* Before this call every open fails with STATUS_NO_SUCH_DEVICE. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI VOID WdfControlFinishInitializing(_In_ WDFDEVICE Device);
NTKERNELAPI PDEVICE_OBJECT WdfDeviceWdmGetDeviceObject(_In_ WDFDEVICE Device);
/* Returns NULL if no driver of the framework has created the device. */
NTKERNELAPI WDFDEVICE WdfWdmDeviceGetWdfDeviceHandle(_In_ PDEVICE_OBJECT DeviceObject);
NTKERNELAPI WDFDRIVER WdfDeviceGetDriver(_In_ WDFDEVICE Device);
/* Returns NULL if the device has no default queue. */
NTKERNELAPI WDFQUEUE WdfDeviceGetDefaultQueue(_In_ WDFDEVICE Device);
NTKERNELAPI ULONG WdfDeviceGetCharacteristics(_In_ WDFDEVICE Device);
NTKERNELAPI VOID WdfDeviceSetCharacteristics(_In_ WDFDEVICE Device, _In_ ULONG DeviceCharacteristics);
/* Copies the device's name to a string object. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfDeviceRetrieveDeviceName(_In_ WDFDEVICE Device, _In_ WDFSTRING String);
/*
 * Puts a request into its queue. Only for EvtIoInCallerContext. On failure the callback completes the request:
 * STATUS_INVALID_DEVICE_REQUEST (no queue), STATUS_WDF_BUSY (the queue accepts no requests). IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceEnqueueRequest(_In_ WDFDEVICE Device, _In_ WDFREQUEST Request);

/*
 * Makes the framework handle an IRP that EvtDeviceWdmIrpPreprocess has received. That callback must return the result.
 */
NTKERNELAPI NTSTATUS WdfDeviceWdmDispatchPreprocessedIrp(_In_ WDFDEVICE Device, _Inout_ PIRP Irp);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Returns NULL if there is no framework file object for the file. */
NTKERNELAPI WDFFILEOBJECT WdfDeviceGetFileObject(_In_ WDFDEVICE Device, _In_ PFILE_OBJECT FileObject);
/*
 * Returns the part of the opened name behind the device's name, for example "\a" if a program opens \Device\X\a.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI PUNICODE_STRING WdfFileObjectGetFileName(_In_ WDFFILEOBJECT FileObject);
NTKERNELAPI ULONG WdfFileObjectGetFlags(_In_ WDFFILEOBJECT FileObject);
NTKERNELAPI WDFDEVICE WdfFileObjectGetDevice(_In_ WDFFILEOBJECT FileObject);
NTKERNELAPI PFILE_OBJECT WdfFileObjectWdmGetFileObject(_In_ WDFFILEOBJECT FileObject);

EXTERN_C_END

#endif
