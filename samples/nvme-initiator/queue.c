/* SPDX-License-Identifier: MIT */
/*
 * Implements a queue: assigns requests to slots, sends the slots' commands, and handles the results of the completion
 * queue.
 *
 * States of a queue:
 *
 *   state       NDK objects            NvmeQueueSubmit   goes to
 *   Closed      none                   refuses           Connecting: NvmeQueueConnect
 *   Connecting  being created          refuses           Open: the connection is complete
 *                                                        Failed: NvmeQueueFail, NvmeQueueClose
 *   Open        connected              sends, or waits*  Failed: NvmeQueueFail, NvmeQueueClose
 *   Failed      perhaps not connected  refuses           Closed: NvmeQueueClose
 *
 *   * until the controller is live, only for the controller's own requests
 *
 * NvmeQueueFail may be called on any thread: after a result with an error, a disconnect by the target, or a violation
 * of the protocol. It only changes the state and wakes the controller's thread, which then calls NvmeQueueClose. In the
 * state Failed nothing is posted. Results are still handled, so that commands with a response need not be sent again.
 *
 * A slot is free, or carries one request. The slot's pending bits show which steps are not complete. When all bits are
 * cleared, the request ends and the slot is free again:
 *
 *   START       set when the slot receives the request, cleared when the data have been mapped and the command was sent
 *   SEND        set by NdkSend, cleared by its result: the adapter has read the capsule, which can be used again
 *   RESPONSE    set by NdkSend, cleared by the controller's response
 *   INVALIDATE  set by NdkInvalidate if the response has not invalidated the token, cleared by its result
 *
 * The controller can access the data until the token is invalid, so a request ends only after the invalidation. If the
 * queue fails earlier, the slot keeps its request. NvmeQueueClose then ends the access, because it closes the queue
 * pair and the region. Afterwards NvmeQueueTakeRequests completes the requests that have a response, and returns the
 * others.
 *
 * A command identifier consists of the slot's index and a generation. A response with an identifier for which no slot
 * waits is a violation of the protocol.
 *
 * The controller can invalidate any token of the queue with any message. Each invalidation is recorded when its result
 * is read, before the queue handles the results that were read together with it. So NdkInvalidate is not called for a
 * token that is known to be invalid, which would be a mistake of this driver.
 */
#include "nvmendk.h"

#define INDEX_BITS 10
#define INDEX_MASK ((1 << INDEX_BITS) - 1)
#define RESULTS 16 /* maximum number of results that one call reads */
C_ASSERT(NVME_MAX_DEPTH <= INDEX_MASK); /* so no identifier is 0xFFFF, which the specification reserves */

VOID NvmeQueueInitialize(NVME_QUEUE *Queue, NVME_CONTROLLER *Controller, USHORT Id)
{
    Queue->Controller = Controller;
    Queue->Id = Id;
    Queue->State = NvmeQueueClosed;
    KeInitializeSpinLock(&Queue->Lock);
    InitializeListHead(&Queue->Free);
    InitializeListHead(&Queue->Waiting);
}

VOID NvmeQueueFail(NVME_QUEUE *Queue, NTSTATUS Status, const CHAR *Reason)
{
    if (Queue->State != NvmeQueueOpen && Queue->State != NvmeQueueConnecting)
        return;
    Queue->State = NvmeQueueFailed;
    NvmeControllerLost(Queue->Controller, Status, Reason);
}

VOID NvmeRequestEnd(NVME_REQUEST *Request, NTSTATUS Status)
{
    Request->Status = Status;
    Request->Completion(Request); /* the routine may have freed the request */
}

static VOID WorkInitialize(NVME_WORK *Work)
{
    InitializeListHead(&Work->Start);
    InitializeListHead(&Work->Done);
}

/* ---- Slots: Lock is held ----------------------------------------------------------------------------------------- */

static ULONGLONG RequestDeadline(const NVME_REQUEST *Request, const NVME_SETTINGS *Settings)
{
    ULONG seconds = Request->Seconds ? Request->Seconds : Settings->CommandSeconds;

    return seconds == NVME_FOREVER ? NVME_NO_DEADLINE : KeQueryInterruptTime() + seconds * NVME_SECOND;
}

