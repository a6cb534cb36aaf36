/* SPDX-License-Identifier: MIT */
/* Cases of wdfqueues: cancellation, deletions beside a callback, and callbacks that wait for themselves. */
#include "wdfqueues_driver.h"

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

static VOID note_canceled(WDFREQUEST Request)
{
    if (WdfRequestIsCanceled(Request))
        InterlockedIncrement(&scene.first);
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID note_canceled_on_queue(WDFQUEUE Queue, WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Queue);
    note_canceled(Request);
}

/* The IRP is not cancelled, but the request is. */
static ULONG check_is_canceled(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    struct sent sent;
    WDFQUEUE manual;

    scene.cancel = note_canceled;
    CHECK(send(&sent, MARK) == STATUS_PENDING);
    WdfIoQueuePurgeSynchronously(scene.queue);
    CHECK(sent_status(&sent) == STATUS_CANCELLED && scene.first == 1);
    WdfIoQueueStart(scene.queue);
    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(!WdfRequestIsCanceled(scene.held));
    WdfIoQueuePurge(scene.queue, NULL, NULL);
    WdfRequestMarkCancelable(scene.held, note_canceled);
    CHECK(sent_status(&sent) == STATUS_CANCELLED && scene.first == 2);
    WdfIoQueueStart(scene.queue);
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    config.EvtIoCanceledOnQueue = note_canceled_on_queue;
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &manual)));
    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, manual)));
    WdfIoQueuePurge(manual, NULL, NULL);
    CHECK(sent_status(&sent) == STATUS_CANCELLED && scene.first == 3);
    return 0;
}

/*
 * Cancels the IRP in two steps, as IoCancelIrp does: it removes the routine, and then calls it. In between the request
 * is still in the queue, but cannot be retrieved.
 */
static ULONG check_notice_behind(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    struct sent behind, sent;
    PDRIVER_CANCEL routine;
    WDFREQUEST request;
    WDFQUEUE manual;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &manual)));
    CHECK(NT_SUCCESS(WdfIoQueueReadyNotify(manual, count_state, (WDFCONTEXT)&scene.first)));
    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, manual)) && scene.first == 1);
    IoAcquireCancelSpinLock(&sent.irp->CancelIrql);
    sent.irp->Cancel = TRUE;
    routine = IoSetCancelRoutine(sent.irp, NULL);
    IoReleaseCancelSpinLock(sent.irp->CancelIrql);
    CHECK(WdfIoQueueRetrieveNextRequest(manual, &request) == STATUS_NO_MORE_ENTRIES);
    CHECK(send(&behind, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, manual)));
    CHECK(scene.first == 2);
    IoAcquireCancelSpinLock(&sent.irp->CancelIrql);
    routine(WdfDeviceWdmGetDeviceObject(scene.device), sent.irp);
    CHECK(sent_status(&sent) == STATUS_CANCELLED);
    CHECK(NT_SUCCESS(WdfIoQueueRetrieveNextRequest(manual, &request)));
    WdfRequestComplete(request, STATUS_SUCCESS);
    CHECK(NT_SUCCESS(sent_status(&behind)));
    return 0;
}

static VOID count_second(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    InterlockedIncrement(&scene.second);
}

/* Completes the last request of the queue, and returns when another thread has deleted the queue. */
static VOID complete_and_linger(WDFREQUEST Request)
{
    WdfRequestComplete(Request, STATUS_CANCELLED);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
    wait_for(&scene.done);
    scene.first = scene.second; /* 0: the queue still exists, and so does the lock that this callback holds */
}

static struct sent marked;

static VOID cancel_marked(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    IoCancelIrp(marked.irp);
}

static ULONG check_deleted_in_cancel(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    WDFREQUEST request;
    WDFQUEUE manual;
    PVOID thread;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtDestroyCallback = count_second;
    attributes.ExecutionLevel = WdfExecutionLevelPassive;
    attributes.SynchronizationScope = WdfSynchronizationScopeQueue;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &manual)));
    CHECK(send(&marked, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, manual)));
    CHECK(NT_SUCCESS(WdfIoQueueRetrieveNextRequest(manual, &request)));
    WdfRequestMarkCancelable(request, complete_and_linger);
    thread = thread_begin(cancel_marked);
    wait_for(&scene.go);
    scene.first = -1;
    WdfObjectDelete(manual);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
    thread_end(thread);
    CHECK(sent_status(&marked) == STATUS_CANCELLED);
    CHECK(scene.first == 0 && scene.second == 1);
    return 0;
}

