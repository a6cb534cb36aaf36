/* SPDX-License-Identifier: MIT */
/* Cases of wdfqueues: creation and states of queues, and the rules that a driver can break there. */
#include "wdfqueues_driver.h"

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

static VOID handle(WDFQUEUE Queue, WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Queue);
    WdfRequestComplete(Request, STATUS_SUCCESS);
}

static NTSTATUS create_queue(WDF_EXECUTION_LEVEL Level, WDF_SYNCHRONIZATION_SCOPE Scope, WDFQUEUE *Queue)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ExecutionLevel = Level;
    attributes.SynchronizationScope = Scope;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchSequential);
    config.EvtIoDefault = handle;
    return WdfIoQueueCreate(scene.device, &config, &attributes, Queue);
}

/* The device's level is dispatch. */
static ULONG check_levels(VOID)
{
    WDFQUEUE queue, below;
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;

    CHECK(create_queue(WdfExecutionLevelPassive, WdfSynchronizationScopeInheritFromParent, &queue) ==
          STATUS_INVALID_PARAMETER);
    CHECK(NT_SUCCESS(create_queue(WdfExecutionLevelDispatch, WdfSynchronizationScopeDevice, &queue)));
    CHECK(NT_SUCCESS(create_queue(WdfExecutionLevelPassive, WdfSynchronizationScopeQueue, &queue)));
    /* A queue has the level of its device, and not that of its parent. */
    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = queue;
    attributes.SynchronizationScope = WdfSynchronizationScopeDevice;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchSequential);
    config.EvtIoDefault = handle;
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &below)));
    config.Settings.Parallel.NumberOfPresentedRequests = 1;
    CHECK(WdfIoQueueCreate(scene.device, &config, NULL, &below) == STATUS_INVALID_PARAMETER);
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    config.EvtIoDefault = handle;
    CHECK(WdfIoQueueCreate(scene.device, &config, NULL, &below) == STATUS_INVALID_PARAMETER);
    return 0;
}

static VOID count_first(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    InterlockedIncrement(&scene.first);
}

static ULONG check_refused_default(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtCleanupCallback = count_first;
    attributes.EvtDestroyCallback = count_first;
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&config, WdfIoQueueDispatchManual);
    CHECK(WdfIoQueueCreate(scene.device, &config, &attributes, NULL) == STATUS_UNSUCCESSFUL);
    CHECK(scene.first == 0);
    return 0;
}

/* ---- Changes of state -------------------------------------------------------------------------------------------- */

static VOID send_linger(PVOID Context)
{
    struct sent sent;

    UNREFERENCED_PARAMETER(Context);
    (VOID)send(&sent, LINGER);
    (VOID)sent_status(&sent);
}

static ULONG check_handler_runs(VOID)
{
    PVOID thread = thread_begin(send_linger);
    LONG early;

    wait_for(&scene.arrived); /* the request is complete, and its handler still runs */
    WdfIoQueueStop(scene.queue, count_state, (WDFCONTEXT)&scene.first);
    early = scene.first;
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
    thread_end(thread);
    CHECK(early == 0 && scene.first == 1);
    return 0;
}

static ULONG check_stop_and_purge(VOID)
{
    struct sent sent;

    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    WdfIoQueueStop(scene.queue, count_state, (WDFCONTEXT)&scene.first);
    WdfIoQueuePurge(scene.queue, count_state, (WDFCONTEXT)&scene.second);
    CHECK(scene.first == 0 && scene.second == 0);
    CHECK(!(WdfIoQueueGetState(scene.queue, NULL, NULL) & (WdfIoQueueAcceptRequests | WdfIoQueueDispatchRequests)));
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    CHECK(NT_SUCCESS(sent_status(&sent)));
    CHECK(scene.first == 1 && scene.second == 1);
    WdfIoQueueStart(scene.queue);
    CHECK(WDF_IO_QUEUE_READY(WdfIoQueueGetState(scene.queue, NULL, NULL)));
    return 0;
}

static VOID complete_later(PVOID Context)
{
    LARGE_INTEGER delay = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &delay); /* so that the deletion waits; less weakens the test */
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
}

