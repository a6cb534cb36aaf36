/* SPDX-License-Identifier: MIT */
/*
 * The routines that a virtual miniport calls. HwDeviceExtension is the pointer that the miniport's routines receive.
 * The IRQL may be up to DISPATCH_LEVEL, except where another IRQL is stated.
 */
#ifndef ONDK_WDK_STORPORT_ROUTINES_H
#define ONDK_WDK_STORPORT_ROUTINES_H

#include "config.h"

EXTERN_C_START

#define STOR_STATUS_SUCCESS 0x00000000
#define STOR_STATUS_UNSUCCESSFUL 0xC1000001
#define STOR_STATUS_NOT_IMPLEMENTED 0xC1000002
#define STOR_STATUS_INSUFFICIENT_RESOURCES 0xC1000003
#define STOR_STATUS_BUFFER_TOO_SMALL 0xC1000004
#define STOR_STATUS_ACCESS_DENIED 0xC1000005
#define STOR_STATUS_INVALID_PARAMETER 0xC1000006
#define STOR_STATUS_INVALID_DEVICE_REQUEST 0xC1000007
#define STOR_STATUS_INVALID_IRQL 0xC1000008
#define STOR_STATUS_INVALID_DEVICE_STATE 0xC1000009
#define STOR_STATUS_INVALID_BUFFER_SIZE 0xC100000A
#define STOR_STATUS_UNSUPPORTED_VERSION 0xC100000B
#define STOR_STATUS_BUSY 0xC100000C

/*
 * Called by DriverEntry. After DriverEntry has returned STATUS_SUCCESS, the port creates one adapter, and sends
 * IRP_MN_START_DEVICE to it: the port's dispatch routine calls HwFindAdapter, HwInitialize, the passive initialization
 * and ScsiQuerySupportedControlTypes, and scans the bus. The unload sends IRP_MN_QUERY_REMOVE_DEVICE and
 * IRP_MN_REMOVE_DEVICE. DriverEntry may replace MajorFunction[IRP_MJ_PNP] by a routine that calls the port's routine. A
 * miniport for hardware is registered but gets no adapter. PASSIVE_LEVEL.
 */
NTKERNELAPI ULONG StorPortInitialize(_In_ PVOID Argument1, _In_ PVOID Argument2,
                                     _In_ struct _HW_INITIALIZATION_DATA *HwInitializationData,
                                     _In_opt_ PVOID HwContext);

typedef enum _SCSI_NOTIFICATION_TYPE {
    RequestComplete,       /* argument: PSCSI_REQUEST_BLOCK or PSTORAGE_REQUEST_BLOCK */
    NextRequest,           /* NextRequest and NextLuRequest have no effect in Storport */
    NextLuRequest,
    ResetDetected,         /* the port driver sends no requests for the time BusResetHoldTime */
    _obsolete1,
    _obsolete2,
    RequestTimerCall,      /* arguments: PHW_TIMER, ULONG microseconds (0 cancels the adapter's only timer) */
    BusChangeDetected,     /* the port driver scans the bus */
    WMIEvent,              /* WMIEvent and WMIReregister have no effect, because there is no WMI */
    WMIReregister,
    LinkUp,                /* the port driver sends requests again */
    LinkDown,              /* the port driver sends no requests until LinkUp */
    QueryTickCount,        /* argument: PLARGE_INTEGER, which receives the count */
    BufferOverrunDetected, /* ends with a bug check */
    TraceNotification,     /* no effect */
    GetExtendedFunctionTable,
    EnablePassiveInitialization = 0x1000,
    InitializeDpc,
    IssueDpc,
    AcquireSpinLock,
    ReleaseSpinLock,
    StateChangeDetectedCall,    /* see StorPortStateChangeDetected; the last argument is a PULONG for the status */
    IoTargetRequestServiceTime, /* no effect */
    AsyncNotificationDetected   /* see StorPortAsyncNotificationDetected; the last argument is a PULONG, too */
} SCSI_NOTIFICATION_TYPE, *PSCSI_NOTIFICATION_TYPE;

