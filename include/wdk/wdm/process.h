/* SPDX-License-Identifier: MIT */
/*
 * Processes. There is one: the host program, for example ndkrun. Drivers are notified of its start before it opens a
 * device for the first time, and of its exit before the first driver is unloaded.
 */
#ifndef ONDK_WDK_WDM_PROCESS_H
#define ONDK_WDK_WDM_PROCESS_H

#include "thread.h"

EXTERN_C_START

typedef struct _PS_CREATE_NOTIFY_INFO {
    SIZE_T Size;
    union {
        ULONG Flags;
        struct {
            ULONG FileOpenNameAvailable : 1; /* 1 */
            ULONG IsSubsystemProcess : 1;    /* 0 */
            ULONG Reserved : 30;
        };
    };
    HANDLE ParentProcessId;
    CLIENT_ID CreatingThreadId;
    struct _FILE_OBJECT *FileObject; /* NULL here */
    PCUNICODE_STRING ImageFileName;  /* for example \??\C:\usr\bin\ndkrun */
    PCUNICODE_STRING CommandLine;
    NTSTATUS CreationStatus; /* may be set to a failure, with which the program's first open then fails */
} PS_CREATE_NOTIFY_INFO, *PPS_CREATE_NOTIFY_INFO;

typedef VOID CREATE_PROCESS_NOTIFY_ROUTINE(_In_ HANDLE ParentId, _In_ HANDLE ProcessId, _In_ BOOLEAN Create);
typedef CREATE_PROCESS_NOTIFY_ROUTINE *PCREATE_PROCESS_NOTIFY_ROUTINE;
/* CreateInfo is NULL if the process exits. */
typedef VOID CREATE_PROCESS_NOTIFY_ROUTINE_EX(_Inout_ PEPROCESS Process, _In_ HANDLE ProcessId,
                                              _Inout_opt_ PPS_CREATE_NOTIFY_INFO CreateInfo);
typedef CREATE_PROCESS_NOTIFY_ROUTINE_EX *PCREATE_PROCESS_NOTIFY_ROUTINE_EX;

typedef enum _PSCREATEPROCESSNOTIFYTYPE {
    PsCreateProcessNotifySubsystems = 0
} PSCREATEPROCESSNOTIFYTYPE;

/*
 * Registers a routine that is called when the process begins and exits, or removes the routine if Remove is TRUE. A
 * removal waits until the routine has returned. The routine runs at PASSIVE_LEVEL in a critical region, and must not
 * remove itself. Returns STATUS_INVALID_PARAMETER if the routine is already registered, or if 64 routines are
 * registered. Returns STATUS_PROCEDURE_NOT_FOUND if the routine that Remove names is not registered. A routine that is
 * still registered at the unload is reported. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS PsSetCreateProcessNotifyRoutine(_In_ PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine,
                                                     _In_ BOOLEAN Remove);
NTKERNELAPI NTSTATUS PsSetCreateProcessNotifyRoutineEx(_In_ PCREATE_PROCESS_NOTIFY_ROUTINE_EX NotifyRoutine,
                                                       _In_ BOOLEAN Remove);
/* NotifyInformation is a PCREATE_PROCESS_NOTIFY_ROUTINE_EX. */
NTKERNELAPI NTSTATUS PsSetCreateProcessNotifyRoutineEx2(_In_ PSCREATEPROCESSNOTIFYTYPE NotifyType,
                                                        _In_ PVOID NotifyInformation, _In_ BOOLEAN Remove);

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef enum _THREADINFOCLASS {
    ThreadBasicInformation,
    ThreadTimes,
    ThreadPriority,
    ThreadBasePriority,
    ThreadAffinityMask,
    ThreadImpersonationToken,
    ThreadDescriptorTableEntry,
    ThreadEnableAlignmentFaultFixup,
    ThreadEventPair_Reusable,
    ThreadQuerySetWin32StartAddress,
    ThreadZeroTlsCell,
    ThreadPerformanceCount,
    ThreadAmILastThread,
    ThreadIdealProcessor,
    ThreadPriorityBoost,
    ThreadSetTlsArrayAddress,
    ThreadIsIoPending,
    ThreadHideFromDebugger,
    ThreadBreakOnTermination,
    ThreadSwitchLegacyState,
    ThreadIsTerminated,
    ThreadLastSystemCall,
    ThreadIoPriority,
    ThreadCycleTime,
    ThreadPagePriority,
    ThreadActualBasePriority,
    ThreadTebInformation,
    ThreadCSwitchMon,
    ThreadCSwitchPmu,
    ThreadWow64Context,
    ThreadGroupInformation,
    ThreadUmsInformation,
    ThreadCounterProfiling,
    ThreadIdealProcessorEx,
    ThreadNameInformation = 38,
    MaxThreadInfoClass
} THREADINFOCLASS;

typedef struct _PAGE_PRIORITY_INFORMATION {
    ULONG PagePriority;
} PAGE_PRIORITY_INFORMATION, *PPAGE_PRIORITY_INFORMATION;

/*
 * Stores ThreadPriority, which KeQueryPriorityThread returns, or ThreadBasePriority, as KeSetBasePriorityThread does.
 * Checks ThreadPagePriority, ThreadGroupInformation, ThreadIdealProcessorEx and ThreadNameInformation. None has an
 * effect, because the host schedules threads. Stores the former ideal processor, which is always the first one. Returns
 * STATUS_INVALID_INFO_CLASS for other classes, STATUS_INFO_LENGTH_MISMATCH for a wrong length, and
 * STATUS_INVALID_PARAMETER for a priority or processor that does not exist. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS ZwSetInformationThread(_In_ HANDLE ThreadHandle, _In_ THREADINFOCLASS ThreadInformationClass,
                                            _In_ PVOID ThreadInformation, _In_ ULONG ThreadInformationLength);
NTKERNELAPI NTSTATUS NtSetInformationThread(_In_ HANDLE ThreadHandle, _In_ THREADINFOCLASS ThreadInformationClass,
                                            _In_ PVOID ThreadInformation, _In_ ULONG ThreadInformationLength);
/*
 * Stores the priority 8 + Increment, but at least 1 and at most 15. Returns the former increment. The priority has no
 * effect. PASSIVE_LEVEL.
 */
NTKERNELAPI LONG KeSetBasePriorityThread(_Inout_ PKTHREAD Thread, _In_ LONG Increment);

EXTERN_C_END

#endif
