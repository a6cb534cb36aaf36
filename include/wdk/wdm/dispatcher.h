/* SPDX-License-Identifier: MIT */
/*
 * Objects that threads can wait for: events, semaphores, mutexes, timers, threads; and the wait functions.
 */
#ifndef ONDK_WDK_WDM_DISPATCHER_H
#define ONDK_WDK_WDM_DISPATCHER_H

#include "../ntdef.h"

EXTERN_C_START

struct _KTHREAD;
typedef struct _KTHREAD *PKTHREAD, *PRKTHREAD;

typedef struct _DISPATCHER_HEADER {
    UCHAR Type;
    UCHAR Reserved[3];
    volatile LONG SignalState;
    LIST_ENTRY WaitListHead;
} DISPATCHER_HEADER;

typedef struct _KEVENT {
    DISPATCHER_HEADER Header;
} KEVENT, *PKEVENT, *PRKEVENT;

typedef struct _KSEMAPHORE {
    DISPATCHER_HEADER Header;
    LONG Limit;
} KSEMAPHORE, *PKSEMAPHORE, *PRKSEMAPHORE;

typedef struct _KMUTANT {
    DISPATCHER_HEADER Header;
    LIST_ENTRY MutantListEntry;
    struct _KTHREAD *OwnerThread;
    BOOLEAN Abandoned;
    UCHAR ApcDisable;
} KMUTANT, *PKMUTANT, *PRKMUTANT, KMUTEX, *PKMUTEX, *PRKMUTEX;

typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;
typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;
typedef enum _WAIT_TYPE { WaitAll, WaitAny } WAIT_TYPE;
typedef enum _MODE { KernelMode, UserMode, MaximumMode } MODE;

typedef enum _KWAIT_REASON {
    Executive,
    FreePage,
    PageIn,
    PoolAllocation,
    DelayExecution,
    Suspended,
    UserRequest,
    WrExecutive,
    WrFreePage,
    WrPageIn,
    WrPoolAllocation,
    WrDelayExecution,
    WrSuspended,
    WrUserRequest,
    MaximumWaitReason = 41
} KWAIT_REASON;

typedef struct _KWAIT_BLOCK {
    LIST_ENTRY WaitListEntry;
    UCHAR WaitType;
    UCHAR BlockState;
    USHORT WaitKey;
    struct _KTHREAD *Thread;
    PVOID Object;
    PVOID SparePtr;
} KWAIT_BLOCK, *PKWAIT_BLOCK, *PRKWAIT_BLOCK;

#define THREAD_WAIT_OBJECTS 3
#define MAXIMUM_WAIT_OBJECTS 64

#define LOW_PRIORITY 0
#define LOW_REALTIME_PRIORITY 16
#define HIGH_PRIORITY 31
#define MAXIMUM_PRIORITY 32

/* Priority increments have no effect, because the host schedules threads. */
#define IO_NO_INCREMENT 0
#define IO_CD_ROM_INCREMENT 1
#define IO_DISK_INCREMENT 1
#define IO_PARALLEL_INCREMENT 1
#define IO_VIDEO_INCREMENT 1
#define IO_MAILSLOT_INCREMENT 2
#define IO_NAMED_PIPE_INCREMENT 2
#define IO_NETWORK_INCREMENT 2
#define IO_SERIAL_INCREMENT 2
#define IO_KEYBOARD_INCREMENT 6
#define IO_MOUSE_INCREMENT 6
#define IO_SOUND_INCREMENT 8
#define EVENT_INCREMENT 1
#define SEMAPHORE_INCREMENT 1
#define MUTANT_INCREMENT 1

/*
 * The routines that change an event, or release a semaphore or mutex, require IRQL <= DISPATCH_LEVEL. If Wait is TRUE,
 * they require IRQL <= APC_LEVEL, and the thread's next call must be a wait. Unlike on Windows, the change and the wait
 * are not one atomic step.
 */
NTKERNELAPI VOID KeInitializeEvent(_Out_ PRKEVENT Event, _In_ EVENT_TYPE Type, _In_ BOOLEAN State);
NTKERNELAPI LONG KeSetEvent(_Inout_ PRKEVENT Event, _In_ KPRIORITY Increment, _In_ BOOLEAN Wait);
NTKERNELAPI LONG KeResetEvent(_Inout_ PRKEVENT Event);
NTKERNELAPI VOID KeClearEvent(_Inout_ PRKEVENT Event);
NTKERNELAPI LONG KePulseEvent(_Inout_ PRKEVENT Event, _In_ KPRIORITY Increment, _In_ BOOLEAN Wait);
NTKERNELAPI LONG KeReadStateEvent(_In_ PRKEVENT Event);

/*
 * A release of a semaphore beyond its limit leaves the count unchanged and raises STATUS_SEMAPHORE_LIMIT_EXCEEDED.
 */
NTKERNELAPI VOID KeInitializeSemaphore(_Out_ PRKSEMAPHORE Semaphore, _In_ LONG Count, _In_ LONG Limit);
NTKERNELAPI LONG KeReleaseSemaphore(_Inout_ PRKSEMAPHORE Semaphore, _In_ KPRIORITY Increment, _In_ LONG Adjustment,
                                    _In_ BOOLEAN Wait);
NTKERNELAPI LONG KeReadStateSemaphore(_In_ PRKSEMAPHORE Semaphore);

/*
 * A thread owns a mutex, and may acquire it again. A wait for a mutex whose owner has ended returns
 * STATUS_ABANDONED_WAIT_0. A release by another thread raises STATUS_MUTANT_NOT_OWNED.
 */
NTKERNELAPI VOID KeInitializeMutex(_Out_ PRKMUTEX Mutex, _In_ ULONG Level);
NTKERNELAPI LONG KeReleaseMutex(_Inout_ PRKMUTEX Mutex, _In_ BOOLEAN Wait);
NTKERNELAPI LONG KeReadStateMutex(_In_ PRKMUTEX Mutex);

/*
 * Timeouts are in units of 100 ns. A negative timeout is relative. A positive timeout is a system time since 1601. If
 * the timeout is zero, the functions do not wait. If the pointer is NULL, there is no limit. IRQL <= DISPATCH_LEVEL
 * with a timeout of zero, otherwise IRQL <= APC_LEVEL. For more than THREAD_WAIT_OBJECTS objects, the caller must pass
 * an array of wait blocks. Alertable and WaitMode have no effect, because this kernel has no alerts and no user APCs.
 * KeDelayExecutionThread waits for the interval, which must not be NULL; always IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS KeWaitForSingleObject(_In_ PVOID Object, _In_ KWAIT_REASON WaitReason,
                                           _In_ KPROCESSOR_MODE WaitMode,
                                           _In_ BOOLEAN Alertable, _In_opt_ PLARGE_INTEGER Timeout);
NTKERNELAPI NTSTATUS KeWaitForMultipleObjects(_In_ ULONG Count, _In_reads_(Count) PVOID Object[],
                                              _In_ WAIT_TYPE WaitType,
                                              _In_ KWAIT_REASON WaitReason, _In_ KPROCESSOR_MODE WaitMode,
                                              _In_ BOOLEAN Alertable, _In_opt_ PLARGE_INTEGER Timeout,
                                              _Out_opt_ PKWAIT_BLOCK WaitBlockArray);
NTKERNELAPI NTSTATUS KeDelayExecutionThread(_In_ KPROCESSOR_MODE WaitMode, _In_ BOOLEAN Alertable,
                                            _In_ PLARGE_INTEGER Interval);
#define KeWaitForMutexObject KeWaitForSingleObject

EXTERN_C_END

#endif
