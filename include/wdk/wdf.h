/* SPDX-License-Identifier: MIT */
/*
 * The part of KMDF that a miniport uses: the driver object, a miniport's device object, general objects with contexts,
 * timers, work items, spin locks and wait locks. Function drivers, queues and I/O targets are missing. An invalid
 * handle is reported as rule `handle-invalid`. Objects that are left at unload are listed.
 */
#ifndef ONDK_WDK_WDF_H
#define ONDK_WDK_WDF_H

#include "wdm.h"

EXTERN_C_START

#define DECLARE_ONDK_WDF_HANDLE(name) \
    struct name##__ {                 \
        int unused;                   \
    };                                \
    typedef struct name##__ *name

typedef HANDLE WDFOBJECT, *PWDFOBJECT;
DECLARE_ONDK_WDF_HANDLE(WDFDRIVER);
DECLARE_ONDK_WDF_HANDLE(WDFDEVICE);
DECLARE_ONDK_WDF_HANDLE(WDFTIMER);
DECLARE_ONDK_WDF_HANDLE(WDFWORKITEM);
DECLARE_ONDK_WDF_HANDLE(WDFSPINLOCK);
DECLARE_ONDK_WDF_HANDLE(WDFWAITLOCK);

#define STATUS_WDF_PARENT_NOT_SPECIFIED ((NTSTATUS)0xC0200212)

#define WDF_NO_HANDLE NULL
#define WDF_NO_OBJECT_ATTRIBUTES NULL
#define WDF_NO_CONTEXT NULL
#define WDF_NO_EVENT_CALLBACK NULL
#define WDF_EXTERN_C_START EXTERN_C_START
#define WDF_EXTERN_C_END EXTERN_C_END

typedef enum _WDF_TRI_STATE { WdfFalse = FALSE, WdfTrue = TRUE, WdfUseDefault = 2 } WDF_TRI_STATE, *PWDF_TRI_STATE;

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

typedef VOID EVT_WDF_OBJECT_CONTEXT_CLEANUP(_In_ WDFOBJECT Object);
typedef EVT_WDF_OBJECT_CONTEXT_CLEANUP *PFN_WDF_OBJECT_CONTEXT_CLEANUP;
typedef VOID EVT_WDF_OBJECT_CONTEXT_DESTROY(_In_ WDFOBJECT Object);
typedef EVT_WDF_OBJECT_CONTEXT_DESTROY *PFN_WDF_OBJECT_CONTEXT_DESTROY;

typedef enum _WDF_EXECUTION_LEVEL {
    WdfExecutionLevelInvalid = 0,
    WdfExecutionLevelInheritFromParent,
    WdfExecutionLevelPassive,
    WdfExecutionLevelDispatch
} WDF_EXECUTION_LEVEL;

typedef enum _WDF_SYNCHRONIZATION_SCOPE {
    WdfSynchronizationScopeInvalid = 0,
    WdfSynchronizationScopeInheritFromParent,
    WdfSynchronizationScopeDevice,
    WdfSynchronizationScopeQueue,
    WdfSynchronizationScopeNone
} WDF_SYNCHRONIZATION_SCOPE;

struct _WDF_OBJECT_CONTEXT_TYPE_INFO;
typedef const struct _WDF_OBJECT_CONTEXT_TYPE_INFO *PCWDF_OBJECT_CONTEXT_TYPE_INFO;
typedef PCWDF_OBJECT_CONTEXT_TYPE_INFO (*PFN_GET_UNIQUE_CONTEXT_TYPE)(VOID);

typedef struct _WDF_OBJECT_CONTEXT_TYPE_INFO {
    ULONG Size;
    PCHAR ContextName;
    size_t ContextSize;
    PCWDF_OBJECT_CONTEXT_TYPE_INFO UniqueType;
    PFN_GET_UNIQUE_CONTEXT_TYPE EvtDriverGetUniqueContextType;
} WDF_OBJECT_CONTEXT_TYPE_INFO, *PWDF_OBJECT_CONTEXT_TYPE_INFO;

/*
 * The framework does not move callbacks to PASSIVE_LEVEL, and does not serialize them. So WdfExecutionLevelPassive,
 * WdfSynchronizationScopeDevice and WdfSynchronizationScopeQueue are refused with STATUS_NOT_SUPPORTED.
 */
