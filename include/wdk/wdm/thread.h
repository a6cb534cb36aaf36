/* SPDX-License-Identifier: MIT */
/*
 * System threads, processors, time.
 */
#ifndef ONDK_WDK_WDM_THREAD_H
#define ONDK_WDK_WDM_THREAD_H

#include "../ntdef.h"

EXTERN_C_START

struct _KTHREAD;
struct _ETHREAD;
struct _EPROCESS;
typedef struct _KTHREAD *PKTHREAD, *PRKTHREAD;
typedef struct _KTHREAD *PETHREAD; /* KTHREAD and ETHREAD are the same object, as drivers assume */
typedef struct _EPROCESS *PEPROCESS, *PKPROCESS;
#define _ETHREAD _KTHREAD
#define _KPROCESS _EPROCESS

typedef VOID KSTART_ROUTINE(_In_ PVOID StartContext);
typedef KSTART_ROUTINE *PKSTART_ROUTINE;

typedef struct _CLIENT_ID {
    HANDLE UniqueProcess;
    HANDLE UniqueThread;
} CLIENT_ID, *PCLIENT_ID;

#define THREAD_TERMINATE 0x0001
#define THREAD_SUSPEND_RESUME 0x0002
#define THREAD_ALERT 0x0004
#define THREAD_GET_CONTEXT 0x0008
#define THREAD_SET_CONTEXT 0x0010
#define THREAD_SET_INFORMATION 0x0020
#define THREAD_QUERY_INFORMATION 0x0040
#define THREAD_SET_LIMITED_INFORMATION 0x0400
#define THREAD_QUERY_LIMITED_INFORMATION 0x0800
#define THREAD_ALL_ACCESS 0x001fffff

/*
 * Creates a thread, which begins at PASSIVE_LEVEL. The caller must close the handle. DesiredAccess, ObjectAttributes
 * and ProcessHandle have no effect. Requires PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS PsCreateSystemThread(_Out_ PHANDLE ThreadHandle, _In_ ULONG DesiredAccess,
                                          _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_opt_ HANDLE ProcessHandle,
                                          _Out_opt_ PCLIENT_ID ClientId, _In_ PKSTART_ROUTINE StartRoutine,
                                          _In_opt_ PVOID StartContext);
/*
 * Works like PsCreateSystemThread, for a thread of the driver or device IoObject. Does not keep the driver loaded, so
 * the driver must wait for the thread.
 */
FORCEINLINE NTSTATUS IoCreateSystemThread(_Inout_ PVOID IoObject, _Out_ PHANDLE ThreadHandle, _In_ ULONG DesiredAccess,
                                          _In_opt_ POBJECT_ATTRIBUTES ObjectAttributes, _In_opt_ HANDLE ProcessHandle,
                                          _Out_opt_ PCLIENT_ID ClientId, _In_ PKSTART_ROUTINE StartRoutine,
                                          _In_opt_ PVOID StartContext)
{
    (void)IoObject;
    return PsCreateSystemThread(ThreadHandle, DesiredAccess, ObjectAttributes, ProcessHandle, ClientId, StartRoutine,
                                StartContext);
}
NTKERNELAPI NTSTATUS PsTerminateSystemThread(_In_ NTSTATUS ExitStatus);

NTKERNELAPI PKTHREAD KeGetCurrentThread(VOID);
#define PsGetCurrentThread() ((PETHREAD)KeGetCurrentThread())
NTKERNELAPI HANDLE PsGetCurrentThreadId(VOID);
NTKERNELAPI HANDLE PsGetThreadId(_In_ PETHREAD Thread);
NTKERNELAPI NTSTATUS PsGetThreadExitStatus(_In_ PETHREAD Thread);
NTKERNELAPI BOOLEAN PsIsSystemThread(_In_ PETHREAD Thread);
NTKERNELAPI PEPROCESS IoGetCurrentProcess(VOID);
#define PsGetCurrentProcess() IoGetCurrentProcess()

/*
 * These routines return the bounds of the current thread's stack, and the number of bytes below the caller's frame. A
 * stack has the host's size, usually 8 MiB; a stack of Windows has 24 KiB. Any IRQL; IoGetInitialStack requires
 * IRQL <= APC_LEVEL.
 */