/* Assigns free slots to waiting requests, and adds the slots to Work->Start. */
static VOID QueueAssign(NVME_QUEUE *Queue, NVME_WORK *Work)
{
    while (Queue->State == NvmeQueueOpen && !IsListEmpty(&Queue->Free) && !IsListEmpty(&Queue->Waiting)) {
        NVME_SLOT *slot = CONTAINING_RECORD(RemoveHeadList(&Queue->Free), NVME_SLOT, Link);

        slot->Request = CONTAINING_RECORD(RemoveHeadList(&Queue->Waiting), NVME_REQUEST, Link);
        slot->Request->Deadline = RequestDeadline(slot->Request, &Queue->Controller->Settings);
        slot->CommandId = (USHORT)((slot->CommandId & ~INDEX_MASK) + (1 << INDEX_BITS) + slot->Index);
        slot->Pending = NVME_PENDING_START;
        slot->Answered = FALSE;
        ExAcquireRundownProtection(&Queue->Starting);
        InsertTailList(&Work->Start, &slot->Link);
    }
}

static VOID SlotEnd(NVME_SLOT *Slot, NTSTATUS Status, NVME_WORK *Work)
{
    NVME_REQUEST *request = Slot->Request;

    NvmeSlotUnmap(Slot);
    Slot->Request = NULL;
    InsertHeadList(&Slot->Queue->Free, &Slot->Link);
    request->Status = Status;
    InsertTailList(&Work->Done, &request->Link);
    QueueAssign(Slot->Queue, Work);
}

/* Ends a slot with the status in the controller's response. */
static VOID SlotEndAnswered(NVME_SLOT *Slot, NVME_WORK *Work)
{
    USHORT status = Slot->Answer.status >> 1;

    Slot->Request->NvmeStatus = status;
    Slot->Request->Result = Slot->Answer.result64;
    SlotEnd(Slot, status & NVME_STATUS_CODE_MASK ? STATUS_IO_DEVICE_ERROR : STATUS_SUCCESS, Work);
}

/*
 * Clears a pending bit. Ends the slot if this was the last bit, the response has arrived, and the token is invalid. If
 * the queue has failed before the invalidation, the token stays valid, and the slot keeps its request.
 */
static VOID SlotFinish(NVME_SLOT *Slot, UCHAR Pending, NVME_WORK *Work)
{
    Slot->Pending &= ~Pending;
    if (Slot->Pending == 0 && !Slot->Registered && Slot->Answered)
        SlotEndAnswered(Slot, Work);
}

/* ---- Starting slots: no lock is held ----------------------------------------------------------------------------- */

/*
 * Sends the slot's command after NvmeSlotMap has ended. If the data could not be mapped, ends only this request with an
 * error. If the queue has failed in the meantime, leaves the request in the slot for NvmeQueueTakeRequests.
 */
static VOID SlotStarted(NVME_SLOT *Slot, NTSTATUS Status, NVME_WORK *Work)
{
    NVME_QUEUE *queue = Slot->Queue;
    KIRQL irql;

    KeAcquireSpinLock(&queue->Lock, &irql);
    Slot->Pending &= ~NVME_PENDING_START;
    if (!NT_SUCCESS(Status)) {
        Slot->Mapped = FALSE;
        SlotEnd(Slot, Status == STATUS_INVALID_BUFFER_SIZE ? Status : STATUS_INSUFFICIENT_RESOURCES, Work);
    } else if (queue->State == NvmeQueueOpen) {
        Status = NvmeSlotSend(Slot);
        if (NT_SUCCESS(Status))
            Slot->Pending |= NVME_PENDING_SEND | NVME_PENDING_RESPONSE;
        else
            NvmeQueueFail(queue, Status, "a command could not be posted");
    }
    KeReleaseSpinLock(&queue->Lock, irql);
    ExReleaseRundownProtection(&queue->Starting); /* the queue may be closed now: no access to it after this */
}

