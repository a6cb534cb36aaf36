/* SPDX-License-Identifier: MIT */
/*
 * Drivers, devices, IRPs, files. Layouts are those of 64-bit Windows as far as drivers can observe them.
 */
#ifndef ONDK_WDK_WDM_IO_H
#define ONDK_WDK_WDM_IO_H

#include "../ntdef.h"
#include "pnp.h"
#include "../ntstatus.h"
#include "devicequeue.h"
#include "dispatcher.h"
#include "iocodes.h"
#include "mdl.h"
#include "timer.h"

EXTERN_C_START

typedef struct _DRIVER_OBJECT *PDRIVER_OBJECT;
typedef struct _DEVICE_OBJECT *PDEVICE_OBJECT;
typedef struct _FILE_OBJECT *PFILE_OBJECT;
typedef struct _IRP *PIRP;
typedef struct _IO_STACK_LOCATION *PIO_STACK_LOCATION;
typedef struct _IO_SECURITY_CONTEXT *PIO_SECURITY_CONTEXT;
typedef struct _VPB *PVPB;
typedef struct _IO_TIMER *PIO_TIMER;
typedef struct _FAST_IO_DISPATCH *PFAST_IO_DISPATCH;
typedef struct _SECTION_OBJECT_POINTERS *PSECTION_OBJECT_POINTERS;
typedef PVOID PSECURITY_DESCRIPTOR;
struct _ETHREAD;
struct _OBJECT_TYPE;

#define POINTER_ALIGNMENT DECLSPEC_ALIGN(8)
typedef ULONG DEVICE_TYPE;

/* ---- Routines of a driver --------------------------------------------------------------------------------------- */

