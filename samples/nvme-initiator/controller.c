/* SPDX-License-Identifier: MIT */
/*
 * Manages a controller, which is the connection to one subsystem of a target. It has one admin queue and several I/O
 * queues.
 *
 * States of a controller. Only the controller's thread changes them:
 *
 *   state         queues             a request              goes to
 *   Connecting    being connected    is parked              Live: all queues are connected and set up
 *                                                           Failed: no success for LossSeconds
 *   Live          open               is sent                Reconnecting: a queue has failed, a time limit, a reset
 *   Reconnecting  closed, then       is parked, and fails   Live, Failed: as above
 *                 being connected    after IoFailSeconds
 *   Failed        closed             fails                  Deleting
 *   Deleting      being closed       fails                  -
 *
 * After NvmeControllerDelete was called, the thread changes each state to Deleting. The thread waits in many places.
 * Each wait ends early if the controller is deleted. A wait for the target also ends early if the connection has been
 * lost (NvmeControllerLost), or if a reset of a live controller was requested.
 *
 * When the connection is lost, the thread closes all queues, which returns the requests that were at the target. The
 * driver cannot find out whether the target has executed them. An I/O request is parked, and sent again after the
 * reconnect, because a second read or write is harmless. After the reconnect the target must no longer execute the
 * first copy. samples/nvme-target guarantees this for each command that it has received (drain.c); this driver does
 * not wait for commands that may still be in the network. If the namespace has other identifiers after the reconnect,
 * NvmeScanNamespaces lets the upper part end the namespace's requests before the state is Live. An admin command
 * fails, because a second execution might be harmful. Then the thread connects again: at once, and then after pauses
 * of 1, 2, 4... seconds. A parked request has no queue; it is in the list Parked.
 *
 * Lifetime. NvmeControllerDelete waits until the thread has ended. Before the thread ends, it closes all NDK objects,
 * waits for their callbacks, and completes all requests. The controller's memory is freed with the last reference.
 */
#include "nvmendk.h"

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

VOID NvmeRequestsEnd(LIST_ENTRY *Requests, NTSTATUS Status)
{
    while (!IsListEmpty(Requests))
        NvmeRequestEnd(CONTAINING_RECORD(RemoveHeadList(Requests), NVME_REQUEST, Link), Status);
}

static VOID ListTake(LIST_ENTRY *List, const NVME_REQUEST *Wanted, ULONG NamespaceId, LIST_ENTRY *Requests)
{
    PLIST_ENTRY entry, next;

    for (entry = List->Flink; entry != List; entry = next) {
        next = entry->Flink;
        if (!NvmeRequestMatches(CONTAINING_RECORD(entry, NVME_REQUEST, Link), Wanted, NamespaceId))
            continue;
        RemoveEntryList(entry);
        InsertTailList(Requests, entry);
    }
}

VOID NvmeControllerTakeParked(NVME_CONTROLLER *Controller, const NVME_REQUEST *Wanted, ULONG NamespaceId,
    LIST_ENTRY *Requests)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    ListTake(&Controller->Parked, Wanted, NamespaceId, Requests);
    ListTake(&Controller->Moving, Wanted, NamespaceId, Requests);
    KeReleaseSpinLock(&Controller->Lock, irql);
}

/* Returns TRUE if a reset must end the request. */
static BOOLEAN ControllerWasReset(const NVME_CONTROLLER *Controller, const NVME_REQUEST *Request)
{
    return Request->Resets != NvmeControllerResets(Controller);
}

/*
 * Moves parked requests, I/O and admin, to the list: all of them, or only those that a reset must end. Requires
 * Controller->Lock.
 */
static VOID ControllerMoveParked(NVME_CONTROLLER *Controller, BOOLEAN All, LIST_ENTRY *Requests)
{
    PLIST_ENTRY entry, next;

    for (entry = Controller->Parked.Flink; entry != &Controller->Parked; entry = next) {
        next = entry->Flink;
        if (!All && !ControllerWasReset(Controller, CONTAINING_RECORD(entry, NVME_REQUEST, Link)))
            continue;
        RemoveEntryList(entry);
        InsertTailList(Requests, entry);
    }
}