/* Types that virtual miniports cannot use, for example InitializeDpc, are reported as a failed assertion. */
NTKERNELAPI VOID StorPortNotification(_In_ SCSI_NOTIFICATION_TYPE NotificationType, _In_ PVOID HwDeviceExtension, ...);

/* ---- Requests and units ------------------------------------------------------------------------------------------ */

NTKERNELAPI PVOID StorPortGetLogicalUnit(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                         _In_ UCHAR Lun);
NTKERNELAPI ULONG StorPortGetSystemAddress(_In_ PVOID HwDeviceExtension, _In_ PSCSI_REQUEST_BLOCK Srb,
                                           _Out_ PVOID *SystemAddress);
NTKERNELAPI ULONG StorPortGetOriginalMdl(_In_ PVOID HwDeviceExtension, _In_ PSCSI_REQUEST_BLOCK Srb,
                                         _Out_ PVOID *Mdl);
/*
 * Completes with SrbStatus all requests of these units that the miniport has received. PathId, TargetId and Lun may
 * each be SP_UNTAGGED, which means all values.
 */
NTKERNELAPI VOID StorPortCompleteRequest(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                         _In_ UCHAR Lun, _In_ UCHAR SrbStatus);

/* Timeouts are in seconds. */
NTKERNELAPI BOOLEAN StorPortPause(_In_ PVOID HwDeviceExtension, _In_ ULONG Timeout);
NTKERNELAPI BOOLEAN StorPortResume(_In_ PVOID HwDeviceExtension);
NTKERNELAPI BOOLEAN StorPortPauseDevice(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                        _In_ UCHAR Lun, _In_ ULONG Timeout);
NTKERNELAPI BOOLEAN StorPortResumeDevice(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                         _In_ UCHAR Lun);
NTKERNELAPI BOOLEAN StorPortBusy(_In_ PVOID HwDeviceExtension, _In_ ULONG RequestsToComplete);
NTKERNELAPI BOOLEAN StorPortReady(_In_ PVOID HwDeviceExtension);
NTKERNELAPI BOOLEAN StorPortDeviceBusy(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                       _In_ UCHAR Lun, _In_ ULONG RequestsToComplete);
NTKERNELAPI BOOLEAN StorPortDeviceReady(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                        _In_ UCHAR Lun);
NTKERNELAPI BOOLEAN StorPortSetDeviceQueueDepth(_In_ PVOID HwDeviceExtension, _In_ UCHAR PathId, _In_ UCHAR TargetId,
                                                _In_ UCHAR Lun, _In_ ULONG Depth);

/* ---- Features, attributes, changes; they return STOR_STATUS_... -------------------------------------------------- */

/* The features are controls that the miniport supports. The port sends none of these controls. */
typedef enum _STORPORT_FEATURE_TYPE {
    StorportFeatureBusTypeUnitControl,
    StorportFeatureFruIdUnitControl,
    StorportFeatureFruIdAdapterControl,
    StorportFeatureSetEventLoggingAdapterControl,
    StorportFeatureReportInternalDataUnitControl,
    StorportFeatureReportInternalDataAdapterControl,
    StorportFeatureResetBusSynchronous,
    StorportFeaturePostHwInitialize,
    StorportFeaturePrepareEarlyDumpData,
    StorportFeatureRestoreEarlyDumpData,
    StorportFeatureMax
} STORPORT_FEATURE_TYPE, *PSTORPORT_FEATURE_TYPE;

/* Accepts the features whose elements are TRUE. Fails outside of HwFindAdapter. */
NTKERNELAPI ULONG StorPortSetFeatureList(_In_ PVOID HwDeviceExtension, _In_ ULONG FeatureCount,
                                         _In_reads_(FeatureCount) PBOOLEAN FeatureList);
/* Sets the type that IOCTL_STORAGE_QUERY_PROPERTY returns for the adapter. Fails outside of HwFindAdapter. */
NTKERNELAPI ULONG StorPortSetAdapterBusType(_In_ PVOID HwDeviceExtension, _In_ STORAGE_BUS_TYPE BusType);
/* Sets Address->Port to N of \Device\RaidPortN. The address must have the type STOR_ADDRESS_TYPE_BTL8. */
NTKERNELAPI ULONG StorPortGetSystemPortNumber(_In_ PVOID HwDeviceExtension, _Inout_ PSTOR_ADDRESS Address);

