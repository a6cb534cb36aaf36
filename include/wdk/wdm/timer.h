/* SPDX-License-Identifier: MIT */
/*
 * Timers and deferred procedure calls.
 */
#ifndef ONDK_WDK_WDM_TIMER_H
#define ONDK_WDK_WDM_TIMER_H

#include "../ntdef.h"
#include "dispatcher.h"

EXTERN_C_START

struct _KDPC;
typedef VOID KDEFERRED_ROUTINE(_In_ struct _KDPC *Dpc, _In_opt_ PVOID DeferredContext, _In_opt_ PVOID SystemArgument1,
                               _In_opt_ PVOID SystemArgument2);
typedef KDEFERRED_ROUTINE *PKDEFERRED_ROUTINE;

typedef struct _KDPC {
    UCHAR Type;      /* normal or threaded */
    UCHAR Importance;
    USHORT Number;   /* 0: the DPC runs on the processor that queues it; otherwise on processor Number - 1 */
    PVOID volatile DpcData; /* the queue that contains the DPC, or NULL */
    LIST_ENTRY DpcListEntry;
    PKDEFERRED_ROUTINE DeferredRoutine;
    PVOID DeferredContext;
    PVOID SystemArgument1;
    PVOID SystemArgument2;
    const void *QueuedBy;
} KDPC, *PKDPC, *PRKDPC;

typedef enum _KDPC_IMPORTANCE { LowImportance, MediumImportance, HighImportance, MediumHighImportance } KDPC_IMPORTANCE;

typedef struct _KTIMER {
    DISPATCHER_HEADER Header;
    ULARGE_INTEGER DueTime;
    LIST_ENTRY TimerListEntry;
    struct _KDPC *Dpc;
    LONGLONG Period; /* in units of 100 ns */
    UCHAR Queue;     /* 0: not set; 1: in the list by interrupt time; 2: in the list by system time */
    const void *SetBy;
} KTIMER, *PKTIMER, *PRKTIMER;

/*
 * Each processor has one thread that runs its DPCs at DISPATCH_LEVEL, and another thread that runs its threaded DPCs
 * at PASSIVE_LEVEL. A DPC that is already queued is not queued again. A running DPC may be queued. Any IRQL.
 */
NTKERNELAPI VOID KeInitializeDpc(_Out_ PRKDPC Dpc, _In_ PKDEFERRED_ROUTINE DeferredRoutine,
                                 _In_opt_ PVOID DeferredContext);
NTKERNELAPI VOID KeInitializeThreadedDpc(_Out_ PRKDPC Dpc, _In_ PKDEFERRED_ROUTINE DeferredRoutine,
                                         _In_opt_ PVOID DeferredContext);
NTKERNELAPI BOOLEAN KeInsertQueueDpc(_Inout_ PRKDPC Dpc, _In_opt_ PVOID SystemArgument1,
                                     _In_opt_ PVOID SystemArgument2);
NTKERNELAPI BOOLEAN KeRemoveQueueDpc(_Inout_ PRKDPC Dpc);
NTKERNELAPI VOID KeSetImportanceDpc(_Inout_ PRKDPC Dpc, _In_ KDPC_IMPORTANCE Importance);
NTKERNELAPI VOID KeSetTargetProcessorDpc(_Inout_ PRKDPC Dpc, _In_ CCHAR Number);
NTKERNELAPI NTSTATUS KeSetTargetProcessorDpcEx(_Inout_ PKDPC Dpc, _In_ PPROCESSOR_NUMBER ProcNumber);
/* Waits until every DPC that is now queued has run. PASSIVE_LEVEL. */
NTKERNELAPI VOID KeFlushQueuedDpcs(VOID);