/*
 * Parks a request until the controller is live. Completes the request with an error if the state or the request does
 * not permit a wait.
 */
static VOID ControllerPark(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    NTSTATUS status = STATUS_SUCCESS;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    if (Controller->Info.State == NvmeStateDeleting)
        status = STATUS_DELETE_PENDING;
    else if (Controller->Info.State == NvmeStateFailed)
        status = STATUS_DEVICE_NOT_CONNECTED;
    else if (Request->Aborted || ControllerWasReset(Controller, Request))
        status = STATUS_CANCELLED;
    else if (Controller->FailAtOnce)
        status = STATUS_IO_TIMEOUT;
    else
        InsertTailList(&Controller->Parked, &Request->Link);
    KeReleaseSpinLock(&Controller->Lock, irql);
    if (NT_SUCCESS(status))
        /* If the controller became live before the request was parked, its thread must send the request. */
        KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
    else
        NvmeRequestEnd(Request, status);
}

/* Sends a request to a queue. If no queue accepts the request, parks it, or ends it because of a reset. */
static VOID ControllerSend(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    ULONG live = (ULONG)ReadNoFence(&Controller->LiveQueues), queue = 0;

    if (!Request->Admin && live > 1)
        queue = 1 + KeGetCurrentProcessorNumberEx(NULL) % (live - 1);
    if (live <= queue || (!Request->Admin && queue == 0) ||
        !NvmeQueueSubmit(&Controller->Queues[queue], Request, FALSE))
        ControllerPark(Controller, Request);
}

VOID NvmeSubmit(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    Request->NvmeStatus = 0;
    Request->Result = 0;
    Request->Aborted = Request->AbortSent = FALSE;
    ControllerSend(Controller, Request);
}

/* Removes the first request from the list Moving, and returns it. Returns NULL if the list is empty. */
static NVME_REQUEST *ControllerNextMoving(NVME_CONTROLLER *Controller)
{
    NVME_REQUEST *request = NULL;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    if (!IsListEmpty(&Controller->Moving))
        request = CONTAINING_RECORD(RemoveHeadList(&Controller->Moving), NVME_REQUEST, Link);
    KeReleaseSpinLock(&Controller->Lock, irql);
    return request;
}

/* Sends the parked requests. */
static VOID ControllerSendParked(NVME_CONTROLLER *Controller)
{
    NVME_REQUEST *request;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    ControllerMoveParked(Controller, TRUE, &Controller->Moving);
    KeReleaseSpinLock(&Controller->Lock, irql);
    while ((request = ControllerNextMoving(Controller)) != NULL)
        ControllerSend(Controller, request);
}