typedef struct _WDF_OBJECT_ATTRIBUTES {
    ULONG Size;
    PFN_WDF_OBJECT_CONTEXT_CLEANUP EvtCleanupCallback;
    PFN_WDF_OBJECT_CONTEXT_DESTROY EvtDestroyCallback;
    WDF_EXECUTION_LEVEL ExecutionLevel;
    WDF_SYNCHRONIZATION_SCOPE SynchronizationScope;
    WDFOBJECT ParentObject;
    size_t ContextSizeOverride;
    PCWDF_OBJECT_CONTEXT_TYPE_INFO ContextTypeInfo;
} WDF_OBJECT_ATTRIBUTES, *PWDF_OBJECT_ATTRIBUTES;

FORCEINLINE VOID WDF_OBJECT_ATTRIBUTES_INIT(_Out_ PWDF_OBJECT_ATTRIBUTES Attributes)
{
    RtlZeroMemory(Attributes, sizeof(*Attributes));
    Attributes->Size = sizeof(*Attributes);
    Attributes->ExecutionLevel = WdfExecutionLevelInheritFromParent;
    Attributes->SynchronizationScope = WdfSynchronizationScopeInheritFromParent;
}

/*
 * The description of a context type is a weak symbol. If two source files of a driver declare the same context type,
 * the linker keeps one description, so the type is the same in both files.
 */
#define WDF_TYPE_NAME_TO_TYPE_INFO(contexttype) _WDF_##contexttype##_TYPE_INFO
#define WDF_GET_CONTEXT_TYPE_INFO(contexttype) (&WDF_TYPE_NAME_TO_TYPE_INFO(contexttype))
#define WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(contexttype, castingfunction)                                              \
    __attribute__((weak, visibility("default"))) extern const WDF_OBJECT_CONTEXT_TYPE_INFO                            \
        WDF_TYPE_NAME_TO_TYPE_INFO(contexttype);                                                                       \
    const WDF_OBJECT_CONTEXT_TYPE_INFO WDF_TYPE_NAME_TO_TYPE_INFO(contexttype) = {                                     \
        sizeof(WDF_OBJECT_CONTEXT_TYPE_INFO), (PCHAR)(ULONG_PTR) #contexttype, sizeof(contexttype),                    \
        &WDF_TYPE_NAME_TO_TYPE_INFO(contexttype), NULL                                                                 \
    };                                                                                                                 \
    FORCEINLINE contexttype *castingfunction(_In_ WDFOBJECT Handle)                                                    \
    {                                                                                                                  \
        return (contexttype *)WdfObjectGetTypedContextWorker(Handle, WDF_GET_CONTEXT_TYPE_INFO(contexttype));          \
    }
#define WDF_DECLARE_CONTEXT_TYPE(contexttype) \
    WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(contexttype, WdfObjectGet_##contexttype)
#define WDF_OBJECT_ATTRIBUTES_SET_CONTEXT_TYPE(attributes, contexttype) \
    ((attributes)->ContextTypeInfo = WDF_GET_CONTEXT_TYPE_INFO(contexttype)->UniqueType)
#define WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(attributes, contexttype) \
    (WDF_OBJECT_ATTRIBUTES_INIT(attributes), WDF_OBJECT_ATTRIBUTES_SET_CONTEXT_TYPE(attributes, contexttype))
#define WdfObjectGetTypedContext(handle, type) \
    ((type *)WdfObjectGetTypedContextWorker((WDFOBJECT)(handle), WDF_GET_CONTEXT_TYPE_INFO(type)))

/* Creates an object. If the attributes have no parent, the parent is the driver object. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfObjectCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES Attributes, _Out_ WDFOBJECT *Object);
/*
 * Deletes the object and its descendants. First calls the cleanup routines of the descendants, beginning with the
 * newest, and then the object's own cleanup routines. An object is destroyed when no reference to it is left.
 */
NTKERNELAPI VOID WdfObjectDelete(_In_ WDFOBJECT Object);
NTKERNELAPI VOID WdfObjectReference(_In_ WDFOBJECT Handle);
NTKERNELAPI VOID WdfObjectDereference(_In_ WDFOBJECT Handle);
/* Returns NULL if the object has no context of this type. */
NTKERNELAPI PVOID WdfObjectGetTypedContextWorker(_In_ WDFOBJECT Handle, _In_ PCWDF_OBJECT_CONTEXT_TYPE_INFO TypeInfo);
NTKERNELAPI NTSTATUS WdfObjectAllocateContext(_In_ WDFOBJECT Handle, _In_ PWDF_OBJECT_ATTRIBUTES ContextAttributes,
                                              _Out_ PVOID *Context);

/* ---- The driver -------------------------------------------------------------------------------------------------- */

typedef struct WDFDEVICE_INIT *PWDFDEVICE_INIT;
typedef NTSTATUS EVT_WDF_DRIVER_DEVICE_ADD(_In_ WDFDRIVER Driver, _Inout_ PWDFDEVICE_INIT DeviceInit);
typedef EVT_WDF_DRIVER_DEVICE_ADD *PFN_WDF_DRIVER_DEVICE_ADD;
typedef VOID EVT_WDF_DRIVER_UNLOAD(_In_ WDFDRIVER Driver);
typedef EVT_WDF_DRIVER_UNLOAD *PFN_WDF_DRIVER_UNLOAD;

typedef enum _WDF_DRIVER_INIT_FLAGS {
    WdfDriverInitNonPnpDriver = 0x00000001,
    WdfDriverInitNoDispatchOverride = 0x00000002, /* for miniports: the framework does not replace DriverUnload */
    WdfVerifyOn = 0x00000004
} WDF_DRIVER_INIT_FLAGS;

/* The configuration of a driver. EvtDriverDeviceAdd is never called, because this kernel adds no devices. */
typedef struct _WDF_DRIVER_CONFIG {
    ULONG Size;
    PFN_WDF_DRIVER_DEVICE_ADD EvtDriverDeviceAdd;
    PFN_WDF_DRIVER_UNLOAD EvtDriverUnload;
    ULONG DriverInitFlags;
    ULONG DriverPoolTag;
} WDF_DRIVER_CONFIG, *PWDF_DRIVER_CONFIG;

FORCEINLINE VOID WDF_DRIVER_CONFIG_INIT(_Out_ PWDF_DRIVER_CONFIG Config,
                                        _In_opt_ PFN_WDF_DRIVER_DEVICE_ADD EvtDriverDeviceAdd)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->EvtDriverDeviceAdd = EvtDriverDeviceAdd;
}