typedef struct _STOR_UNIT_ATTRIBUTES {
    ULONG DeviceAttentionSupported : 1;
    ULONG AsyncNotificationSupported : 1;
    ULONG D3ColdNotSupported : 1;
    ULONG BypassIOSupported : 1;
    ULONG Reserved : 28;
} STOR_UNIT_ATTRIBUTES, *PSTOR_UNIT_ATTRIBUTES;

/*
 * May be called after the miniport has received the INQUIRY to the unit. The port uses only
 * AsyncNotificationSupported.
 */
NTKERNELAPI ULONG StorPortSetUnitAttributes(_In_ PVOID HwDeviceExtension, _In_ PSTOR_ADDRESS Address,
                                            _In_ STOR_UNIT_ATTRIBUTES Attributes);

#define RAID_ASYNC_NOTIFY_FLAG_MEDIA_STATUS 0x01
#define RAID_ASYNC_NOTIFY_FLAG_DEVICE_STATUS 0x02
#define RAID_ASYNC_NOTIFY_FLAG_DEVICE_OPERATION 0x04
#define RAID_ASYNC_NOTIFY_SUPPORTED_FLAGS \
    (RAID_ASYNC_NOTIFY_FLAG_MEDIA_STATUS | RAID_ASYNC_NOTIFY_FLAG_DEVICE_STATUS | \
     RAID_ASYNC_NOTIFY_FLAG_DEVICE_OPERATION)

/*
 * Makes the port scan the bus. Returns STOR_STATUS_BUSY until the scan after the last notification has ended, and
 * STOR_STATUS_INVALID_DEVICE_REQUEST for a unit that does not exist or has not announced notifications.
 */
NTKERNELAPI ULONG StorPortAsyncNotificationDetected(_In_ PVOID HwDeviceExtension, _In_ PSTOR_ADDRESS Address,
                                                    _In_ ULONGLONG Flags);

#define STATE_CHANGE_LUN 0x1
#define STATE_CHANGE_TARGET 0x2
#define STATE_CHANGE_BUS 0x4
#define ATTRIBUTE_VM_PASSTHROUGH_LUN 0x1

/*
 * Makes the port scan the bus, and then call HwStateChange. *Address must stay unchanged until then. Returns
 * STOR_STATUS_UNSUCCESSFUL before the adapter has started, after its removal has begun, and while the scan for an
 * earlier change has not ended. Attributes has no effect.
 */
NTKERNELAPI ULONG StorPortStateChangeDetected(_In_ PVOID HwDeviceExtension, _In_ ULONG ChangedEntity,
                                              _In_ PSTOR_ADDRESS Address, _In_ ULONG Attributes,
                                              _In_opt_ PHW_STATE_CHANGE HwStateChange,
                                              _In_opt_ PVOID HwStateChangeContext);

/* Completes an IRP that HwProcessServiceRequest has received. The caller must have set the IRP's IoStatus. */
NTKERNELAPI ULONG StorPortCompleteServiceIrp(_In_ PVOID HwDeviceExtension, _In_ PVOID Irp);

/* ---- Errors, messages, time -------------------------------------------------------------------------------------- */

#define SP_BUS_PARITY_ERROR 0x0001
#define SP_UNEXPECTED_DISCONNECT 0x0002
#define SP_INVALID_RESELECTION 0x0003
#define SP_BUS_TIME_OUT 0x0004
#define SP_PROTOCOL_ERROR 0x0005
#define SP_INTERNAL_ADAPTER_ERROR 0x0006
#define SP_REQUEST_TIMEOUT 0x0007
#define SP_IRQ_NOT_RESPONDING 0x0008
#define SP_BAD_FW_WARNING 0x0009
#define SP_BAD_FW_ERROR 0x000a

/* Writes the error to the event log, which is the host's output. */
NTKERNELAPI VOID StorPortLogError(_In_ PVOID HwDeviceExtension, _In_opt_ PSCSI_REQUEST_BLOCK Srb, _In_ UCHAR PathId,
                                  _In_ UCHAR TargetId, _In_ UCHAR Lun, _In_ ULONG ErrorCode, _In_ ULONG UniqueId);