VOID NvmeControllerServeParked(NVME_CONTROLLER *Controller)
{
    ULONGLONG limit = Controller->LostTime + Controller->Settings.IoFailSeconds * NVME_SECOND;
    LIST_ENTRY cancelled, late;
    KIRQL irql;

    if (Controller->Info.State == NvmeStateLive)
        return; /* ControllerServe handles a reset of a live controller */
    InitializeListHead(&cancelled);
    InitializeListHead(&late);
    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->ResetsServed = NvmeControllerResets(Controller);
    ControllerMoveParked(Controller, FALSE, &cancelled);
    if (KeQueryInterruptTime() > limit) {
        Controller->FailAtOnce = TRUE;
        ControllerMoveParked(Controller, TRUE, &late);
    }
    KeReleaseSpinLock(&Controller->Lock, irql);
    NvmeRequestsEnd(&cancelled, STATUS_CANCELLED);
    NvmeRequestsEnd(&late, STATUS_IO_TIMEOUT);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

BOOLEAN NvmeControllerStopping(NVME_CONTROLLER *Controller)
{
    return KeReadStateEvent(&Controller->Stop) != 0;
}

VOID NvmeControllerLost(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    if (NT_SUCCESS(Controller->LostStatus)) {
        Controller->LostStatus = Status;
        Controller->LostReason = Reason;
    }
    KeReleaseSpinLock(&Controller->Lock, irql);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
}

/* Returns the status and the reason that NvmeControllerLost has stored. */
static NTSTATUS ControllerLostStatus(NVME_CONTROLLER *Controller, const CHAR **Reason)
{
    NTSTATUS status;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    status = Controller->LostStatus;
    *Reason = Controller->LostReason;
    KeReleaseSpinLock(&Controller->Lock, irql);
    return status;
}

NTSTATUS NvmeControllerInterrupted(NVME_CONTROLLER *Controller)
{
    const CHAR *reason;
    NTSTATUS status = ControllerLostStatus(Controller, &reason);

    if (NvmeControllerStopping(Controller) && Controller->Info.State != NvmeStateDeleting)
        return STATUS_DELETE_PENDING;
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(Controller, status, reason);
    if (Controller->Info.State == NvmeStateLive && Controller->ResetsServed != NvmeControllerResets(Controller))
        return STATUS_CANCELLED;
    return STATUS_SUCCESS;
}

NTSTATUS NvmeControllerReason(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason)
{
    ULONG i;
    KIRQL irql;

    if (Status == STATUS_DELETE_PENDING)
        return Status;
    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->Info.LastStatus = Status;
    for (i = 0; i + 1 < sizeof(Controller->Info.LastReason) && Reason[i] != '\0'; i++)
        Controller->Info.LastReason[i] = Reason[i];
    Controller->Info.LastReason[i] = '\0';
    KeReleaseSpinLock(&Controller->Lock, irql);
    DbgPrint("nvme: %s: %s, 0x%08X\n", Controller->Name, Reason, Status);
    return Status;
}

VOID NvmeControllerChanged(NVME_CONTROLLER *Controller, BOOLEAN Replaced)
{
    if (Controller->Changed && (Replaced || Controller->Info.State == NvmeStateLive))
        Controller->Changed(Controller, Controller->Context);
}

static VOID ControllerSetState(NVME_CONTROLLER *Controller, NVME_STATE State)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    if (State == NvmeStateLive) {
        Controller->Info.Reconnects += Controller->Info.State == NvmeStateReconnecting;
        Controller->Info.QueueCount = (USHORT)Controller->QueueCount;
        Controller->FailAtOnce = FALSE;
    }
    Controller->Info.State = State;
    WriteNoFence(&Controller->LiveQueues, State == NvmeStateLive ? 1 + (LONG)Controller->QueueCount : 0);
    KeReleaseSpinLock(&Controller->Lock, irql);
    if (Controller->Changed && State != NvmeStateDeleting)
        Controller->Changed(Controller, Controller->Context);
}

/* ---- The thread: disconnect -------------------------------------------------------------------------------------- */

/* Completes or parks a request that was at the target when the connection ended. */
static VOID ControllerReturned(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    Request->AbortSent = FALSE;
    if (Controller->Info.State == NvmeStateDeleting)
        NvmeRequestEnd(Request, STATUS_DELETE_PENDING);
    else if (ControllerWasReset(Controller, Request))
        NvmeRequestEnd(Request, STATUS_CANCELLED);
    else if (Request->Admin)
        NvmeRequestEnd(Request, STATUS_CONNECTION_DISCONNECTED);
    else
        ControllerPark(Controller, Request);
}

/* Closes a queue, and adds its requests to Moving. Returns the result of NvmeQueueClose. */
static BOOLEAN ControllerCloseQueue(NVME_CONTROLLER *Controller, NVME_QUEUE *Queue, BOOLEAN Graceful)
{
    LIST_ENTRY requests;
    KIRQL irql;

    InitializeListHead(&requests);
    Graceful = NvmeQueueClose(Queue, Graceful, &requests);
    KeAcquireSpinLock(&Controller->Lock, &irql);
    while (!IsListEmpty(&requests))
        InsertTailList(&Controller->Moving, RemoveHeadList(&requests));
    KeReleaseSpinLock(&Controller->Lock, irql);
    return Graceful;
}