static ULONG check_deleted_purging(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    WDFREQUEST request;
    struct sent sent;
    WDFQUEUE manual;
    PVOID thread;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &manual)));
    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(NT_SUCCESS(WdfRequestForwardToIoQueue(scene.held, manual)));
    CHECK(NT_SUCCESS(WdfIoQueueRetrieveNextRequest(manual, &request)));
    WdfIoQueuePurge(manual, count_state, (WDFCONTEXT)&scene.first);
    thread = thread_begin(complete_later);
    WdfObjectDelete(manual);
    thread_end(thread);
    CHECK(NT_SUCCESS(sent_status(&sent)));
    CHECK(scene.first == 1);
    return 0;
}

static VOID set_done(WDFOBJECT Object)
{
    UNREFERENCED_PARAMETER(Object);
    KeSetEvent(&scene.done, IO_NO_INCREMENT, FALSE);
}

/* The callback of the purge needs the lock, so it cannot be called before the deletion ends. */
static ULONG check_deleted_with_lock(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG config;
    WDFQUEUE manual;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.EvtDestroyCallback = set_done;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, &attributes, &manual)));
    WdfObjectAcquireLock(scene.device);
    WdfIoQueuePurge(manual, count_state, (WDFCONTEXT)&scene.first);
    WdfObjectDelete(manual);
    WdfObjectReleaseLock(scene.device);
    wait_for(&scene.done); /* a worker has the last reference on the queue */
    CHECK(scene.first == 0);
    return 0;
}

static WDFQUEUE deleted;

static VOID cancel_and_count(WDFREQUEST Request)
{
    InterlockedIncrement(&scene.first);
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID cancel_on_queue(WDFQUEUE Queue, WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Queue);
    cancel_and_count(Request);
}

static VOID handle_and_count(WDFQUEUE Queue, WDFREQUEST Request)
{
    InterlockedIncrement(&scene.second);
    handle(Queue, Request);
}

static VOID forward_to_deleted(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    (VOID)WdfRequestForwardToIoQueue(scene.held, deleted);
}

static VOID mark_request(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfRequestMarkCancelable(scene.held, cancel_and_count);
}

/* Returns after the deletion has begun to wait. A shorter time only weakens the test. */
static VOID wait_for_deletion(VOID)
{
    LARGE_INTEGER delay = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &delay);
}

static VOID mark_request_later(PVOID Context)
{
    wait_for_deletion();
    mark_request(Context);
}

static VOID requeue_later(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    wait_for_deletion();
    (VOID)WdfRequestRequeue(scene.held);
}

/* The handler of the other queue keeps the request. */
static VOID forward_back_later(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    wait_for_deletion();
    (VOID)WdfRequestForwardToIoQueue(scene.held, scene.queue);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
}

static VOID count_cancel(WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Request);
    InterlockedIncrement(&scene.first);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
}

static VOID mark_request_to_pend(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    WdfRequestMarkCancelable(scene.held, count_cancel);
}

static VOID complete_after_cancel(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    wait_for(&scene.go);
    wait_for_deletion();
    WdfRequestComplete(scene.held, STATUS_CANCELLED);
}

/*
 * Deletes a queue with the lock of its callbacks. `Before` runs before, without the lock, and `Beside` on another
 * thread, which waits for the lock to call the driver. If `Beside` is forward_to_deleted, it waits before the deletion.
 */
static NTSTATUS delete_with_lock(PWDF_IO_QUEUE_CONFIG Config, VOID (*Before)(PVOID), VOID (*Beside)(PVOID))
{
    ULONG owned = 0;
    struct sent sent;
    PVOID thread = NULL;

    if (!NT_SUCCESS(WdfIoQueueCreate(scene.device, Config, NULL, &deleted)) || send(&sent, HOLD) != STATUS_PENDING)
        return STATUS_UNSUCCESSFUL;
    if (Beside != forward_to_deleted)
        forward_to_deleted(NULL);
    if (Config->DispatchType == WdfIoQueueDispatchManual && (Before || Beside))
        (VOID)WdfIoQueueRetrieveNextRequest(deleted, (WDFREQUEST *)&scene.held);
    if (Before)
        Before(NULL);
    WdfObjectAcquireLock(scene.device);
    if (Beside)
        thread = thread_begin(Beside);
    while (Beside == forward_to_deleted && !owned)
        (VOID)WdfIoQueueGetState(deleted, NULL, &owned);
    WdfObjectDelete(deleted);
    WdfObjectReleaseLock(scene.device);
    if (thread)
        thread_end(thread);
    return sent_status(&sent);
}