/* Prints the message with any level. */
NTKERNELAPI VOID StorPortDebugPrint(_In_ ULONG DebugPrintLevel, _In_z_ PCCHAR DebugMessage, ...);
NTKERNELAPI VOID StorPortStallExecution(_In_ ULONG Delay);
#define StorPortCopyMemory(destination, source, length) __builtin_memcpy(destination, source, length)
NTKERNELAPI VOID StorPortMoveMemory(_Out_ PVOID WriteBuffer, _In_ PVOID ReadBuffer, _In_ ULONG Length);
NTKERNELAPI VOID StorPortQuerySystemTime(_Out_ PLARGE_INTEGER CurrentTime);
NTKERNELAPI ULONG StorPortQueryPerformanceCounter(_In_ PVOID HwDeviceExtension,
                                                  _Out_opt_ PLARGE_INTEGER PerformanceFrequency,
                                                  _Out_ PLARGE_INTEGER PerformanceCounter);
NTKERNELAPI ULONG StorPortGetCurrentIrql(_In_ PVOID HwDeviceExtension, _Out_ PKIRQL Irql);
/* The physical and the lower device object are the same here. On Windows, PnP creates both of them. */
NTKERNELAPI ULONG StorPortGetDeviceObjects(_In_ PVOID HwDeviceExtension, _Out_ PVOID *AdapterDeviceObject,
                                           _Out_ PVOID *PhysicalDeviceObject, _Out_ PVOID *LowerDeviceObject);

/* ---- Locks, DPCs ------------------------------------------------------------------------------------------------- */

typedef struct _STOR_DPC {
    KDPC Dpc;
    ULONG_PTR Lock;
} STOR_DPC, *PSTOR_DPC;

typedef VOID HW_DPC_ROUTINE(_In_ PSTOR_DPC Dpc, _In_ PVOID HwDeviceExtension, _In_ PVOID SystemArgument1,
                            _In_ PVOID SystemArgument2);
typedef HW_DPC_ROUTINE *PHW_DPC_ROUTINE;

typedef enum _STOR_SPINLOCK { DpcLock = 1, StartIoLock, InterruptLock } STOR_SPINLOCK;

typedef struct _STOR_LOCK_HANDLE {
    STOR_SPINLOCK Lock;
    struct {
        struct {
            PVOID Next;
            PVOID Lock;
        } LockQueue;
        KIRQL OldIrql;
    } Context;
} STOR_LOCK_HANDLE, *PSTOR_LOCK_HANDLE;

NTKERNELAPI BOOLEAN StorPortEnablePassiveInitialization(_In_ PVOID DeviceExtension,
                                                        _In_ PHW_PASSIVE_INITIALIZE_ROUTINE HwPassiveInitializeRoutine);
NTKERNELAPI VOID StorPortInitializeDpc(_In_ PVOID DeviceExtension, _Out_ PSTOR_DPC Dpc,
                                       _In_ PHW_DPC_ROUTINE HwDpcRoutine);
NTKERNELAPI BOOLEAN StorPortIssueDpc(_In_ PVOID DeviceExtension, _In_ PSTOR_DPC Dpc, _In_ PVOID SystemArgument1,
                                     _In_ PVOID SystemArgument2);
NTKERNELAPI ULONG StorPortCancelDpc(_In_ PVOID HwDeviceExtension, _In_ PSTOR_DPC Dpc, _Out_ PBOOLEAN ReturnValue);
/* For DpcLock, LockContext is the STOR_DPC; otherwise it is NULL. */
NTKERNELAPI VOID StorPortAcquireSpinLock(_In_ PVOID DeviceExtension, _In_ STOR_SPINLOCK SpinLock,
                                         _In_opt_ PVOID LockContext, _Inout_ PSTOR_LOCK_HANDLE LockHandle);
NTKERNELAPI VOID StorPortReleaseSpinLock(_In_ PVOID DeviceExtension, _Inout_ PSTOR_LOCK_HANDLE LockHandle);
/* Calls the routine with InterruptLock held. */
NTKERNELAPI BOOLEAN StorPortSynchronizeAccess(_In_ PVOID HwDeviceExtension,
                                              _In_ PSTOR_SYNCHRONIZED_ACCESS SynchronizedAccessRoutine,
                                              _In_opt_ PVOID Context);