/*
 * Negative due times are relative; other due times are system time. Period is in milliseconds. TolerableDelay has no
 * effect. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI VOID KeInitializeTimer(_Out_ PKTIMER Timer);
NTKERNELAPI VOID KeInitializeTimerEx(_Out_ PKTIMER Timer, _In_ TIMER_TYPE Type);
NTKERNELAPI BOOLEAN KeSetTimer(_Inout_ PKTIMER Timer, _In_ LARGE_INTEGER DueTime, _In_opt_ PKDPC Dpc);
NTKERNELAPI BOOLEAN KeSetTimerEx(_Inout_ PKTIMER Timer, _In_ LARGE_INTEGER DueTime, _In_ LONG Period,
                                 _In_opt_ PKDPC Dpc);
NTKERNELAPI BOOLEAN KeSetCoalescableTimer(_Inout_ PKTIMER Timer, _In_ LARGE_INTEGER DueTime, _In_ ULONG Period,
                                          _In_ ULONG TolerableDelay, _In_opt_ PKDPC Dpc);
NTKERNELAPI BOOLEAN KeCancelTimer(_Inout_ PKTIMER Timer);
NTKERNELAPI BOOLEAN KeReadStateTimer(_In_ PKTIMER Timer);

/*
 * The interval of the clock in units of 100 ns. ExSetTimerResolution returns the interval that now applies: the
 * smallest that was requested, until calls with FALSE have withdrawn all requests. The interval has no effect on
 * timers. ExQueryTimerResolution: any IRQL; ExSetTimerResolution: IRQL <= APC_LEVEL.
 */
NTKERNELAPI VOID ExQueryTimerResolution(_Out_ PULONG MaximumTime, _Out_ PULONG MinimumTime, _Out_ PULONG CurrentTime);
NTKERNELAPI ULONG ExSetTimerResolution(_In_ ULONG DesiredTime, _In_ BOOLEAN SetResolution);

/* ---- Timers that the system allocates; threads can wait for one as for a KTIMER ---------------------------------- */

typedef struct _EX_TIMER *PEX_TIMER;
typedef VOID EXT_CALLBACK(_In_ PEX_TIMER Timer, _In_opt_ PVOID Context);
typedef EXT_CALLBACK *PEXT_CALLBACK;
typedef VOID EXT_DELETE_CALLBACK(_In_opt_ PVOID Context);
typedef EXT_DELETE_CALLBACK *PEXT_DELETE_CALLBACK;

#define EX_TIMER_HIGH_RESOLUTION 4
#define EX_TIMER_NO_WAKE 8
#define EX_TIMER_NOTIFICATION 0x80000000u
#define EX_TIMER_UNLIMITED_TOLERANCE ((LONGLONG)-1)

typedef struct _EXT_SET_PARAMETERS_V0 {
    ULONG Version;
    ULONG Reserved;
    LONGLONG NoWakeTolerance; /* not used */
} EXT_SET_PARAMETERS, *PEXT_SET_PARAMETERS;

typedef struct _EXT_DELETE_PARAMETERS {
    ULONG Version;
    ULONG Reserved;
    PEXT_DELETE_CALLBACK DeleteCallback;
    PVOID DeleteContext;
} EXT_DELETE_PARAMETERS, *PEXT_DELETE_PARAMETERS;

typedef PVOID PEXT_CANCEL_PARAMETERS;

FORCEINLINE VOID ExInitializeSetTimerParameters(_Out_ PEXT_SET_PARAMETERS Parameters)
{
    Parameters->Version = 0;
    Parameters->Reserved = 0;
    Parameters->NoWakeTolerance = 0;
}

FORCEINLINE VOID ExInitializeDeleteTimerParameters(_Out_ PEXT_DELETE_PARAMETERS Parameters)
{
    Parameters->Version = 0;
    Parameters->Reserved = 0;
    Parameters->DeleteCallback = NULL;
    Parameters->DeleteContext = NULL;
}

/*
 * The callback runs at DISPATCH_LEVEL. Periods are in units of 100 ns. IRQL <= APC_LEVEL if Wait is TRUE, otherwise
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI PEX_TIMER ExAllocateTimer(_In_opt_ PEXT_CALLBACK Callback, _In_opt_ PVOID CallbackContext,
                                      _In_ ULONG Attributes);
NTKERNELAPI BOOLEAN ExSetTimer(_In_ PEX_TIMER Timer, _In_ LONGLONG DueTime, _In_ LONGLONG Period,
                               _In_opt_ PEXT_SET_PARAMETERS Parameters);
NTKERNELAPI BOOLEAN ExCancelTimer(_Inout_ PEX_TIMER Timer, _In_opt_ PEXT_CANCEL_PARAMETERS Parameters);
NTKERNELAPI BOOLEAN ExDeleteTimer(_In_ PEX_TIMER Timer, _In_ BOOLEAN Cancel, _In_ BOOLEAN Wait,
                                  _In_opt_ PEXT_DELETE_PARAMETERS Parameters);

EXTERN_C_END

#endif