/*
 * Starts the collected slots and completes the collected requests, until none is left. If a slot cannot be started, its
 * request ends, and the slot may be assigned to another request.
 */
static VOID WorkRun(NVME_WORK *Work)
{
    while (!IsListEmpty(&Work->Start)) {
        NVME_SLOT *slot = CONTAINING_RECORD(RemoveHeadList(&Work->Start), NVME_SLOT, Link);
        NTSTATUS status = NvmeSlotMap(slot);

        if (status != STATUS_PENDING)
            SlotStarted(slot, status, Work);
    }
    while (!IsListEmpty(&Work->Done)) {
        NVME_REQUEST *request = CONTAINING_RECORD(RemoveHeadList(&Work->Done), NVME_REQUEST, Link);

        NvmeRequestEnd(request, request->Status);
    }
}

VOID NvmeSlotMapped(PVOID Context, NTSTATUS Status)
{
    NVME_WORK work;

    WorkInitialize(&work);
    SlotStarted(Context, Status, &work);
    WorkRun(&work);
}

/* ---- Results: Lock is held --------------------------------------------------------------------------------------- */

static NVME_SLOT *QueueFindSlot(NVME_QUEUE *Queue, USHORT CommandId)
{
    ULONG index = CommandId & INDEX_MASK;
    NVME_SLOT *slot = index < Queue->Depth ? &Queue->Slots[index] : NULL;

    return slot && slot->CommandId == CommandId && (slot->Pending & NVME_PENDING_RESPONSE) ? slot : NULL;
}

/*
 * Marks the slot whose token a message of the target has invalidated. Each registration has a token of its own. First
 * examines the slot that the message names, because a correct target invalidates the token of the command that it
 * answers.
 */
static VOID QueueInvalidated(NVME_QUEUE *Queue, const NDK_RESULT_EX *Result)
{
    const struct nvme_completion *response = Result->RequestContext;
    UINT32 token = (UINT32)Result->TypeSpecificCompletionOutput;
    ULONG first = response->cid & INDEX_MASK, i;

    for (i = 0; i < Queue->Depth; i++) {
        NVME_SLOT *slot = &Queue->Slots[(first + i) % Queue->Depth];

        if (slot->Registered && slot->Token == token) {
            slot->Registered = FALSE;
            return;
        }
    }
}

/*
 * Ends the target's access to the slot's data. If the target has not invalidated the token, posts an invalidation,
 * except on a queue that is not open. Returns FALSE if the response has invalidated a different token.
 */
static BOOLEAN SlotInvalidate(NVME_SLOT *Slot, const NDK_RESULT_EX *Result)
{
    NVME_QUEUE *queue = Slot->Queue;
    NTSTATUS status;

    if (Result->Type == NdkOperationTypeReceiveAndInvalidate &&
        (!Slot->Mapped || (UINT32)Result->TypeSpecificCompletionOutput != Slot->Token))
        return FALSE;
    if (!Slot->Registered || queue->State != NvmeQueueOpen)
        return TRUE;
    status = NvmeSlotInvalidate(Slot);
    if (NT_SUCCESS(status))
        Slot->Pending |= NVME_PENDING_INVALIDATE;
    else
        NvmeQueueFail(queue, status, "an invalidation could not be posted");
    return TRUE;
}

/* Handles a response. Posts the receive again before the slot can be used for the next command. */
static VOID QueueReceived(NVME_QUEUE *Queue, const NDK_RESULT_EX *Result, NVME_WORK *Work)
{
    struct nvme_completion answer, *response = Result->RequestContext;
    NTSTATUS status = STATUS_SUCCESS;
    NVME_SLOT *slot;

    RtlCopyMemory(&answer, response, sizeof(answer));
    if (Result->BytesTransferred != sizeof(answer)) {
        NvmeQueueFail(Queue, STATUS_INVALID_NETWORK_RESPONSE, "the target has sent a response of a wrong length");
        return;
    }
    slot = QueueFindSlot(Queue, answer.cid);
    if (!slot) {
        NvmeQueueFail(Queue, STATUS_INVALID_NETWORK_RESPONSE, "the target has answered a command that it was not sent");
        return;
    }
    if (Queue->State == NvmeQueueOpen)
        status = NvmeQueuePostReceive(Queue, response);
    if (!NT_SUCCESS(status))
        NvmeQueueFail(Queue, status, "a receive could not be posted");
    if (!SlotInvalidate(slot, Result)) {
        NvmeQueueFail(Queue, STATUS_INVALID_NETWORK_RESPONSE, "the target has invalidated a wrong token");
        return;
    }
    slot->Answer = answer;
    slot->Answered = TRUE;
    SlotFinish(slot, NVME_PENDING_RESPONSE, Work);
}