/* WdfDriverCreate and WdfDriverMiniportUnload require PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfDriverCreate(_In_ PDRIVER_OBJECT DriverObject, _In_ PCUNICODE_STRING RegistryPath,
                                     _In_opt_ PWDF_OBJECT_ATTRIBUTES DriverAttributes,
                                     _In_ PWDF_DRIVER_CONFIG DriverConfig, _Out_opt_ WDFDRIVER *Driver);
NTKERNELAPI VOID WdfDriverMiniportUnload(_In_ WDFDRIVER Driver);
NTKERNELAPI PDRIVER_OBJECT WdfDriverWdmGetDriverObject(_In_ WDFDRIVER Driver);
/* Returns NULL if WdfDriverCreate was not called for this driver object. */
NTKERNELAPI WDFDRIVER WdfWdmDriverGetWdfDriverHandle(_In_ PDRIVER_OBJECT DriverObject);

/* Creates a framework object for the port driver's device. The framework object can be the parent of other objects. */
NTKERNELAPI NTSTATUS WdfDeviceMiniportCreate(_In_ WDFDRIVER Driver, _In_opt_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                             _In_ PDEVICE_OBJECT DeviceObject,
                                             _In_opt_ PDEVICE_OBJECT AttachedDeviceObject, _In_opt_ PDEVICE_OBJECT Pdo,
                                             _Out_ WDFDEVICE *Device);
NTKERNELAPI PDEVICE_OBJECT WdfDeviceWdmGetDeviceObject(_In_ WDFDEVICE Device);

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

/* Called at DISPATCH_LEVEL. */
typedef VOID EVT_WDF_TIMER(_In_ WDFTIMER Timer);
typedef EVT_WDF_TIMER *PFN_WDF_TIMER;

/* Automatic serialization has no effect, because there is no synchronization scope. */
typedef struct _WDF_TIMER_CONFIG {
    ULONG Size;
    PFN_WDF_TIMER EvtTimerFunc;
    ULONG Period; /* milliseconds */
    BOOLEAN AutomaticSerialization;
    ULONG TolerableDelay;
    WDF_TRI_STATE UseHighResolutionTimer;
} WDF_TIMER_CONFIG, *PWDF_TIMER_CONFIG;

FORCEINLINE VOID WDF_TIMER_CONFIG_INIT(_Out_ PWDF_TIMER_CONFIG Config, _In_ PFN_WDF_TIMER EvtTimerFunc)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->EvtTimerFunc = EvtTimerFunc;
    Config->AutomaticSerialization = TRUE;
    Config->UseHighResolutionTimer = WdfUseDefault;
}

FORCEINLINE VOID WDF_TIMER_CONFIG_INIT_PERIODIC(_Out_ PWDF_TIMER_CONFIG Config, _In_ PFN_WDF_TIMER EvtTimerFunc,
                                                _In_ LONG Period)
{
    WDF_TIMER_CONFIG_INIT(Config, EvtTimerFunc);
    Config->Period = (ULONG)Period;
}