typedef struct _IO_STATUS_BLOCK {
    __extension__ union {
        NTSTATUS Status;
        PVOID Pointer;
    };
    ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

typedef NTSTATUS DRIVER_INITIALIZE(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);
typedef DRIVER_INITIALIZE *PDRIVER_INITIALIZE;
typedef VOID DRIVER_UNLOAD(PDRIVER_OBJECT DriverObject);
typedef DRIVER_UNLOAD *PDRIVER_UNLOAD;
typedef NTSTATUS DRIVER_ADD_DEVICE(PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT PhysicalDeviceObject);
typedef DRIVER_ADD_DEVICE *PDRIVER_ADD_DEVICE;
typedef NTSTATUS DRIVER_DISPATCH(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef DRIVER_DISPATCH *PDRIVER_DISPATCH;
typedef DRIVER_DISPATCH DRIVER_DISPATCH_RAISED, DRIVER_DISPATCH_PAGED;
typedef VOID DRIVER_CANCEL(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef DRIVER_CANCEL *PDRIVER_CANCEL;
typedef VOID DRIVER_STARTIO(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef DRIVER_STARTIO *PDRIVER_STARTIO;
/* A completion routine returns STATUS_CONTINUE_COMPLETION or STATUS_MORE_PROCESSING_REQUIRED. */
#define STATUS_CONTINUE_COMPLETION STATUS_SUCCESS
typedef enum _IO_COMPLETION_ROUTINE_RESULT {
    ContinueCompletion = STATUS_CONTINUE_COMPLETION,
    StopCompletion = STATUS_MORE_PROCESSING_REQUIRED,
} IO_COMPLETION_ROUTINE_RESULT, *PIO_COMPLETION_ROUTINE_RESULT;

typedef NTSTATUS IO_COMPLETION_ROUTINE(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context);
typedef IO_COMPLETION_ROUTINE *PIO_COMPLETION_ROUTINE;
typedef VOID IO_APC_ROUTINE(PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock, ULONG Reserved);
typedef IO_APC_ROUTINE *PIO_APC_ROUTINE;

/*
 * The loader finds DriverEntry by its name, so the function must be visible with any compiler flags. The declaration
 * has no parameters, because some drivers declare the first one as PVOID. ndk-cc leaves out the declaration in C with
 * ONDK_OWN_DRIVER_ENTRY, because older Storport miniports return a ULONG.
 */
#ifdef __cplusplus
NTKERNELAPI DRIVER_INITIALIZE DriverEntry;
#elif !defined(ONDK_OWN_DRIVER_ENTRY)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
NTKERNELAPI NTSTATUS DriverEntry();
#pragma GCC diagnostic pop
#endif

/* ---- Objects ---------------------------------------------------------------------------------------------------- */

typedef struct _DRIVER_EXTENSION {
    PDRIVER_OBJECT DriverObject;
    PDRIVER_ADD_DEVICE AddDevice;
    ULONG Count;
    UNICODE_STRING ServiceKeyName;
} DRIVER_EXTENSION, *PDRIVER_EXTENSION;

typedef struct _DRIVER_OBJECT {
    CSHORT Type;
    CSHORT Size;
    PDEVICE_OBJECT DeviceObject; /* the newest device; NextDevice links the others */
    ULONG Flags;
    PVOID DriverStart;
    ULONG DriverSize;
    PVOID DriverSection;
    PDRIVER_EXTENSION DriverExtension;
    UNICODE_STRING DriverName;
    PUNICODE_STRING HardwareDatabase;
    PFAST_IO_DISPATCH FastIoDispatch;
    PDRIVER_INITIALIZE DriverInit;
    PDRIVER_STARTIO DriverStartIo;
    PDRIVER_UNLOAD DriverUnload;
    PDRIVER_DISPATCH MajorFunction[IRP_MJ_MAXIMUM_FUNCTION + 1];
} DRIVER_OBJECT;

typedef struct DECLSPEC_ALIGN(16) _DEVICE_OBJECT {
    CSHORT Type;
    USHORT Size;
    LONG ReferenceCount; /* number of open handles */
    PDRIVER_OBJECT DriverObject;
    PDEVICE_OBJECT NextDevice;
    PDEVICE_OBJECT AttachedDevice;
    PIRP CurrentIrp;
    PIO_TIMER Timer;
    ULONG Flags;
    ULONG Characteristics;
    PVPB Vpb;
    PVOID DeviceExtension;
    DEVICE_TYPE DeviceType;
    CCHAR StackSize;
    union {
        LIST_ENTRY ListEntry;
        UCHAR Wcb[72];
    } Queue;
    ULONG AlignmentRequirement;
    KDEVICE_QUEUE DeviceQueue;
    KDPC Dpc;
    ULONG ActiveThreadCount;
    PSECURITY_DESCRIPTOR SecurityDescriptor;
    KEVENT DeviceLock;
    USHORT SectorSize;
    USHORT Spare1;
    PVOID DeviceObjectExtension;
    PVOID Reserved;
} DEVICE_OBJECT;

typedef struct _FILE_OBJECT {
    CSHORT Type;
    CSHORT Size;
    PDEVICE_OBJECT DeviceObject;
    PVPB Vpb;
    PVOID FsContext;
    PVOID FsContext2;
    PSECTION_OBJECT_POINTERS SectionObjectPointer;
    PVOID PrivateCacheMap;
    NTSTATUS FinalStatus;
    struct _FILE_OBJECT *RelatedFileObject;
    BOOLEAN LockOperation;
    BOOLEAN DeletePending;
    BOOLEAN ReadAccess;
    BOOLEAN WriteAccess;
    BOOLEAN DeleteAccess;
    BOOLEAN SharedRead;
    BOOLEAN SharedWrite;
    BOOLEAN SharedDelete;
    ULONG Flags;
    UNICODE_STRING FileName; /* the part of the name after the device's name */
    LARGE_INTEGER CurrentByteOffset;
    ULONG Waiters;
    ULONG Busy;
    PVOID LastLock;
    KEVENT Lock;
    KEVENT Event;
    PVOID CompletionContext;
    ULONG_PTR IrpListLock;
    LIST_ENTRY IrpList;
    PVOID FileObjectExtension;
} FILE_OBJECT;

/* AccessState is NULL: see wdm/access.h for which opens are checked. */
typedef struct _IO_SECURITY_CONTEXT {
    PVOID SecurityQos;
    struct _ACCESS_STATE *AccessState;
    ACCESS_MASK DesiredAccess;
    ULONG FullCreateOptions;
} IO_SECURITY_CONTEXT;

typedef struct DECLSPEC_ALIGN(16) _IRP {
    CSHORT Type;
    USHORT Size;
    USHORT AllocationProcessorNumber;
    USHORT Reserved;
    PMDL MdlAddress;
    ULONG Flags;
    union {
        struct _IRP *MasterIrp;
        volatile LONG IrpCount;
        PVOID SystemBuffer;
    } AssociatedIrp;
    LIST_ENTRY ThreadListEntry;
    IO_STATUS_BLOCK IoStatus;
    KPROCESSOR_MODE RequestorMode;
    BOOLEAN PendingReturned;
    CHAR StackCount;
    CHAR CurrentLocation;
    BOOLEAN Cancel;
    KIRQL CancelIrql;
    CCHAR ApcEnvironment;
    UCHAR AllocationFlags;
    PIO_STATUS_BLOCK UserIosb;
    PKEVENT UserEvent;
    union {
        struct {
            PIO_APC_ROUTINE UserApcRoutine;
            PVOID UserApcContext;
        } AsynchronousParameters;
        LARGE_INTEGER AllocationSize;
    } Overlay;
    volatile PDRIVER_CANCEL CancelRoutine;
    PVOID UserBuffer;
    union {
        struct {
            __extension__ union {
                KDEVICE_QUEUE_ENTRY DeviceQueueEntry; /* while the IRP waits for StartIo */
                PVOID DriverContext[4];
            };
            struct _ETHREAD *Thread;
            PCHAR AuxiliaryBuffer;
            LIST_ENTRY ListEntry;
            PIO_STACK_LOCATION CurrentStackLocation;
            PFILE_OBJECT OriginalFileObject;
        } Overlay;
        PVOID CompletionKey;
    } Tail;
} IRP;

typedef struct _IO_STACK_LOCATION {
    UCHAR MajorFunction;
    UCHAR MinorFunction;
    UCHAR Flags;
    UCHAR Control;
    union {
        struct {
            PIO_SECURITY_CONTEXT SecurityContext;
            ULONG Options;
            USHORT POINTER_ALIGNMENT FileAttributes;
            USHORT ShareAccess;
            ULONG POINTER_ALIGNMENT EaLength;
        } Create;
        struct {
            ULONG Length;
            ULONG POINTER_ALIGNMENT Key;
            LARGE_INTEGER ByteOffset;
        } Read;
        struct {
            ULONG Length;
            ULONG POINTER_ALIGNMENT Key;
            LARGE_INTEGER ByteOffset;
        } Write;
        struct {
            ULONG OutputBufferLength;
            ULONG POINTER_ALIGNMENT InputBufferLength;
            ULONG POINTER_ALIGNMENT IoControlCode;
            PVOID Type3InputBuffer;
        } DeviceIoControl;
        struct {
            ULONG OutputBufferLength;
            ULONG POINTER_ALIGNMENT InputBufferLength;
            ULONG POINTER_ALIGNMENT FsControlCode;
            PVOID Type3InputBuffer;
        } FileSystemControl;
        struct {
            ULONG Length;
            ULONG POINTER_ALIGNMENT FileInformationClass;
        } QueryFile;
        struct {
            ULONG Length;
            ULONG POINTER_ALIGNMENT FsInformationClass;
        } QueryVolume;
        struct {
            ULONG Length;
            ULONG POINTER_ALIGNMENT FileInformationClass;
            struct _FILE_OBJECT *FileObject;
            union {
                struct {
                    BOOLEAN ReplaceIfExists;
                    BOOLEAN AdvanceOnly;
                };
                ULONG ClusterCount;
                HANDLE DeleteHandle;
            };
        } SetFile;
        struct {
            DEVICE_RELATION_TYPE Type;
        } QueryDeviceRelations;
        struct {
            PDEVICE_CAPABILITIES Capabilities;
        } DeviceCapabilities;
        struct {
            BUS_QUERY_ID_TYPE IdType;
        } QueryId;
        struct {
            BOOLEAN InPath;
            BOOLEAN Reserved[3];
            DEVICE_USAGE_NOTIFICATION_TYPE POINTER_ALIGNMENT Type;
        } UsageNotification;
        struct {
            ULONG SystemContext;
            POWER_STATE_TYPE POINTER_ALIGNMENT Type;
            POWER_STATE POINTER_ALIGNMENT State;
            POWER_ACTION POINTER_ALIGNMENT ShutdownType;
        } Power;
        struct {
            ULONG_PTR ProviderId;
            PVOID DataPath;
            ULONG BufferSize;
            PVOID Buffer;
        } WMI;
        struct {
            PVOID Argument1;
            PVOID Argument2;
            PVOID Argument3;
            PVOID Argument4;
        } Others;
    } Parameters;
    PDEVICE_OBJECT DeviceObject;
    PFILE_OBJECT FileObject;
    PIO_COMPLETION_ROUTINE CompletionRoutine;
    PVOID Context;
} IO_STACK_LOCATION;

typedef struct _IO_ERROR_LOG_PACKET {
    UCHAR MajorFunctionCode;
    UCHAR RetryCount;
    USHORT DumpDataSize;
    USHORT NumberOfStrings;
    USHORT StringOffset;
    USHORT EventCategory;
    NTSTATUS ErrorCode;
    ULONG UniqueErrorValue;
    NTSTATUS FinalStatus;
    ULONG SequenceNumber;
    ULONG IoControlCode;
    LARGE_INTEGER DeviceOffset;
    ULONG DumpData[1];
} IO_ERROR_LOG_PACKET, *PIO_ERROR_LOG_PACKET;
#define ERROR_LOG_MAXIMUM_SIZE 240

C_ASSERT(sizeof(IO_STACK_LOCATION) == 72);
C_ASSERT(offsetof(DRIVER_OBJECT, MajorFunction) == 112);
C_ASSERT(offsetof(IRP, Tail) == 120);
C_ASSERT(offsetof(DEVICE_OBJECT, DeviceQueue) == 0xa0);

C_ASSERT(sizeof(IO_STATUS_BLOCK) == 16);

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

extern NTKERNELAPI struct _OBJECT_TYPE **IoFileObjectType, **IoDeviceObjectType, **IoDriverObjectType;

/*
 * The name may be NULL. FILE_AUTOGENERATED_DEVICE_NAME generates a name. A device that is created outside of
 * DriverEntry cannot be opened until the driver clears DO_DEVICE_INITIALIZING. IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS IoCreateDevice(_In_ PDRIVER_OBJECT DriverObject, _In_ ULONG DeviceExtensionSize,
                                    _In_opt_ PUNICODE_STRING DeviceName, _In_ DEVICE_TYPE DeviceType,
                                    _In_ ULONG DeviceCharacteristics, _In_ BOOLEAN Exclusive,
                                    _Out_ PDEVICE_OBJECT *DeviceObject);
/* If the device is open, it is deleted after its last close. IRQL <= APC_LEVEL. */
NTKERNELAPI VOID IoDeleteDevice(_In_ PDEVICE_OBJECT DeviceObject);

/* PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS IoCreateSymbolicLink(_In_ PUNICODE_STRING SymbolicLinkName, _In_ PUNICODE_STRING DeviceName);
NTKERNELAPI NTSTATUS IoCreateUnprotectedSymbolicLink(_In_ PUNICODE_STRING SymbolicLinkName,
                                                     _In_ PUNICODE_STRING DeviceName);
NTKERNELAPI NTSTATUS IoDeleteSymbolicLink(_In_ PUNICODE_STRING SymbolicLinkName);

/*
 * Opens the device. The caller must release it with ObDereferenceObject(*FileObject). *DeviceObject is the top of the
 * device's stack; the caller has no separate reference on it. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoGetDeviceObjectPointer(_In_ PUNICODE_STRING ObjectName, _In_ ACCESS_MASK DesiredAccess,
                                              _Out_ PFILE_OBJECT *FileObject, _Out_ PDEVICE_OBJECT *DeviceObject);
NTKERNELAPI PDEVICE_OBJECT IoGetRelatedDeviceObject(_In_ PFILE_OBJECT FileObject);

/*
 * These routines attach and detach the devices of a stack. IRQL <= DISPATCH_LEVEL; IoAttachDevice requires
 * PASSIVE_LEVEL.
 */
NTKERNELAPI PDEVICE_OBJECT IoAttachDeviceToDeviceStack(_In_ PDEVICE_OBJECT SourceDevice,
                                                       _In_ PDEVICE_OBJECT TargetDevice);
/*
 * Works like IoAttachDeviceToDeviceStack, but returns a status. A request may arrive before *AttachedToDeviceObject is
 * written, unlike on Windows.
 */
FORCEINLINE NTSTATUS IoAttachDeviceToDeviceStackSafe(_In_ PDEVICE_OBJECT SourceDevice, _In_ PDEVICE_OBJECT TargetDevice,
                                                     _Inout_ PDEVICE_OBJECT *AttachedToDeviceObject)
{
    *AttachedToDeviceObject = IoAttachDeviceToDeviceStack(SourceDevice, TargetDevice);
    return *AttachedToDeviceObject ? STATUS_SUCCESS : STATUS_NO_SUCH_DEVICE;
}
NTKERNELAPI NTSTATUS IoAttachDevice(_In_ PDEVICE_OBJECT SourceDevice, _In_ PUNICODE_STRING TargetDevice,
                                    _Out_ PDEVICE_OBJECT *AttachedDevice);
NTKERNELAPI VOID IoDetachDevice(_Inout_ PDEVICE_OBJECT TargetDevice);
NTKERNELAPI PDEVICE_OBJECT IoGetAttachedDevice(_In_ PDEVICE_OBJECT DeviceObject);
NTKERNELAPI PDEVICE_OBJECT IoGetAttachedDeviceReference(_In_ PDEVICE_OBJECT DeviceObject);
/*
 * IoGetDeviceAttachmentBaseRef returns the lowest device of the stack. IoGetLowerDeviceObject returns the next lower
 * device, or NULL if there is none. The caller dereferences the device.
 */
NTKERNELAPI PDEVICE_OBJECT IoGetDeviceAttachmentBaseRef(_In_ PDEVICE_OBJECT DeviceObject);
NTKERNELAPI PDEVICE_OBJECT IoGetLowerDeviceObject(_In_ PDEVICE_OBJECT DeviceObject);

/*
 * Allocates memory that the driver can find again by a key, which is an address of the driver's choice. The memory is
 * freed when the driver is unloaded. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS IoAllocateDriverObjectExtension(_In_ PDRIVER_OBJECT DriverObject,
                                                     _In_ PVOID ClientIdentificationAddress,
                                                     _In_ ULONG DriverObjectExtensionSize,
                                                     _Out_ PVOID *DriverObjectExtension);
NTKERNELAPI PVOID IoGetDriverObjectExtension(_In_ PDRIVER_OBJECT DriverObject, _In_ PVOID ClientIdentificationAddress);

/* Registers for IRP_MJ_SHUTDOWN, which the host sends with ondk_wdk_shutdown. PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS IoRegisterShutdownNotification(_In_ PDEVICE_OBJECT DeviceObject);
NTKERNELAPI NTSTATUS IoRegisterLastChanceShutdownNotification(_In_ PDEVICE_OBJECT DeviceObject);
NTKERNELAPI VOID IoUnregisterShutdownNotification(_In_ PDEVICE_OBJECT DeviceObject);

/*
 * The event log is the host's output. IoObject is a driver or a device. An entry must be written or freed.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI PVOID IoAllocateErrorLogEntry(_In_ PVOID IoObject, _In_ UCHAR EntrySize);
NTKERNELAPI VOID IoFreeErrorLogEntry(_In_ PVOID ElEntry);
NTKERNELAPI VOID IoWriteErrorLogEntry(_In_ PVOID ElEntry);

/* ---- Events that drivers share by name -------------------------------------------------------------------------- */

extern NTKERNELAPI struct _OBJECT_TYPE **ExEventObjectType;

/*
 * Opens the event of that name, or creates it in the signaled state if it does not exist. The event exists until its
 * last handle is closed (ZwClose). Returns NULL if the name does not begin with a backslash, or if out of memory.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI PKEVENT IoCreateNotificationEvent(_In_ PUNICODE_STRING EventName, _Out_ PHANDLE EventHandle);
NTKERNELAPI PKEVENT IoCreateSynchronizationEvent(_In_ PUNICODE_STRING EventName, _Out_ PHANDLE EventHandle);

/* Always returns FALSE, because all processes are 64-bit processes. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI BOOLEAN IoIs32bitProcess(_In_opt_ PIRP Irp);

typedef struct _GENERIC_MAPPING {
    ACCESS_MASK GenericRead;
    ACCESS_MASK GenericWrite;
    ACCESS_MASK GenericExecute;
    ACCESS_MASK GenericAll;
} GENERIC_MAPPING, *PGENERIC_MAPPING;
/* Returns the rights to a file for which GENERIC_READ and the other generic rights stand. PASSIVE_LEVEL. */
NTKERNELAPI PGENERIC_MAPPING IoGetFileObjectGenericMapping(VOID);

/* ---- IRPs ------------------------------------------------------------------------------------------------------- */

/*
 * Returns the value that IoSetTopLevelIrp has set for the calling thread, at first NULL. The kernel does not use it.
 * IRQL <= APC_LEVEL.
 */
NTKERNELAPI PIRP IoGetTopLevelIrp(VOID);
NTKERNELAPI VOID IoSetTopLevelIrp(_In_opt_ PIRP Irp);

/*
 * Returns UserMode while the thread carries out a request of the host program, otherwise KernelMode.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI KPROCESSOR_MODE ExGetPreviousMode(VOID);

#define IoAdjustPagingPathCount(count, paging) \
    ((paging) ? (VOID)InterlockedIncrement(count) : (VOID)InterlockedDecrement(count))

#define IoSizeOfIrp(locations) ((USHORT)(sizeof(IRP) + (locations) * sizeof(IO_STACK_LOCATION)))

/* The IRP routines require IRQL <= DISPATCH_LEVEL. IoAllocateIrp returns NULL if out of memory. */
NTKERNELAPI PIRP IoAllocateIrp(_In_ CCHAR StackSize, _In_ BOOLEAN ChargeQuota);
NTKERNELAPI VOID IoFreeIrp(_In_ PIRP Irp);
NTKERNELAPI VOID IoInitializeIrp(_Inout_ PIRP Irp, _In_ USHORT PacketSize, _In_ CCHAR StackSize);
NTKERNELAPI VOID IoReuseIrp(_Inout_ PIRP Irp, _In_ NTSTATUS Status);
NTKERNELAPI NTSTATUS IofCallDriver(_In_ PDEVICE_OBJECT DeviceObject, _Inout_ PIRP Irp);
NTKERNELAPI VOID IofCompleteRequest(_In_ PIRP Irp, _In_ CCHAR PriorityBoost);
#define IoCallDriver(device, irp) IofCallDriver(device, irp)
#define PoCallDriver(device, irp) IofCallDriver(device, irp)
/* Does nothing, as since Windows Vista: the power manager itself sends the next power IRP. */
FORCEINLINE VOID PoStartNextPowerIrp(_Inout_ PIRP Irp)
{
    (void)Irp;
}
#define IoCompleteRequest(irp, boost) IofCompleteRequest(irp, boost)

/*
 * These routines build a request, or return NULL if out of memory. The caller sends a synchronous request with
 * IoCallDriver, and waits for Event if the status is STATUS_PENDING; the system frees the request when it completes.
 * The completion routine must free a request of IoBuildAsynchronousFsdRequest. With METHOD_BUFFERED, OutputBuffer is
 * filled when the request completes. PASSIVE_LEVEL; IoBuildAsynchronousFsdRequest <= APC_LEVEL.
 */
NTKERNELAPI PIRP IoBuildDeviceIoControlRequest(_In_ ULONG IoControlCode, _In_ PDEVICE_OBJECT DeviceObject,
                                               _In_opt_ PVOID InputBuffer, _In_ ULONG InputBufferLength,
                                               _Out_opt_ PVOID OutputBuffer, _In_ ULONG OutputBufferLength,
                                               _In_ BOOLEAN InternalDeviceIoControl, _In_opt_ PKEVENT Event,
                                               _Out_ PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI PIRP IoBuildSynchronousFsdRequest(_In_ ULONG MajorFunction, _In_ PDEVICE_OBJECT DeviceObject,
                                              _Inout_opt_ PVOID Buffer, _In_opt_ ULONG Length,
                                              _In_opt_ PLARGE_INTEGER StartingOffset, _In_ PKEVENT Event,
                                              _Out_ PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI PIRP IoBuildAsynchronousFsdRequest(_In_ ULONG MajorFunction, _In_ PDEVICE_OBJECT DeviceObject,
                                               _Inout_opt_ PVOID Buffer, _In_opt_ ULONG Length,
                                               _In_opt_ PLARGE_INTEGER StartingOffset,
                                               _In_opt_ PIO_STATUS_BLOCK IoStatusBlock);

/*
 * The cancel routine is called with the cancel spin lock held and releases it with
 * IoReleaseCancelSpinLock(Irp->CancelIrql). IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI BOOLEAN IoCancelIrp(_In_ PIRP Irp);
NTKERNELAPI VOID IoAcquireCancelSpinLock(_Out_ PKIRQL Irql);
NTKERNELAPI VOID IoReleaseCancelSpinLock(_In_ KIRQL Irql);

FORCEINLINE PDRIVER_CANCEL IoSetCancelRoutine(_In_ PIRP Irp, _In_opt_ PDRIVER_CANCEL CancelRoutine)
{
    return __atomic_exchange_n(&Irp->CancelRoutine, CancelRoutine, __ATOMIC_SEQ_CST);
}

FORCEINLINE PIO_STACK_LOCATION IoGetCurrentIrpStackLocation(_In_ PIRP Irp)
{
    return Irp->Tail.Overlay.CurrentStackLocation;
}

FORCEINLINE PIO_STACK_LOCATION IoGetNextIrpStackLocation(_In_ PIRP Irp)
{
    return Irp->Tail.Overlay.CurrentStackLocation - 1;
}

FORCEINLINE VOID IoSetNextIrpStackLocation(_Inout_ PIRP Irp)
{
    Irp->CurrentLocation--;
    Irp->Tail.Overlay.CurrentStackLocation--;
}

FORCEINLINE VOID IoSkipCurrentIrpStackLocation(_Inout_ PIRP Irp)
{
    Irp->CurrentLocation++;
    Irp->Tail.Overlay.CurrentStackLocation++;
}

/* Copies the current stack location to the next one, except CompletionRoutine, Context and Control. */
FORCEINLINE VOID IoCopyCurrentIrpStackLocationToNext(_Inout_ PIRP Irp)
{
    PIO_STACK_LOCATION from = IoGetCurrentIrpStackLocation(Irp), to = IoGetNextIrpStackLocation(Irp);

    __builtin_memcpy(to, from, offsetof(IO_STACK_LOCATION, CompletionRoutine));
    to->Control = 0;
}

/* Stores the mark atomically, because ondk_wdk_report_requests reads the mark on another thread. */
FORCEINLINE VOID IoMarkIrpPending(_Inout_ PIRP Irp)
{
    PUCHAR control = &IoGetCurrentIrpStackLocation(Irp)->Control;

    __atomic_store_n(control, (UCHAR)(*control | SL_PENDING_RETURNED), __ATOMIC_RELAXED);
}

FORCEINLINE VOID IoSetCompletionRoutine(_In_ PIRP Irp, _In_opt_ PIO_COMPLETION_ROUTINE CompletionRoutine,
                                        _In_opt_ PVOID Context, _In_ BOOLEAN InvokeOnSuccess,
                                        _In_ BOOLEAN InvokeOnError, _In_ BOOLEAN InvokeOnCancel)
{
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(Irp);

    next->CompletionRoutine = CompletionRoutine;
    next->Context = Context;
    next->Control = (UCHAR)((InvokeOnSuccess ? SL_INVOKE_ON_SUCCESS : 0) | (InvokeOnError ? SL_INVOKE_ON_ERROR : 0) |
                            (InvokeOnCancel ? SL_INVOKE_ON_CANCEL : 0));
}

/*
 * Works like IoSetCompletionRoutine. On Windows this function also keeps the driver loaded until the completion routine
 * has returned.
 */
FORCEINLINE NTSTATUS IoSetCompletionRoutineEx(_In_ PDEVICE_OBJECT DeviceObject, _In_ PIRP Irp,
                                              _In_ PIO_COMPLETION_ROUTINE CompletionRoutine, _In_opt_ PVOID Context,
                                              _In_ BOOLEAN InvokeOnSuccess, _In_ BOOLEAN InvokeOnError,
                                              _In_ BOOLEAN InvokeOnCancel)
{
    UNREFERENCED_PARAMETER(DeviceObject);
    IoSetCompletionRoutine(Irp, CompletionRoutine, Context, InvokeOnSuccess, InvokeOnError, InvokeOnCancel);
    return STATUS_SUCCESS;
}

EXTERN_C_END

#endif