static WDFQUEUE noticed;

static VOID linger_in_notice(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(Context);
    KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
    wait_for(&scene.go);
    InterlockedIncrement(&scene.first);
}

static VOID forward_request(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    (VOID)WdfRequestForwardToIoQueue(scene.held, noticed);
}

static VOID purge_noticed(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfIoQueuePurge(noticed, linger_in_notice, NULL);
}

/* Lets the notice end after the deletion has begun. A shorter time only weakens the test. */
static VOID end_notice(PVOID Context)
{
    LARGE_INTEGER time = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &time);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
}

/* Another thread makes the notice run: with a request that arrives, or with a purge. */
static ULONG delete_in_notice(VOID (*Cause)(PVOID))
{
    WDF_IO_QUEUE_CONFIG config;
    PVOID cause, ends;
    LONG before = scene.first, after;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &noticed)));
    if (Cause == forward_request)
        CHECK(NT_SUCCESS(WdfIoQueueReadyNotify(noticed, linger_in_notice, NULL)));
    KeClearEvent(&scene.arrived);
    KeClearEvent(&scene.go);
    cause = thread_begin(Cause);
    wait_for(&scene.arrived);
    ends = thread_begin(end_notice);
    WdfObjectDelete(noticed);
    after = ReadAcquire(&scene.first);
    thread_end(cause);
    thread_end(ends);
    CHECK(after == before + 1);
    return 0;
}

static VOID delete_queue(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfObjectDelete(Queue);
    InterlockedIncrement(&scene.first);
}

static ULONG check_deleted_in_notice(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    struct sent sent;
    ULONG line;

    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    line = delete_in_notice(forward_request);
    CHECK(sent_status(&sent) == STATUS_CANCELLED);
    if (!line)
        line = delete_in_notice(purge_noticed);
    if (line)
        return line;
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtDestroyCallback = count_second;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &noticed)));
    WdfIoQueuePurge(noticed, delete_queue, NULL);
    CHECK(scene.first == 3 && scene.second == 1);
    return 0;
}

static VOID complete_on_signal(WDFREQUEST Request)
{
    KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
    wait_for(&scene.go);
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

/*
 * This thread has a lock of callbacks, so a worker calls the cancel callback. Meanwhile the request is not the driver's
 * to complete.
 */
static ULONG delay_cancel(WDFQUEUE serialized, WDFQUEUE other)
{
    WDFREQUEST request;
    struct sent sent;
    NTSTATUS status;

    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, serialized)));
    CHECK(NT_SUCCESS(WdfIoQueueRetrieveNextRequest(serialized, &request)));
    KeClearEvent(&scene.arrived);
    KeClearEvent(&scene.go);
    WdfIoQueuePurge(serialized, NULL, NULL);
    WdfObjectAcquireLock(other);
    WdfRequestMarkCancelable(request, complete_on_signal);
    status = WdfRequestUnmarkCancelable(request);
    WdfObjectReleaseLock(other);
    wait_for(&scene.arrived);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
    CHECK(sent_status(&sent) == STATUS_CANCELLED);
    CHECK(status == STATUS_CANCELLED);
    WdfIoQueueStart(serialized);
    return 0;
}

/* Several times, because the worker may be fast. */
static ULONG check_cancel_delayed(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    WDFQUEUE serialized, other;
    ULONG line = 0;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ExecutionLevel = WdfExecutionLevelPassive;
    attributes.SynchronizationScope = WdfSynchronizationScopeQueue;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &serialized)));
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &other)));
    for (int i = 0; i < 100 && !line; i++)
        line = delay_cancel(serialized, other);
    return line;
}