#define WDF_TIMEOUT_TO_SEC ((LONGLONG)1 * 10 * 1000 * 1000)
#define WDF_TIMEOUT_TO_MS ((LONGLONG)1 * 10 * 1000)
#define WDF_TIMEOUT_TO_US ((LONGLONG)1 * 10)
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_SEC(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * -1 * WDF_TIMEOUT_TO_SEC;
}
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_SEC(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * WDF_TIMEOUT_TO_SEC;
}
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_MS(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * -1 * WDF_TIMEOUT_TO_MS;
}
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_MS(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * WDF_TIMEOUT_TO_MS;
}
FORCEINLINE LONGLONG WDF_REL_TIMEOUT_IN_US(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * -1 * WDF_TIMEOUT_TO_US;
}
FORCEINLINE LONGLONG WDF_ABS_TIMEOUT_IN_US(_In_ ULONGLONG Time)
{
    return (LONGLONG)Time * WDF_TIMEOUT_TO_US;
}

/*
 * The attributes must name a parent: a device or a descendant of a device. A timer must be deleted at PASSIVE_LEVEL;
 * the deletion waits for the timer's callback.
 */
NTKERNELAPI NTSTATUS WdfTimerCreate(_In_ PWDF_TIMER_CONFIG Config, _In_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                    _Out_ WDFTIMER *Timer);
NTKERNELAPI BOOLEAN WdfTimerStart(_In_ WDFTIMER Timer, _In_ LONGLONG DueTime);
/* If Wait is TRUE, requires PASSIVE_LEVEL. */
NTKERNELAPI BOOLEAN WdfTimerStop(_In_ WDFTIMER Timer, _In_ BOOLEAN Wait);
NTKERNELAPI WDFOBJECT WdfTimerGetParentObject(_In_ WDFTIMER Timer);

/* ---- Work items -------------------------------------------------------------------------------------------------- */

/* Called at PASSIVE_LEVEL. */
typedef VOID EVT_WDF_WORKITEM(_In_ WDFWORKITEM WorkItem);
typedef EVT_WDF_WORKITEM *PFN_WDF_WORKITEM;

typedef struct _WDF_WORKITEM_CONFIG {
    ULONG Size;
    PFN_WDF_WORKITEM EvtWorkItemFunc;
    BOOLEAN AutomaticSerialization;
} WDF_WORKITEM_CONFIG, *PWDF_WORKITEM_CONFIG;

FORCEINLINE VOID WDF_WORKITEM_CONFIG_INIT(_Out_ PWDF_WORKITEM_CONFIG Config, _In_ PFN_WDF_WORKITEM EvtWorkItemFunc)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->EvtWorkItemFunc = EvtWorkItemFunc;
    Config->AutomaticSerialization = TRUE;
}

/*
 * The attributes must name a parent: a device or a descendant of a device. A work item must be deleted at
 * PASSIVE_LEVEL. The deletion waits for the work item's callback, unless the callback itself deletes the work item.
 */
NTKERNELAPI NTSTATUS WdfWorkItemCreate(_In_ PWDF_WORKITEM_CONFIG Config, _In_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                       _Out_ WDFWORKITEM *WorkItem);
/* Queues the work item. If the work item is already queued, does nothing. */
NTKERNELAPI VOID WdfWorkItemEnqueue(_In_ WDFWORKITEM WorkItem);
/* Waits until the item's callback has returned. The callback itself must not call WdfWorkItemFlush. PASSIVE_LEVEL. */
NTKERNELAPI VOID WdfWorkItemFlush(_In_ WDFWORKITEM WorkItem);
NTKERNELAPI WDFOBJECT WdfWorkItemGetParentObject(_In_ WDFWORKITEM WorkItem);

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

NTKERNELAPI NTSTATUS WdfSpinLockCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES SpinLockAttributes, _Out_ WDFSPINLOCK *SpinLock);
NTKERNELAPI VOID WdfSpinLockAcquire(_In_ WDFSPINLOCK SpinLock);
NTKERNELAPI VOID WdfSpinLockRelease(_In_ WDFSPINLOCK SpinLock);

NTKERNELAPI NTSTATUS WdfWaitLockCreate(_In_opt_ PWDF_OBJECT_ATTRIBUTES LockAttributes, _Out_ WDFWAITLOCK *Lock);
/* Timeout is in units of 100 ns; NULL: no limit. PASSIVE_LEVEL; with a timeout of 0 up to DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfWaitLockAcquire(_In_ WDFWAITLOCK Lock, _In_opt_ PLONGLONG Timeout);
NTKERNELAPI VOID WdfWaitLockRelease(_In_ WDFWAITLOCK Lock);

EXTERN_C_END

#endif
