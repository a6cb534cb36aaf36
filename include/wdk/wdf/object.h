/* SPDX-License-Identifier: MIT */
/*
 * The framework's objects: handles, attributes, contexts, references and deletion. docs/threads.md has the tree, the
 * locks and the IRQL of each callback. If a handle is invalid, rule `wdf-handle` is broken.
 */
#ifndef ONDK_WDK_WDF_OBJECT_H
#define ONDK_WDK_WDF_OBJECT_H

#include "../wdm.h"

EXTERN_C_START

#define DECLARE_ONDK_WDF_HANDLE(name) \
    struct name##__ {                 \
        int unused;                   \
    };                                \
    typedef struct name##__ *name

typedef HANDLE WDFOBJECT, *PWDFOBJECT;
DECLARE_ONDK_WDF_HANDLE(WDFDRIVER);
DECLARE_ONDK_WDF_HANDLE(WDFDEVICE);
DECLARE_ONDK_WDF_HANDLE(WDFQUEUE);
DECLARE_ONDK_WDF_HANDLE(WDFREQUEST);
DECLARE_ONDK_WDF_HANDLE(WDFFILEOBJECT);
DECLARE_ONDK_WDF_HANDLE(WDFMEMORY);
DECLARE_ONDK_WDF_HANDLE(WDFLOOKASIDE);
DECLARE_ONDK_WDF_HANDLE(WDFSTRING);
DECLARE_ONDK_WDF_HANDLE(WDFCOLLECTION);
DECLARE_ONDK_WDF_HANDLE(WDFKEY);
DECLARE_ONDK_WDF_HANDLE(WDFDPC);
DECLARE_ONDK_WDF_HANDLE(WDFIOTARGET);
DECLARE_ONDK_WDF_HANDLE(WDFTIMER);
DECLARE_ONDK_WDF_HANDLE(WDFWORKITEM);
DECLARE_ONDK_WDF_HANDLE(WDFSPINLOCK);
DECLARE_ONDK_WDF_HANDLE(WDFWAITLOCK);

typedef PVOID WDFCONTEXT;

#define STATUS_WDF_INTERNAL_ERROR ((NTSTATUS)0xC0200201)
#define STATUS_WDF_PAUSED ((NTSTATUS)0xC0200203)
#define STATUS_WDF_BUSY ((NTSTATUS)0xC0200204)
#define STATUS_WDF_NO_CALLBACK ((NTSTATUS)0xC020020B)
#define STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL ((NTSTATUS)0xC020020C)
#define STATUS_WDF_PARENT_ALREADY_ASSIGNED ((NTSTATUS)0xC020020D)
#define STATUS_WDF_PARENT_IS_SELF ((NTSTATUS)0xC020020E)
#define STATUS_WDF_PARENT_ASSIGNMENT_NOT_ALLOWED ((NTSTATUS)0xC020020F)
#define STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID ((NTSTATUS)0xC0200210)
#define STATUS_WDF_EXECUTION_LEVEL_INVALID ((NTSTATUS)0xC0200211)
#define STATUS_WDF_PARENT_NOT_SPECIFIED ((NTSTATUS)0xC0200212)

#define WDF_NO_HANDLE NULL
#define WDF_NO_OBJECT_ATTRIBUTES NULL
#define WDF_NO_CONTEXT NULL
#define WDF_NO_SEND_OPTIONS NULL
#define WDF_NO_EVENT_CALLBACK NULL
#define WDF_EXTERN_C_START EXTERN_C_START
#define WDF_EXTERN_C_END EXTERN_C_END

typedef enum _WDF_TRI_STATE { WdfFalse = FALSE, WdfTrue = TRUE, WdfUseDefault = 2 } WDF_TRI_STATE, *PWDF_TRI_STATE;

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

typedef VOID EVT_WDF_OBJECT_CONTEXT_CLEANUP(_In_ WDFOBJECT Object);
typedef EVT_WDF_OBJECT_CONTEXT_CLEANUP *PFN_WDF_OBJECT_CONTEXT_CLEANUP;
typedef VOID EVT_WDF_OBJECT_CONTEXT_DESTROY(_In_ WDFOBJECT Object);
typedef EVT_WDF_OBJECT_CONTEXT_DESTROY *PFN_WDF_OBJECT_CONTEXT_DESTROY;
typedef EVT_WDF_OBJECT_CONTEXT_CLEANUP EVT_WDF_DEVICE_CONTEXT_CLEANUP, EVT_WDF_IO_QUEUE_CONTEXT_CLEANUP_CALLBACK,
    EVT_WDF_FILE_CONTEXT_CLEANUP_CALLBACK;
typedef EVT_WDF_OBJECT_CONTEXT_DESTROY EVT_WDF_DEVICE_CONTEXT_DESTROY, EVT_WDF_IO_QUEUE_CONTEXT_DESTROY_CALLBACK,
    EVT_WDF_FILE_CONTEXT_DESTROY_CALLBACK;

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
 * A synchronization scope is for drivers, devices, queues and files. An execution level is for these, for timers and
 * for general objects. Another object is refused with STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID or
 * STATUS_WDF_EXECUTION_LEVEL_INVALID.
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
 * newest, and then the object's own cleanup routines. An object is destroyed when no reference to it is left. Devices,
 * queues, timers, work items, DPCs, strings, keys and I/O targets require PASSIVE_LEVEL, others IRQL <= DISPATCH_LEVEL.
 * The call breaks rule `wdf-delete` for an object that only the framework may delete: a driver, file, received request
 * or its memory, a device of EvtDriverDeviceAdd, its resource lists, the I/O target of WdfDeviceGetIoTarget, or a queue
 * that receives requests from the framework.
 */
NTKERNELAPI VOID WdfObjectDelete(_In_ WDFOBJECT Object);
/*
 * A driver may drop only references that it has added; dropping another reference breaks rule `wdf-delete`.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI VOID WdfObjectReference(_In_ WDFOBJECT Handle);
NTKERNELAPI VOID WdfObjectDereference(_In_ WDFOBJECT Handle);
/* Returns NULL if the object has no context of this type. */
NTKERNELAPI PVOID WdfObjectGetTypedContextWorker(_In_ WDFOBJECT Handle, _In_ PCWDF_OBJECT_CONTEXT_TYPE_INFO TypeInfo);
/* Adds a context of another type. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI NTSTATUS WdfObjectAllocateContext(_In_ WDFOBJECT Handle, _In_ PWDF_OBJECT_ATTRIBUTES ContextAttributes,
                                              _Out_opt_ PVOID *Context);
/* Returns the object that has the context. */
NTKERNELAPI WDFOBJECT WdfObjectContextGetObject(_In_ PVOID ContextPointer);
/*
 * Acquires the lock that serializes the callbacks of a device or queue. An object whose scope has no lock breaks rule
 * `wdf-lock`. If the execution level is passive, requires PASSIVE_LEVEL. Otherwise returns at DISPATCH_LEVEL.
 */
NTKERNELAPI VOID WdfObjectAcquireLock(_In_ WDFOBJECT Object);
NTKERNELAPI VOID WdfObjectReleaseLock(_In_ WDFOBJECT Object);

EXTERN_C_END

#endif
