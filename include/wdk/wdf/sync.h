/* SPDX-License-Identifier: MIT */
/*
 * Timers, work items, DPCs and locks of the framework. With AutomaticSerialization, the thread has the lock of the
 * parent's scope during the callback. AutomaticSerialization has no effect if the scope is
 * WdfSynchronizationScopeNone.
 */
#ifndef ONDK_WDK_WDF_SYNC_H
#define ONDK_WDK_WDF_SYNC_H

#include "object.h"

EXTERN_C_START

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

/* Called at DISPATCH_LEVEL, or at PASSIVE_LEVEL if the timer's execution level is WdfExecutionLevelPassive. */
typedef VOID EVT_WDF_TIMER(_In_ WDFTIMER Timer);
typedef EVT_WDF_TIMER *PFN_WDF_TIMER;

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
 * the deletion waits for the timer's callback. Returns STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL if
 * AutomaticSerialization is TRUE and the parent's execution level is not the timer's, because the callback cannot hold
 * that parent's lock.
 */
NTKERNELAPI NTSTATUS WdfTimerCreate(_In_ PWDF_TIMER_CONFIG Config, _In_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                    _Out_ WDFTIMER *Timer);
NTKERNELAPI BOOLEAN WdfTimerStart(_In_ WDFTIMER Timer, _In_ LONGLONG DueTime);
/*
 * If Wait is TRUE, waits for the callback, and requires PASSIVE_LEVEL. A callback that itself waits for its timer, or
 * deletes it, breaks rule `wdf-callback`.
 */
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
/* Queues the work item. If the work item is already queued, or is being deleted, does nothing. */
NTKERNELAPI VOID WdfWorkItemEnqueue(_In_ WDFWORKITEM WorkItem);
/* Waits until the item's callback has returned. A call in the callback breaks rule `wdf-callback`. PASSIVE_LEVEL. */
NTKERNELAPI VOID WdfWorkItemFlush(_In_ WDFWORKITEM WorkItem);
NTKERNELAPI WDFOBJECT WdfWorkItemGetParentObject(_In_ WDFWORKITEM WorkItem);

/* ---- DPCs -------------------------------------------------------------------------------------------------------- */

/* Called at DISPATCH_LEVEL. */
typedef VOID EVT_WDF_DPC(_In_ WDFDPC Dpc);
typedef EVT_WDF_DPC *PFN_WDF_DPC;

typedef struct _WDF_DPC_CONFIG {
    ULONG Size;
    PFN_WDF_DPC EvtDpcFunc;
    BOOLEAN AutomaticSerialization;
} WDF_DPC_CONFIG, *PWDF_DPC_CONFIG;

FORCEINLINE VOID WDF_DPC_CONFIG_INIT(_Out_ PWDF_DPC_CONFIG Config, _In_ PFN_WDF_DPC EvtDpcFunc)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->EvtDpcFunc = EvtDpcFunc;
    Config->AutomaticSerialization = TRUE;
}

/*
 * The attributes must name a parent: a device or a descendant of a device. A DPC must be deleted at PASSIVE_LEVEL; the
 * deletion waits for its callback. Returns STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL if AutomaticSerialization is TRUE
 * and the parent's execution level is passive, because a DPC cannot hold that parent's lock. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDpcCreate(_In_ PWDF_DPC_CONFIG Config, _In_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                  _Out_ WDFDPC *Dpc);
/* Returns FALSE if the DPC is queued already, or is being deleted. */
NTKERNELAPI BOOLEAN WdfDpcEnqueue(_In_ WDFDPC Dpc);
/* Returns TRUE if the DPC was queued. If Wait is TRUE, waits for the callback, and requires PASSIVE_LEVEL. */
NTKERNELAPI BOOLEAN WdfDpcCancel(_In_ WDFDPC Dpc, _In_ BOOLEAN Wait);
NTKERNELAPI WDFOBJECT WdfDpcGetParentObject(_In_ WDFDPC Dpc);
NTKERNELAPI PKDPC WdfDpcWdmGetDpc(_In_ WDFDPC Dpc);

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
