/* SPDX-License-Identifier: MIT */
/* Work items as drivers queue them: see worker.c for who runs them. */
#include <stdlib.h>

#include "wdm.h"

#include "wdk/inuse.h"
#include "wdk/live.h"
#include "wdk/object.h"
#include "wdk/thread.h"
#include "wdk/worker.h"

/* An item of the Ex kind whose routine calls the driver's. */
struct _IO_WORKITEM {
    WORK_QUEUE_ITEM item;
    PVOID object;
    PIO_WORKITEM_ROUTINE routine;
    PIO_WORKITEM_ROUTINE_EX routine_ex; /* one of the two */
    PVOID context;
};

static void report_queued(const char *routine, const void *item)
{
    if (check_on())
        check_failed(CHECK_WORK_ITEM_QUEUED, routine, (uintptr_t)item, 0, 0, 0, "%p", item);
}

VOID ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("ExQueueWorkItem", DISPATCH_LEVEL);
    if (!worker_queue(WorkItem))
        report_queued("ExQueueWorkItem", WorkItem);
}

/* By now the item can be queued again or freed, by the driver's routine at the latest. */
static VOID run(PVOID parameter)
{
    struct _IO_WORKITEM w = *(struct _IO_WORKITEM *)parameter;

    worker_runs(w.routine ? (const void *)(uintptr_t)w.routine : (const void *)(uintptr_t)w.routine_ex);
    if (w.routine)
        w.routine(w.object, w.context);
    else
        w.routine_ex(w.object, w.context, parameter);
    object_put(w.object);
}

const void *worker_routine(const WORK_QUEUE_ITEM *item)
{
    const struct _IO_WORKITEM *w = CONTAINING_RECORD(item, struct _IO_WORKITEM, item);

    if (item->WorkerRoutine != run)
        return (const void *)(uintptr_t)item->WorkerRoutine;
    return w->routine ? (const void *)(uintptr_t)w->routine : (const void *)(uintptr_t)w->routine_ex;
}

static bool queue(PIO_WORKITEM w, PIO_WORKITEM_ROUTINE routine, PIO_WORKITEM_ROUTINE_EX routine_ex, PVOID context)
{
    if (check_on() && worker_is_queued(&w->item))
        return false; /* and keeps what it was queued with */
    w->routine = routine;
    w->routine_ex = routine_ex;
    w->context = context;
    object_get(w->object);
    if (worker_queue(&w->item))
        return true;
    object_put(w->object);
    return false;
}

VOID IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem)
{
    inuse_check_init("IoInitializeWorkItem", IoWorkItem, sizeof *IoWorkItem);
    *IoWorkItem = (struct _IO_WORKITEM){ .object = IoObject };
    ExInitializeWorkItem(&IoWorkItem->item, run, IoWorkItem);
}

VOID IoUninitializeWorkItem(PIO_WORKITEM IoWorkItem)
{
    inuse_check("IoUninitializeWorkItem", IoWorkItem, sizeof *IoWorkItem);
}

ULONG IoSizeofWorkItem(VOID)
{
    return sizeof(struct _IO_WORKITEM);
}

PIO_WORKITEM IoAllocateWorkItem(struct _DEVICE_OBJECT *DeviceObject)
{
    PIO_WORKITEM w = malloc(sizeof *w);

    irql_check_max("IoAllocateWorkItem", DISPATCH_LEVEL);
    if (!w)
        return NULL;
    IoInitializeWorkItem(DeviceObject, w);
    live_add(LIVE_WORK_ITEM, w, "IO_WORKITEM");
    return w;
}

VOID IoFreeWorkItem(PIO_WORKITEM IoWorkItem)
{
    irql_check_max("IoFreeWorkItem", DISPATCH_LEVEL);
    if (!live_remove(LIVE_WORK_ITEM, IoWorkItem)) {
        check_failed(CHECK_OBJECT_NOT_INITIALIZED, "IoFreeWorkItem", (uintptr_t)IoWorkItem, 0, 0, 0,
                     "%p was not allocated by IoAllocateWorkItem, or is freed already", (void *)IoWorkItem);
        return;
    }
    inuse_check("IoFreeWorkItem", IoWorkItem, sizeof *IoWorkItem);
    if (worker_remove(&IoWorkItem->item))
        object_put(IoWorkItem->object);
    free(IoWorkItem);
}

VOID IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                     PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoQueueWorkItem", DISPATCH_LEVEL);
    if (!queue(IoWorkItem, WorkerRoutine, NULL, Context))
        report_queued("IoQueueWorkItem", IoWorkItem);
}

VOID IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                       PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoQueueWorkItemEx", DISPATCH_LEVEL);
    if (!queue(IoWorkItem, NULL, WorkerRoutine, Context))
        report_queued("IoQueueWorkItemEx", IoWorkItem);
}

BOOLEAN IoTryQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                           PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoTryQueueWorkItem", DISPATCH_LEVEL);
    return !worker_is_queued(&IoWorkItem->item) && queue(IoWorkItem, NULL, WorkerRoutine, Context);
}