/*
 * Closes all queues and the adapter. If Graceful is TRUE and the connection is intact, first shuts the controller down.
 * If the target does not answer one queue's disconnect in time, closes the other queues without a wait for the target.
 */
static VOID ControllerDisconnect(NVME_CONTROLLER *Controller, BOOLEAN Graceful)
{
    const CHAR *reason;
    NVME_REQUEST *request;
    ULONG i;

    if (!NT_SUCCESS(ControllerLostStatus(Controller, &reason)))
        Graceful = FALSE;
    for (i = 1; i <= Controller->QueueCount; i++)
        Graceful = ControllerCloseQueue(Controller, &Controller->Queues[i], Graceful);
    Controller->QueueCount = 0;
    if (Graceful && NvmeOwnIsDone(&Controller->Execute))
        Graceful = NT_SUCCESS(NvmeControllerShutDown(Controller));
    ControllerCloseQueue(Controller, &Controller->Queues[0], Graceful);
    if (Controller->Adapter)
        NvmeCloseAdapter(Controller->Adapter);
    Controller->Adapter = NULL;
    while ((request = ControllerNextMoving(Controller)) != NULL)
        ControllerReturned(Controller, request);
    NvmeControllerServeParked(Controller);
}

/* ---- The thread: connect and serve ------------------------------------------------------------------------------- */

static NTSTATUS ControllerAttempt(NVME_CONTROLLER *Controller)
{
    NTSTATUS status;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->LostStatus = STATUS_SUCCESS;
    KeReleaseSpinLock(&Controller->Lock, irql);
    status = NvmeControllerConnect(Controller);
    if (!NT_SUCCESS(status))
        return status;
    Controller->KeepAliveTime = 0;
    DbgPrint("nvme: %s: connected, %u I/O queues of %u, %u namespaces\n", Controller->Name, Controller->QueueCount,
        Controller->IoDepth, Controller->Info.NamespaceCount);
    ControllerSetState(Controller, NvmeStateLive);
    return status;
}

/* Serves a live controller until the controller is deleted, reset, or has lost its connection. */
static VOID ControllerServe(NVME_CONTROLLER *Controller)
{
    PVOID objects[] = { &Controller->Stop, &Controller->Wake };
    LARGE_INTEGER tick;

    tick.QuadPart = -(LONGLONG)NVME_TICK;
    while (NT_SUCCESS(NvmeControllerInterrupted(Controller))) {
        ControllerSendParked(Controller);
        NvmeKeepAliveServe(Controller);
        NvmeTimeoutsServe(Controller);
        if (!NT_SUCCESS(NvmeEventsServe(Controller)))
            return;
        KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, &tick, NULL);
    }
}

/* Waits for the given time, or until the controller is deleted. Serves the parked requests meanwhile. */
static VOID ControllerPause(NVME_CONTROLLER *Controller, ULONG Seconds)
{
    ULONGLONG end = KeQueryInterruptTime() + Seconds * NVME_SECOND;
    LARGE_INTEGER tick;

    tick.QuadPart = -(LONGLONG)NVME_TICK;
    while (KeQueryInterruptTime() < end && !NvmeControllerStopping(Controller)) {
        NvmeControllerServeParked(Controller);
        KeWaitForSingleObject(&Controller->Stop, Executive, KernelMode, FALSE, &tick);
    }
}

static VOID ControllerEndParked(NVME_CONTROLLER *Controller, NTSTATUS Status)
{
    LIST_ENTRY requests;
    KIRQL irql;

    InitializeListHead(&requests);
    KeAcquireSpinLock(&Controller->Lock, &irql);
    ControllerMoveParked(Controller, TRUE, &requests);
    KeReleaseSpinLock(&Controller->Lock, irql);
    NvmeRequestsEnd(&requests, Status);
}