/* Returns a text that describes the error status of a result. */
static const CHAR *QueueFailure(NTSTATUS Status)
{
    switch (Status) {
    case STATUS_CONNECTION_ABORTED:
        return "the connection was lost";
    case STATUS_CANCELLED:
        return "the connection has ended";
    default:
        return "a request of the queue has failed";
    }
}

/* Handles the result of a request. A fast registration is silent, so it has a result only if it has failed. */
static VOID QueueResult(NVME_QUEUE *Queue, const NDK_RESULT_EX *Result, NVME_WORK *Work)
{
    NVME_SLOT *slot = Result->RequestContext;

    if (!NT_SUCCESS(Result->Status)) {
        NvmeQueueFail(Queue, Result->Status, QueueFailure(Result->Status));
        return;
    }
    switch (Result->Type) {
    case NdkOperationTypeReceive:
    case NdkOperationTypeReceiveAndInvalidate:
        QueueReceived(Queue, Result, Work);
        break;
    case NdkOperationTypeInvalidate:
        slot->Registered = FALSE;
        SlotFinish(slot, NVME_PENDING_INVALIDATE, Work);
        break;
    default: /* a send */
        SlotFinish(slot, NVME_PENDING_SEND, Work);
        break;
    }
}

/*
 * Reads and handles the results that the completion queue contains. Limits their number, because new requests that
 * start meanwhile could add results as fast as they are read.
 */