NTKERNELAPI VOID IoGetStackLimits(_Out_ PULONG_PTR LowLimit, _Out_ PULONG_PTR HighLimit);
NTKERNELAPI PVOID IoGetInitialStack(VOID);
FORCEINLINE ULONG_PTR IoGetRemainingStackSize(VOID)
{
    ULONG_PTR low, high;

    IoGetStackLimits(&low, &high);
    return (ULONG_PTR)__builtin_frame_address(0) - low;
}
NTKERNELAPI HANDLE PsGetCurrentProcessId(VOID);
/* There is one process. Routines that ignore a handle accept the process's handle and that of the current thread. */
FORCEINLINE HANDLE PsGetProcessId(_In_ PEPROCESS Process)
{
    (void)Process;
    return PsGetCurrentProcessId();
}
FORCEINLINE HANDLE PsGetThreadProcessId(_In_ PETHREAD Thread)
{
    (void)Thread;
    return PsGetCurrentProcessId();
}
#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#define ZwCurrentProcess() NtCurrentProcess()
#define NtCurrentThread() ((HANDLE)(LONG_PTR)-2)
#define ZwCurrentThread() NtCurrentThread()
extern NTKERNELAPI PEPROCESS PsInitialSystemProcess;

/* Priorities are stored and returned, but do not affect the host's scheduling. */
NTKERNELAPI KPRIORITY KeSetPriorityThread(_Inout_ PKTHREAD Thread, _In_ KPRIORITY Priority);
NTKERNELAPI KPRIORITY KeQueryPriorityThread(_In_ PKTHREAD Thread);

/* ---- Processors on which this process may run, in groups of 64 --------------------------------------------------- */

#define ALL_PROCESSOR_GROUPS 0xffff
#define MAXIMUM_PROC_PER_GROUP 64
#define INVALID_PROCESSOR_INDEX 0xffffffff