/* Stops the attempts to connect. Ends the parked requests with an error, and waits until the controller is deleted. */
static VOID ControllerFail(NVME_CONTROLLER *Controller)
{
    DbgPrint("nvme: %s: no more attempts to connect\n", Controller->Name);
    ControllerSetState(Controller, NvmeStateFailed);
    ControllerEndParked(Controller, STATUS_DEVICE_NOT_CONNECTED);
    KeWaitForSingleObject(&Controller->Stop, Executive, KernelMode, FALSE, NULL);
}

/* Called when a connection or an attempt to connect has ended. Changes the state and closes all queues. */
static VOID ControllerLeave(NVME_CONTROLLER *Controller)
{
    BOOLEAN stopping = NvmeControllerStopping(Controller);
    BOOLEAN live = Controller->Info.State == NvmeStateLive;

    if (live)
        Controller->LostTime = KeQueryInterruptTime();
    if (stopping)
        ControllerSetState(Controller, NvmeStateDeleting);
    else if (live)
        ControllerSetState(Controller, NvmeStateReconnecting);
    ControllerDisconnect(Controller, stopping && live);
}

/*
 * Stores the result of the first attempt to connect, and wakes NvmeControllerCreate and NvmeControllerWait if they wait
 * for the attempt. Later calls have no effect.
 */
static VOID ControllerAttempted(NVME_CONTROLLER *Controller, NTSTATUS Status)
{
    if (KeReadStateEvent(&Controller->Attempted))
        return;
    Controller->FirstStatus = Status;
    KeSetEvent(&Controller->Attempted, IO_NO_INCREMENT, FALSE);
}

static BOOLEAN ControllerIsTooLate(const NVME_CONTROLLER *Controller)
{
    ULONG seconds = Controller->Settings.LossSeconds;

    return seconds != NVME_FOREVER && KeQueryInterruptTime() > Controller->LostTime + seconds * NVME_SECOND;
}

static VOID ControllerThread(PVOID Context)
{
    NVME_CONTROLLER *controller = Context;
    ULONG pause = 0;

    while (!NvmeControllerStopping(controller)) {
        NTSTATUS status = ControllerAttempt(controller);

        if (NT_SUCCESS(status)) {
            ControllerAttempted(controller, status);
            ControllerServe(controller);
            pause = 0;
        } else {
            pause = min(max(2 * pause, 1), controller->Settings.ReconnectSeconds);
        }
        ControllerLeave(controller);
        ControllerAttempted(controller, status);
        if (ControllerIsTooLate(controller))
            ControllerFail(controller);
        ControllerPause(controller, pause);
    }
    ControllerSetState(controller, NvmeStateDeleting);
    ControllerEndParked(controller, STATUS_DELETE_PENDING);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/* ---- Creation and deletion --------------------------------------------------------------------------------------- */

VOID NvmeControllerReference(NVME_CONTROLLER *Controller)
{
    InterlockedIncrement(&Controller->References);
}

VOID NvmeControllerRelease(NVME_CONTROLLER *Controller)
{
    if (InterlockedDecrement(&Controller->References) != 0)
        return;
    ExFreePoolWithTag(Controller->Page, NVME_TAG);
    ExFreePoolWithTag(Controller, NVME_TAG);
}

static VOID OwnInitialize(NVME_OWN_REQUEST *Own)
{
    KeInitializeEvent(&Own->Done, NotificationEvent, TRUE);
}

static NVME_CONTROLLER *ControllerAllocate(const NVME_CREATE *Create)
{
    NVME_CONTROLLER *controller = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*controller), NVME_TAG);
    USHORT i;

    if (!controller)
        return NULL;
    RtlZeroMemory(controller, sizeof(*controller));
    controller->Page = ExAllocatePoolWithTag(NonPagedPoolNx, NVME_PAGE_SIZE, NVME_TAG);
    if (!controller->Page) {
        ExFreePoolWithTag(controller, NVME_TAG);
        return NULL;
    }
    controller->References = 1;
    controller->Flags = Create->Flags;
    controller->Settings = *Create->Settings;
    controller->Changed = Create->Changed;
    controller->Context = Create->Context;
    controller->Info.Target = Create->Target;
    controller->Info.State = NvmeStateConnecting;
    controller->Info.MaxTransfer = NVME_MAX_TRANSFER; /* valid until Identify Controller has been read */
    controller->LostTime = KeQueryInterruptTime();
    NvmeFormatTarget(&Create->Target, controller->Name, sizeof(controller->Name));
    KeInitializeSpinLock(&controller->Lock);
    InitializeListHead(&controller->Parked);
    InitializeListHead(&controller->Moving);
    KeInitializeEvent(&controller->Stop, NotificationEvent, FALSE);
    KeInitializeEvent(&controller->Attempted, NotificationEvent, FALSE);
    KeInitializeEvent(&controller->Wake, SynchronizationEvent, FALSE);
    OwnInitialize(&controller->Execute);
    OwnInitialize(&controller->KeepAlive);
    OwnInitialize(&controller->Abort);
    OwnInitialize(&controller->Event);
    for (i = 0; i < RTL_NUMBER_OF(controller->Queues); i++)
        NvmeQueueInitialize(&controller->Queues[i], controller, i);
    return controller;
}