/* The deletion itself calls the callbacks for which other threads cannot have the lock, except the handler. */
static ULONG check_deleted_unbegun(VOID)
{
    WDF_IO_QUEUE_CONFIG config;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    CHECK(delete_with_lock(&config, mark_request, NULL) == STATUS_CANCELLED && scene.first == 1);
    CHECK(delete_with_lock(&config, NULL, mark_request_later) == STATUS_CANCELLED && scene.first == 2);
    config.EvtIoCanceledOnQueue = cancel_on_queue;
    CHECK(delete_with_lock(&config, NULL, NULL) == STATUS_CANCELLED && scene.first == 3);
    CHECK(delete_with_lock(&config, mark_request_to_pend, complete_after_cancel) == STATUS_CANCELLED);
    CHECK(scene.first == 4);
    CHECK(delete_with_lock(&config, NULL, requeue_later) == STATUS_CANCELLED && scene.first == 5);
    CHECK(delete_with_lock(&config, NULL, forward_back_later) == STATUS_SUCCESS && scene.first == 5);
    scene.first = 3;
    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchParallel);
    config.EvtIoDefault = handle_and_count;
    CHECK(delete_with_lock(&config, NULL, forward_to_deleted) == STATUS_CANCELLED && scene.first == 3);
    config.EvtIoCanceledOnQueue = cancel_on_queue;
    CHECK(delete_with_lock(&config, NULL, forward_to_deleted) == STATUS_CANCELLED && scene.first == 4);
    CHECK(scene.second == 0);
    return 0;
}

static WDFQUEUE lingering;

static VOID complete_and_linger(WDFQUEUE Queue, WDFREQUEST Request)
{
    UNREFERENCED_PARAMETER(Queue);
    WdfRequestComplete(Request, STATUS_SUCCESS);
    KeSetEvent(&scene.arrived, IO_NO_INCREMENT, FALSE);
    wait_for(&scene.go);
    InterlockedIncrement(&scene.first);
}

static VOID forward_to_lingering(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    (VOID)WdfRequestForwardToIoQueue(scene.held, lingering);
}

/* Lets the handler return after the deletion has begun. A shorter time only weakens the test. */
static VOID end_linger(PVOID Context)
{
    LARGE_INTEGER delay = { .QuadPart = WDF_REL_TIMEOUT_IN_MS(20) };

    UNREFERENCED_PARAMETER(Context);
    (VOID)KeDelayExecutionThread(KernelMode, FALSE, &delay);
    KeSetEvent(&scene.go, IO_NO_INCREMENT, FALSE);
}

static VOID delete_beside_handler(WDFQUEUE Queue, WDFCONTEXT Context)
{
    PVOID handles, ends;

    UNREFERENCED_PARAMETER(Context);
    WdfIoQueueStart(Queue);
    handles = thread_begin(forward_to_lingering);
    wait_for(&scene.arrived);
    ends = thread_begin(end_linger);
    WdfObjectDelete(Queue);
    scene.second = ReadAcquire(&scene.first);
    thread_end(handles);
    thread_end(ends);
}

static ULONG check_deleted_beside_handler(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    struct sent sent;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchParallel);
    config.EvtIoDefault = complete_and_linger;
    CHECK(NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &lingering)));
    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    wait_for(&scene.arrived);
    WdfIoQueueStop(lingering, delete_beside_handler, NULL);
    CHECK(NT_SUCCESS(sent_status(&sent)));
    CHECK(scene.second == 1);
    return 0;
}

static ULONG check_retrieve_found(VOID)
{
    struct sent sent;
    WDFREQUEST request;

    CHECK(send(&sent, HOLD) == STATUS_PENDING);
    CHECK(WdfIoQueueRetrieveFoundRequest(scene.queue, scene.held, &request) == STATUS_INVALID_DEVICE_STATE);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    CHECK(NT_SUCCESS(sent_status(&sent)));
    return 0;
}