/* ---- Races ------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 300 };

static VOID complete_canceled(WDFREQUEST Request)
{
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

/* Purges the queue again and again until scene.done. */
static VOID purge(PVOID Context)
{
    LARGE_INTEGER now = { .QuadPart = 0 };

    UNREFERENCED_PARAMETER(Context);
    while (KeWaitForSingleObject(&scene.done, Executive, KernelMode, FALSE, &now) == STATUS_TIMEOUT) {
        WdfIoQueueStopAndPurge(scene.queue, NULL, NULL);
        WdfIoQueueStart(scene.queue);
    }
}

/* Sends a request. Returns false if a purge has cancelled the request before it was delivered. */
static BOOLEAN send_pending(struct sent *Sent)
{
    PVOID objects[] = { &scene.arrived, &Sent->done };

    (VOID)send(Sent, HOLD);
    return KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, NULL, NULL) == STATUS_WAIT_0;
}

/* Called twice: by the cancel callback, and after WdfRequestUnmarkCancelable. The second call completes the request. */
static VOID complete_second(WDFREQUEST Request)
{
    if (InterlockedIncrement(&scene.second) == 2)
        WdfRequestComplete(Request, STATUS_CANCELLED);
}

/* Marks, unmarks and completes the held request, and returns its status. */
static NTSTATUS mark_and_complete(VOID)
{
    NTSTATUS status;

    InterlockedExchange(&scene.second, 0);
    status = WdfRequestMarkCancelableEx(scene.held, complete_second);
    if (!NT_SUCCESS(status)) {
        WdfRequestComplete(scene.held, status);
        return status;
    }
    status = WdfRequestUnmarkCancelable(scene.held);
    if (NT_SUCCESS(status))
        WdfRequestComplete(scene.held, status);
    else
        complete_second(scene.held);
    return status;
}

/* Each request completes once. */
static ULONG check_purge_race(VOID)
{
    PVOID thread = thread_begin(purge);
    struct sent sent;
    NTSTATUS status;
    ULONG wrong = 0;

    for (ULONG i = 0; i < ROUNDS && !wrong; i++) {
        status = send_pending(&sent) ? mark_and_complete() : STATUS_CANCELLED;
        wrong = sent_status(&sent) != status;
    }
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
    thread_end(thread);
    CHECK(!wrong);
    return 0;
}

/* Each request is cancelled while it is being marked. Its cancel callback completes it. */
static ULONG check_mark_race(VOID)
{
    PVOID thread;

    for (ULONG i = 0; i < ROUNDS; i++) {
        CHECK(send(&marked, HOLD) == STATUS_PENDING);
        thread = thread_begin(cancel_marked);
        WdfRequestMarkCancelable(scene.held, complete_canceled);
        thread_end(thread);
        CHECK(sent_status(&marked) == STATUS_CANCELLED);
    }
    return 0;
}

static WDFOBJECT volatile parent;

static VOID tick(WDFTIMER Timer)
{
    UNREFERENCED_PARAMETER(Timer);
}

static VOID count_first(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    InterlockedIncrement(&scene.first);
}

/* Creates timers below the parent until the parent is deleted, but not very many. */
static VOID create_timers(PVOID Context)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_TIMER_CONFIG config;
    WDFTIMER timer;

    UNREFERENCED_PARAMETER(Context);
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = parent;
    attributes.EvtCleanupCallback = count_first;
    WDF_TIMER_CONFIG_INIT(&config, tick);
    while (ReadAcquire(&scene.second) < 50 && NT_SUCCESS(WdfTimerCreate(&config, &attributes, &timer)))
        InterlockedIncrement(&scene.second);
    WdfObjectDereference(parent);
}

/* Each timer that was created is deleted with the parent. */
static ULONG check_timer_race(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    LONG created = 0;
    WDFOBJECT made;
    PVOID thread;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = scene.device;
    for (ULONG i = 0; i < 100; i++) {
        CHECK(NT_SUCCESS(WdfObjectCreate(&attributes, &made)));
        parent = made;
        WdfObjectReference(made);
        scene.second = 0;
        thread = thread_begin(create_timers);
        while (ReadAcquire(&scene.second) < 3)
            YieldProcessor();
        WdfObjectDelete(made);
        thread_end(thread);
        created += scene.second;
    }
    CHECK(scene.first == created);
    return 0;
}