/* ---- Memory, timers, work items; all return STOR_STATUS_... ------------------------------------------------------ */

NTKERNELAPI ULONG StorPortAllocatePool(_In_ PVOID HwDeviceExtension, _In_ ULONG NumberOfBytes, _In_ ULONG Tag,
                                       _Out_ PVOID *BufferPointer);
NTKERNELAPI ULONG StorPortFreePool(_In_ PVOID HwDeviceExtension, _In_ PVOID BufferPointer);
NTKERNELAPI ULONG StorPortAllocateMdl(_In_ PVOID HwDeviceExtension, _In_ PVOID BufferPointer, _In_ ULONG NumberOfBytes,
                                      _Out_ PVOID *Mdl);
NTKERNELAPI ULONG StorPortFreeMdl(_In_ PVOID HwDeviceExtension, _In_ PVOID Mdl);
NTKERNELAPI ULONG StorPortBuildMdlForNonPagedPool(_In_ PVOID HwDeviceExtension, _Inout_ PVOID Mdl);

NTKERNELAPI ULONG StorPortInitializeTimer(_In_ PVOID HwDeviceExtension, _Out_ PVOID *TimerHandle);
/* TimerValue is in microseconds; 0 cancels the timer. */
NTKERNELAPI ULONG StorPortRequestTimer(_In_ PVOID HwDeviceExtension, _In_ PVOID TimerHandle,
                                       _In_ PHW_TIMER_EX TimerCallback, _In_opt_ PVOID CallbackContext,
                                       _In_ ULONGLONG TimerValue, _In_ ULONGLONG TolerableDelay);
NTKERNELAPI ULONG StorPortFreeTimer(_In_ PVOID HwDeviceExtension, _In_ PVOID TimerHandle);

NTKERNELAPI ULONG StorPortInitializeWorker(_In_ PVOID HwDeviceExtension, _Out_ PVOID *Worker);
/*
 * Returns STOR_STATUS_INVALID_DEVICE_STATE if the miniport was already notified of the removal of its adapter. After
 * HwFreeAdapterResources, the removal waits for work items that are queued or running.
 */
NTKERNELAPI ULONG StorPortQueueWorkItem(_In_ PVOID HwDeviceExtension, _In_ PHW_WORKITEM WorkItemCallback,
                                        _In_ PVOID Worker, _In_opt_ PVOID Context);
NTKERNELAPI ULONG StorPortFreeWorker(_In_ PVOID HwDeviceExtension, _In_ PVOID Worker);

/* ---- The registry ------------------------------------------------------------------------------------------------ */

/*
 * Read and write a value in the subkey Device of the driver's Parameters key if Global is not 0, and in the adapter's
 * subkey otherwise: Device0 for port 0. Texts are bytes in Buffer; a character that is not ASCII is read as a question
 * mark. Reading fails with *BufferLength 0 if there is no such value or it has another type, and with the size that is
 * needed if it does not fit. PASSIVE_LEVEL.
 */
NTKERNELAPI BOOLEAN StorPortRegistryRead(_In_ PVOID HwDeviceExtension, _In_ PUCHAR ValueName, _In_ ULONG Global,
                                         _In_ ULONG Type, _Out_ PUCHAR Buffer, _Inout_ PULONG BufferLength);
NTKERNELAPI BOOLEAN StorPortRegistryWrite(_In_ PVOID HwDeviceExtension, _In_ PUCHAR ValueName, _In_ ULONG Global,
                                          _In_ ULONG Type, _In_ PUCHAR Buffer, _In_ ULONG BufferLength);
/* An adapter has at most one buffer: a second allocation returns NULL. PASSIVE_LEVEL. */
NTKERNELAPI PUCHAR StorPortAllocateRegistryBuffer(_In_ PVOID HwDeviceExtension, _Inout_ PULONG Length);
NTKERNELAPI VOID StorPortFreeRegistryBuffer(_In_ PVOID HwDeviceExtension, _In_ PUCHAR Buffer);

EXTERN_C_END

#endif