static VOID QueueReadResults(NVME_QUEUE *Queue, NVME_WORK *Work)
{
    NDK_RESULT_EX results[RESULTS];
    ULONG polled, count, i;

    for (polled = 0; polled < NVME_CQ_DEPTH(Queue->Depth); polled += count) {
        count = Queue->Cq->Dispatch->NdkGetCqResultsEx(Queue->Cq, results, RESULTS);
        for (i = 0; i < count; i++)
            if (NT_SUCCESS(results[i].Status) && results[i].Type == NdkOperationTypeReceiveAndInvalidate)
                QueueInvalidated(Queue, &results[i]);
        for (i = 0; i < count; i++)
            QueueResult(Queue, &results[i], Work);
        if (count == 0)
            break;
    }
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

VOID NvmeQueuePoll(NVME_QUEUE *Queue)
{
    NVME_WORK work;
    KIRQL irql;

    WorkInitialize(&work);
    KeAcquireSpinLock(&Queue->Lock, &irql);
    QueueReadResults(Queue, &work);
    KeReleaseSpinLock(&Queue->Lock, irql);
    WorkRun(&work);
}

/*
 * Handles a notification of the CQ. The adapter calls this function once for each NdkArmCq, and never during another
 * call.
 */
VOID NvmeQueueNotified(PVOID Context, NTSTATUS CqStatus)
{
    NVME_QUEUE *queue = Context;
    NVME_WORK work;
    KIRQL irql;

    WorkInitialize(&work);
    KeAcquireSpinLock(&queue->Lock, &irql);
    if (!NT_SUCCESS(CqStatus)) {
        NvmeQueueFail(queue, CqStatus, "the completion queue has failed");
    } else if (!queue->CqClosing) {
        QueueReadResults(queue, &work);
        queue->Cq->Dispatch->NdkArmCq(queue->Cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if there are new results */
    }
    KeReleaseSpinLock(&queue->Lock, irql);
    WorkRun(&work);
}

/*
 * Returns TRUE if a request of the upper part may be sent now. NvmeQueueClose acquires Lock after LiveQueues has become
 * 0, so a thread that has chosen the queue before the connection was lost sends nothing on the next connection before
 * the controller is live again, and nothing that a reset must end. Lock is held.
 */
static BOOLEAN QueueMaySend(const NVME_QUEUE *Queue, const NVME_REQUEST *Request)
{
    const NVME_CONTROLLER *controller = Queue->Controller;

    return Queue->Id < ReadNoFence(&controller->LiveQueues) && Request->Resets == NvmeControllerResets(controller);
}

BOOLEAN NvmeQueueSubmit(NVME_QUEUE *Queue, NVME_REQUEST *Request, BOOLEAN Own)
{
    BOOLEAN open;
    NVME_WORK work;
    KIRQL irql;

    WorkInitialize(&work);
    KeAcquireSpinLock(&Queue->Lock, &irql);
    open = Queue->State == NvmeQueueOpen && (Own || QueueMaySend(Queue, Request));
    if (open) {
        InsertTailList(&Queue->Waiting, &Request->Link);
        QueueAssign(Queue, &work);
    }
    KeReleaseSpinLock(&Queue->Lock, irql);
    WorkRun(&work);
    return open;
}

BOOLEAN NvmeRequestMatches(const NVME_REQUEST *Request, const NVME_REQUEST *Wanted, ULONG NamespaceId)
{
    if (Wanted)
        return Request == Wanted;
    return !Request->Admin && (NamespaceId == NVME_ALL_NAMESPACES || NamespaceId == Request->Command.nsid);
}

VOID NvmeQueueAbort(NVME_QUEUE *Queue, NVME_REQUEST *Request, ULONG NamespaceId)
{
    PLIST_ENTRY entry, next;
    NVME_WORK work;
    ULONG count, i;
    KIRQL irql;

    WorkInitialize(&work);
    KeAcquireSpinLock(&Queue->Lock, &irql);
    for (entry = Queue->Waiting.Flink; entry != &Queue->Waiting; entry = next) {
        NVME_REQUEST *request = CONTAINING_RECORD(entry, NVME_REQUEST, Link);

        next = entry->Flink;
        if (!NvmeRequestMatches(request, Request, NamespaceId))
            continue;
        RemoveEntryList(entry);
        request->Status = STATUS_CANCELLED;
        InsertTailList(&work.Done, entry);
    }
    count = (Queue->State == NvmeQueueOpen || Queue->State == NvmeQueueFailed) && Queue->Slots ? Queue->Depth : 0;
    for (i = 0; i < count; i++) {
        NVME_REQUEST *request = Queue->Slots[i].Request;

        if (request && NvmeRequestMatches(request, Request, NamespaceId) && !request->Aborted) {
            request->Aborted = TRUE;
            if (!request->AbortSent) /* otherwise the request has AbortSeconds to end */
                request->Deadline = 0;
        }
    }
    KeReleaseSpinLock(&Queue->Lock, irql);
    WorkRun(&work);
}

VOID NvmeQueueTakeRequests(NVME_QUEUE *Queue, LIST_ENTRY *Requests)
{
    NVME_WORK work;
    ULONG i;
    KIRQL irql;

    WorkInitialize(&work);
    KeAcquireSpinLock(&Queue->Lock, &irql);
    for (i = 0; Queue->Slots && i < Queue->Depth; i++) {
        NVME_SLOT *slot = &Queue->Slots[i];

        if (!slot->Request)
            continue;
        if (slot->Answered) {
            SlotEndAnswered(slot, &work);
        } else {
            NvmeSlotUnmap(slot);
            InsertTailList(Requests, &slot->Request->Link);
            slot->Request = NULL;
        }
    }
    while (!IsListEmpty(&Queue->Waiting))
        InsertTailList(Requests, RemoveHeadList(&Queue->Waiting));
    KeReleaseSpinLock(&Queue->Lock, irql);
    WorkRun(&work);
}
