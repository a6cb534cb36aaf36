/* SPDX-License-Identifier: MIT */
/*
 * Work items: routines that system threads call at PASSIVE_LEVEL in the order of queueing. Up to 64 items run at the
 * same time, so an item that blocks does not delay the others. The queue type has no effect.
 */
#ifndef ONDK_WDK_WDM_WORK_H
#define ONDK_WDK_WDM_WORK_H

#include "../ntdef.h"

EXTERN_C_START

struct _DEVICE_OBJECT;
typedef struct _IO_WORKITEM *PIO_WORKITEM;

typedef enum _WORK_QUEUE_TYPE {
    CriticalWorkQueue,
    DelayedWorkQueue,
    HyperCriticalWorkQueue,
    NormalWorkQueue,
    BackgroundWorkQueue,
    RealTimeWorkQueue,
    SuperCriticalWorkQueue,
    MaximumWorkQueue,
    CustomPriorityWorkQueue = 32
} WORK_QUEUE_TYPE;

typedef VOID WORKER_THREAD_ROUTINE(_In_ PVOID Parameter);
typedef WORKER_THREAD_ROUTINE *PWORKER_THREAD_ROUTINE;
typedef VOID IO_WORKITEM_ROUTINE(_In_ struct _DEVICE_OBJECT *DeviceObject, _In_opt_ PVOID Context);
typedef IO_WORKITEM_ROUTINE *PIO_WORKITEM_ROUTINE;
typedef VOID IO_WORKITEM_ROUTINE_EX(_In_ PVOID IoObject, _In_opt_ PVOID Context, _In_ PIO_WORKITEM IoWorkItem);
typedef IO_WORKITEM_ROUTINE_EX *PIO_WORKITEM_ROUTINE_EX;

typedef struct _WORK_QUEUE_ITEM {
    LIST_ENTRY List; /* Flink is NULL while the item is in no queue */
    PWORKER_THREAD_ROUTINE WorkerRoutine;
    PVOID volatile Parameter;
} WORK_QUEUE_ITEM, *PWORK_QUEUE_ITEM;

/*
 * The driver provides the item's memory. From the call of the item's routine on, the item may be freed or queued again.
 * IRQL <= DISPATCH_LEVEL.
 */
FORCEINLINE VOID ExInitializeWorkItem(_Out_ PWORK_QUEUE_ITEM Item, _In_ PWORKER_THREAD_ROUTINE Routine,
                                      _In_opt_ PVOID Context)
{
    Item->WorkerRoutine = Routine;
    Item->Parameter = Context;
    Item->List.Flink = NULL;
}
NTKERNELAPI VOID ExQueueWorkItem(_Inout_ PWORK_QUEUE_ITEM WorkItem, _In_ WORK_QUEUE_TYPE QueueType);

/*
 * A queued item has a reference on its device or driver object until its routine has returned. The routine may free the
 * item or queue it again. IRQL <= DISPATCH_LEVEL; IoInitializeWorkItem and IoUninitializeWorkItem: any IRQL.
 */
NTKERNELAPI PIO_WORKITEM IoAllocateWorkItem(_In_ struct _DEVICE_OBJECT *DeviceObject);
NTKERNELAPI VOID IoFreeWorkItem(_In_ PIO_WORKITEM IoWorkItem);
NTKERNELAPI VOID IoQueueWorkItem(_Inout_ PIO_WORKITEM IoWorkItem, _In_ PIO_WORKITEM_ROUTINE WorkerRoutine,
                                 _In_ WORK_QUEUE_TYPE QueueType, _In_opt_ PVOID Context);
NTKERNELAPI VOID IoQueueWorkItemEx(_Inout_ PIO_WORKITEM IoWorkItem, _In_ PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                                   _In_ WORK_QUEUE_TYPE QueueType, _In_opt_ PVOID Context);
/* Returns FALSE if the item is already queued. */
NTKERNELAPI BOOLEAN IoTryQueueWorkItem(_Inout_ PIO_WORKITEM IoWorkItem, _In_ PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                                       _In_ WORK_QUEUE_TYPE QueueType, _In_opt_ PVOID Context);
NTKERNELAPI ULONG IoSizeofWorkItem(VOID);
NTKERNELAPI VOID IoInitializeWorkItem(_In_ PVOID IoObject, _Out_ PIO_WORKITEM IoWorkItem);
NTKERNELAPI VOID IoUninitializeWorkItem(_Inout_ PIO_WORKITEM IoWorkItem);

EXTERN_C_END

#endif