NTKERNELAPI ULONG KeQueryActiveProcessorCount(_Out_opt_ PKAFFINITY ActiveProcessors);
NTKERNELAPI ULONG KeQueryActiveProcessorCountEx(_In_ USHORT GroupNumber);
NTKERNELAPI ULONG KeQueryMaximumProcessorCount(VOID);
NTKERNELAPI ULONG KeQueryMaximumProcessorCountEx(_In_ USHORT GroupNumber);
NTKERNELAPI USHORT KeQueryActiveGroupCount(VOID);
NTKERNELAPI USHORT KeQueryMaximumGroupCount(VOID);
NTKERNELAPI KAFFINITY KeQueryActiveProcessors(VOID);
NTKERNELAPI KAFFINITY KeQueryGroupAffinity(_In_ USHORT GroupNumber);
NTKERNELAPI ULONG KeGetCurrentProcessorNumberEx(_Out_opt_ PPROCESSOR_NUMBER ProcNumber);
#define KeGetCurrentProcessorNumber() KeGetCurrentProcessorNumberEx(NULL)
#define KeGetCurrentProcessorIndex() KeGetCurrentProcessorNumberEx(NULL)
NTKERNELAPI NTSTATUS KeGetProcessorNumberFromIndex(_In_ ULONG ProcIndex, _Out_ PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI ULONG KeGetProcessorIndexFromNumber(_In_ PPROCESSOR_NUMBER ProcNumber);
NTKERNELAPI USHORT KeQueryHighestNodeNumber(VOID);
NTKERNELAPI USHORT KeGetCurrentNodeNumber(VOID);
NTKERNELAPI VOID KeQueryNodeActiveAffinity(_In_ USHORT NodeNumber, _Out_opt_ PGROUP_AFFINITY Affinity,
                                           _Out_opt_ PUSHORT Count);
NTKERNELAPI USHORT KeQueryNodeMaximumProcessorCount(_In_ USHORT NodeNumber);

/*
 * These routines set or restore the processors on which the calling thread may run. A set without active processors has
 * no effect. IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI KAFFINITY KeSetSystemAffinityThreadEx(_In_ KAFFINITY Affinity);
NTKERNELAPI VOID KeRevertToUserAffinityThreadEx(_In_ KAFFINITY Affinity);
NTKERNELAPI VOID KeSetSystemAffinityThread(_In_ KAFFINITY Affinity);
NTKERNELAPI VOID KeRevertToUserAffinityThread(VOID);
NTKERNELAPI VOID KeSetSystemGroupAffinityThread(_In_ PGROUP_AFFINITY Affinity,
                                                _Out_opt_ PGROUP_AFFINITY PreviousAffinity);
NTKERNELAPI VOID KeRevertToUserGroupAffinityThread(_In_ PGROUP_AFFINITY PreviousAffinity);

/* ---- Time, in units of 100 ns ------------------------------------------------------------------------------------ */

NTKERNELAPI LARGE_INTEGER KeQueryPerformanceCounter(_Out_opt_ PLARGE_INTEGER PerformanceFrequency);
NTKERNELAPI VOID KeQuerySystemTime(_Out_ PLARGE_INTEGER CurrentTime);
NTKERNELAPI VOID KeQuerySystemTimePrecise(_Out_ PLARGE_INTEGER CurrentTime);
NTKERNELAPI ULONGLONG KeQueryInterruptTime(VOID);
NTKERNELAPI ULONG64 KeQueryInterruptTimePrecise(_Out_ PULONG64 QpcTimeStamp);
NTKERNELAPI ULONGLONG KeQueryUnbiasedInterruptTime(VOID);
NTKERNELAPI VOID KeQueryTickCount(_Out_ PLARGE_INTEGER TickCount);
NTKERNELAPI ULONG KeQueryTimeIncrement(VOID);
NTKERNELAPI VOID KeStallExecutionProcessor(_In_ ULONG MicroSeconds);
NTKERNELAPI VOID ExSystemTimeToLocalTime(_In_ PLARGE_INTEGER SystemTime, _Out_ PLARGE_INTEGER LocalTime);
NTKERNELAPI VOID ExLocalTimeToSystemTime(_In_ PLARGE_INTEGER LocalTime, _Out_ PLARGE_INTEGER SystemTime);

/* ---- References -------------------------------------------------------------------------------------------------- */

typedef struct _OBJECT_TYPE *POBJECT_TYPE;

typedef struct _OBJECT_HANDLE_INFORMATION {
    ULONG HandleAttributes;
    ACCESS_MASK GrantedAccess;
} OBJECT_HANDLE_INFORMATION, *POBJECT_HANDLE_INFORMATION;

extern NTKERNELAPI POBJECT_TYPE *PsThreadType;
extern NTKERNELAPI POBJECT_TYPE *PsProcessType;

/*
 * These routines change the reference counts of objects to which handles can refer: threads, files, devices.
 * IRQL <= DISPATCH_LEVEL.
 */
NTKERNELAPI LONG_PTR ObfReferenceObject(_In_ PVOID Object);
NTKERNELAPI LONG_PTR ObfDereferenceObject(_In_ PVOID Object);
NTKERNELAPI VOID ObDereferenceObjectDeferDelete(_In_ PVOID Object);
NTKERNELAPI NTSTATUS ObReferenceObjectByPointer(_In_ PVOID Object, _In_ ACCESS_MASK DesiredAccess,
                                                _In_opt_ POBJECT_TYPE ObjectType, _In_ KPROCESSOR_MODE AccessMode);
#define ObReferenceObject(object) ObfReferenceObject(object)
#define ObDereferenceObject(object) ObfDereferenceObject(object)

/* The tags have no effect. */
#define ObReferenceObjectWithTag(object, tag) ((VOID)(tag), ObfReferenceObject(object))
#define ObDereferenceObjectWithTag(object, tag) ((VOID)(tag), ObfDereferenceObject(object))
#define ObDereferenceObjectDeferDeleteWithTag(object, tag) ((VOID)(tag), ObDereferenceObjectDeferDelete(object))
#define ObReferenceObjectByPointerWithTag(object, access, type, mode, tag) \
    ((VOID)(tag), ObReferenceObjectByPointer(object, access, type, mode))
#define ObReferenceObjectByHandleWithTag(handle, access, type, mode, tag, object, information) \
    ((VOID)(tag), ObReferenceObjectByHandle(handle, access, type, mode, object, information))

/* PASSIVE_LEVEL. Access rights are not checked. */
NTKERNELAPI NTSTATUS ObReferenceObjectByHandle(_In_ HANDLE Handle, _In_ ACCESS_MASK DesiredAccess,
                                               _In_opt_ POBJECT_TYPE ObjectType, _In_ KPROCESSOR_MODE AccessMode,
                                               _Out_ PVOID *Object,
                                               _Out_opt_ POBJECT_HANDLE_INFORMATION HandleInformation);

EXTERN_C_END

#endif