static NTSTATUS ControllerStartThread(NVME_CONTROLLER *Controller)
{
    OBJECT_ATTRIBUTES attributes;
    HANDLE thread;
    NTSTATUS status;

    InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
    status = PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, &attributes, NULL, NULL, ControllerThread, Controller);
    if (!NT_SUCCESS(status))
        return status;
    status = ObReferenceObjectByHandle(thread, SYNCHRONIZE, NULL, KernelMode, &Controller->Thread, NULL);
    ZwClose(thread);
    return status;
}

NTSTATUS NvmeControllerCreate(const NVME_CREATE *Create, NVME_CONTROLLER **Controller)
{
    NVME_CONTROLLER *controller = ControllerAllocate(Create);
    NTSTATUS status;

    PAGED_CODE();
    *Controller = NULL;
    if (!controller)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = ControllerStartThread(controller);
    if (!NT_SUCCESS(status)) {
        NvmeControllerRelease(controller);
        return status;
    }
    if (Create->Flags & NVME_CREATE_RETRY) {
        *Controller = controller;
        return STATUS_PENDING;
    }
    KeWaitForSingleObject(&controller->Attempted, Executive, KernelMode, FALSE, NULL);
    status = controller->FirstStatus;
    if (NT_SUCCESS(status))
        *Controller = controller;
    else
        NvmeControllerDelete(controller);
    return status;
}

VOID NvmeControllerDelete(NVME_CONTROLLER *Controller)
{
    PAGED_CODE();
    KeSetEvent(&Controller->Stop, IO_NO_INCREMENT, FALSE);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
    KeWaitForSingleObject(Controller->Thread, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(Controller->Thread);
    NvmeControllerRelease(Controller);
}

VOID NvmeControllerReset(NVME_CONTROLLER *Controller)
{
    InterlockedIncrement(&Controller->Resets);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
}

LONG NvmeControllerResets(const NVME_CONTROLLER *Controller)
{
    return ReadNoFence(&Controller->Resets);
}

VOID NvmeControllerQuery(NVME_CONTROLLER *Controller, NVME_CONTROLLER_INFO *Info)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    *Info = Controller->Info;
    KeReleaseSpinLock(&Controller->Lock, irql);
}

ULONG NvmeControllerMaxTransfer(NVME_CONTROLLER *Controller)
{
    ULONG bytes;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    bytes = Controller->Info.MaxTransfer;
    KeReleaseSpinLock(&Controller->Lock, irql);
    return bytes;
}

ULONG NvmeControllerNamespaces(NVME_CONTROLLER *Controller, NVME_NAMESPACE *Namespaces, ULONG Count)
{
    ULONG total;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    total = Controller->Info.NamespaceCount;
    RtlCopyMemory(Namespaces, Controller->Namespaces, min(total, Count) * sizeof(*Namespaces));
    KeReleaseSpinLock(&Controller->Lock, irql);
    return total;
}