ULONG run_request_case(ULONG Case)
{
    BOOLEAN locks = Case == WDFQUEUES_DELETED_WITH_LOCK || Case == WDFQUEUES_DELETED_UNBEGUN;
    ULONG line;

    CHECK(NT_SUCCESS(scene_open(WdfIoQueueDispatchParallel,
                                locks || Case == WDFQUEUES_LEVELS ? WdfSynchronizationScopeDevice
                                                                  : WdfSynchronizationScopeNone,
                                locks ? WdfExecutionLevelPassive : WdfExecutionLevelInheritFromParent)));
    switch (Case) {
    case WDFQUEUES_LEVELS:
        line = check_levels();
        break;
    case WDFQUEUES_REFUSED_DEFAULT:
        line = check_refused_default();
        break;
    case WDFQUEUES_HANDLER_RUNS:
        line = check_handler_runs();
        break;
    case WDFQUEUES_STOP_AND_PURGE:
        line = check_stop_and_purge();
        break;
    case WDFQUEUES_DELETED_PURGING:
        line = check_deleted_purging();
        break;
    case WDFQUEUES_DELETED_WITH_LOCK:
        line = check_deleted_with_lock();
        break;
    case WDFQUEUES_DELETED_UNBEGUN:
        line = check_deleted_unbegun();
        break;
    case WDFQUEUES_DELETED_BESIDE_HANDLER:
        line = check_deleted_beside_handler();
        break;
    default:
        line = check_retrieve_found();
    }
    scene_close();
    return line;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static VOID break_drain_started(VOID)
{
    struct sent sent;

    (VOID)send(&sent, HOLD); /* delays the callback */
    WdfIoQueueDrain(scene.queue, count_state, (WDFCONTEXT)&scene.first);
    WdfIoQueueStart(scene.queue);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    (VOID)sent_status(&sent);
    WdfIoQueueStart(scene.queue);
}

/* The drain must return, although a request waits. */
static VOID break_drain(VOID)
{
    struct sent sent;

    WdfIoQueueStop(scene.queue, NULL, NULL);
    (VOID)send(&sent, HOLD);
    WdfIoQueueDrainSynchronously(scene.queue);
    WdfIoQueueStart(scene.queue);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    (VOID)sent_status(&sent);
}

static VOID complete_canceled(WDFREQUEST Request)
{
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID break_is_canceled(VOID)
{
    struct sent sent;

    scene.cancel = complete_canceled;
    (VOID)send(&sent, MARK);
    (VOID)WdfRequestIsCanceled(scene.held);
    (VOID)WdfRequestUnmarkCancelable(scene.held);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    (VOID)sent_status(&sent);
}

static VOID delete_owning(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Context);
    (VOID)WdfIoQueueRetrieveNextRequest(Queue, (WDFREQUEST *)&scene.held);
    WdfObjectDelete(Queue);
}

/* The deletion must return, although the driver owns a request. */
static VOID break_deletion(VOID)
{
    WDF_IO_QUEUE_CONFIG config;
    struct sent sent;
    WDFQUEUE manual;

    WDF_IO_QUEUE_CONFIG_INIT(&config, WdfIoQueueDispatchManual);
    if (!NT_SUCCESS(WdfIoQueueCreate(scene.device, &config, NULL, &manual)) ||
        !NT_SUCCESS(WdfIoQueueReadyNotify(manual, delete_owning, NULL)))
        return;
    (VOID)send(&sent, HOLD);
    (VOID)WdfRequestForwardToIoQueue(scene.held, manual);
    WdfRequestComplete(scene.held, STATUS_SUCCESS);
    (VOID)sent_status(&sent);
}

VOID break_queue_rule(ULONG Case)
{
    WDFREQUEST request;

    if (!NT_SUCCESS(scene_open(WdfIoQueueDispatchParallel, WdfSynchronizationScopeNone,
                               WdfExecutionLevelInheritFromParent)))
        return;
    switch (Case) {
    case WDFQUEUES_START_DRAINING:
        break_drain_started();
        break;
    case WDFQUEUES_DRAIN_STOPPED:
        break_drain();
        break;
    case WDFQUEUES_FIND_PARALLEL:
        (VOID)WdfIoQueueFindRequest(scene.queue, NULL, NULL, NULL, &request);
        break;
    case WDFQUEUES_DELETED_OWNING:
        break_deletion();
        break;
    case WDFQUEUES_IS_CANCELED_MARKED:
        break_is_canceled();
        break;
    default:
        break_wait_rule(Case);
    }
    scene_close();
}