/* ---- Callbacks that delete themselves ---------------------------------------------------------------------------- */

static VOID work_twice(WDFWORKITEM WorkItem)
{
    InterlockedIncrement(&scene.first);
    WdfWorkItemEnqueue(WorkItem);
    WdfObjectDelete(WorkItem);
    WdfWorkItemEnqueue(WorkItem); /* too late */
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
}

static VOID count_destroyed(WDFOBJECT Object)
{
    count_second(Object);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
}

/* Sets scene.go when the item is destroyed. */
static NTSTATUS create_work(PFN_WDF_WORKITEM Routine, WDFWORKITEM *WorkItem)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = scene.device;
    attributes.EvtDestroyCallback = count_destroyed;
    WDF_WORKITEM_CONFIG_INIT(&config, Routine);
    return WdfWorkItemCreate(&config, &attributes, WorkItem);
}

/* The second callback needs the lock that the first one holds, while the first one deletes the item. */
static ULONG check_work_requeued(VOID)
{
    WDFWORKITEM item;

    CHECK(NT_SUCCESS(create_work(work_twice, &item)));
    WdfWorkItemEnqueue(item);
    wait_for(&scene.done);
    wait_for(&scene.go); /* the second callback has ended, or was not called */
    CHECK(scene.first == 1 && scene.second == 1);
    return 0;
}

static VOID work_flushes(WDFWORKITEM WorkItem)
{
    WdfWorkItemFlush(WorkItem);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
}

static VOID timer_deletes_itself(WDFTIMER Timer)
{
    WdfObjectDelete(Timer);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
}

static VOID timer_waits(WDFTIMER Timer)
{
    (VOID)WdfTimerStop(Timer, TRUE);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
}

/* The objects that are left are deleted with the device. */
VOID break_wait_rule(ULONG Case)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_TIMER_CONFIG config;
    WDFWORKITEM item;
    WDFTIMER timer;

    if (Case == WDFQUEUES_WORK_FLUSHES) {
        if (!NT_SUCCESS(create_work(work_flushes, &item)))
            return;
        WdfWorkItemEnqueue(item);
    } else {
        WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
        attributes.ParentObject = scene.device;
        attributes.ExecutionLevel = WdfExecutionLevelPassive;
        WDF_TIMER_CONFIG_INIT(&config, Case == WDFQUEUES_TIMER_WAITS ? timer_waits : timer_deletes_itself);
        if (!NT_SUCCESS(WdfTimerCreate(&config, &attributes, &timer)))
            return;
        (VOID)WdfTimerStart(timer, WDF_REL_TIMEOUT_IN_MS(1));
    }
    wait_for(&scene.done);
}

ULONG run_object_case(ULONG Case)
{
    BOOLEAN work = Case == WDFQUEUES_WORK_REQUEUED;
    ULONG line;

    CHECK(NT_SUCCESS(scene_open(WdfIoQueueDispatchParallel,
                                work ? WdfSynchronizationScopeDevice : WdfSynchronizationScopeNone,
                                work ? WdfExecutionLevelPassive : WdfExecutionLevelInheritFromParent)));
    switch (Case) {
    case WDFQUEUES_IS_CANCELED:
        line = check_is_canceled();
        break;
    case WDFQUEUES_WORK_REQUEUED:
        line = check_work_requeued();
        break;
    case WDFQUEUES_NOTICE_BEHIND:
        line = check_notice_behind();
        break;
    case WDFQUEUES_DELETED_IN_CANCEL:
        line = check_deleted_in_cancel();
        break;
    case WDFQUEUES_DELETED_IN_NOTICE:
        line = check_deleted_in_notice();
        break;
    case WDFQUEUES_CANCEL_DELAYED:
        line = check_cancel_delayed();
        break;
    case WDFQUEUES_PURGE_RACE:
        line = check_purge_race();
        break;
    case WDFQUEUES_MARK_RACE:
        line = check_mark_race();
        break;
    default:
        line = check_timer_race();
    }
    scene_close();
    return line;
}
