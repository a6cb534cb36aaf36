/* SPDX-License-Identifier: MIT */
/* Implements work items of drivers: WORK_QUEUE_ITEM (Ex) and IO_WORKITEM (Io). worker.c runs them. */
#include <stdlib.h>

#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ex/worker.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

/* A WORK_QUEUE_ITEM whose routine is work_io_marker. A worker thread runs `call` instead of that routine. */
struct _IO_WORKITEM {
    WORK_QUEUE_ITEM item;
    struct worker_call call;
};

static void work_report_queued(const char *routine, const void *item)
{
    if (check_on())
        check_failed(CHECK_WORK_ITEM_QUEUED, routine, (uintptr_t)item, 0, 0, 0, "%p", item);
}

VOID ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("ExQueueWorkItem", DISPATCH_LEVEL);
    if (!worker_queue(WorkItem, NULL, NULL))
        work_report_queued("ExQueueWorkItem", WorkItem);
}

/* Never called. An item that has this WorkerRoutine is part of an IO_WORKITEM. */
static VOID work_io_marker(PVOID parameter)
{
    UNREFERENCED_PARAMETER(parameter);
}

struct worker_call worker_call_of(const WORK_QUEUE_ITEM *item)
{
    if (item->WorkerRoutine == work_io_marker)
        return CONTAINING_RECORD(item, struct _IO_WORKITEM, item)->call;
    return (struct worker_call){ .routine = item->WorkerRoutine, .context = item->Parameter };
}

const void *worker_call_routine(const struct worker_call *c)
{
    if (c->routine)
        return (const void *)(uintptr_t)c->routine;
    return c->io ? (const void *)(uintptr_t)c->io : (const void *)(uintptr_t)c->io_ex;
}

void worker_call_run(const struct worker_call *c)
{
    if (c->routine) {
        c->routine(c->context);
        return;
    }
    if (c->io)
        c->io(c->object, c->context);
    else
        c->io_ex(c->object, c->context, c->item);
    ob_unref(c->object);
}

/*
 * Stores the call in the item. worker_queue calls this function only for an item that is not queued yet, so the call of
 * a queued item does not change.
 */
static void work_prepare_io(void *context)
{
    struct worker_call *c = context;

    c->object = c->item->call.object;
    c->item->call = *c;
    ob_ref(c->object);
}

static bool work_queue_io(PIO_WORKITEM w, PIO_WORKITEM_ROUTINE io, PIO_WORKITEM_ROUTINE_EX io_ex, PVOID context)
{
    struct worker_call c = { .io = io, .io_ex = io_ex, .context = context, .item = w };

    return worker_queue(&w->item, work_prepare_io, &c);
}

VOID IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem)
{
    inuse_check_init("IoInitializeWorkItem", IoWorkItem, sizeof *IoWorkItem);
    *IoWorkItem = (struct _IO_WORKITEM){ .call = { .object = IoObject } };
    ExInitializeWorkItem(&IoWorkItem->item, work_io_marker, IoWorkItem);
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
        ob_unref(IoWorkItem->call.object);
    free(IoWorkItem);
}

VOID IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                     PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoQueueWorkItem", DISPATCH_LEVEL);
    if (!work_queue_io(IoWorkItem, WorkerRoutine, NULL, Context))
        work_report_queued("IoQueueWorkItem", IoWorkItem);
}

VOID IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                       PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoQueueWorkItemEx", DISPATCH_LEVEL);
    if (!work_queue_io(IoWorkItem, NULL, WorkerRoutine, Context))
        work_report_queued("IoQueueWorkItemEx", IoWorkItem);
}

BOOLEAN IoTryQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine, WORK_QUEUE_TYPE QueueType,
                           PVOID Context)
{
    UNREFERENCED_PARAMETER(QueueType);
    irql_check_max("IoTryQueueWorkItem", DISPATCH_LEVEL);
    return work_queue_io(IoWorkItem, NULL, WorkerRoutine, Context);
}
