/* SPDX-License-Identifier: MIT */
/*
 * Creates, connects and closes the NDK objects of a queue. All of this runs in the controller's thread at
 * PASSIVE_LEVEL, so no two calls of this file for one controller overlap.
 *
 * NvmeQueueClose closes each object after the users of the object have ended:
 *
 *   1. Sets the state Failed, so that nothing is posted and no slot is started any more. Waits for slots being started.
 *   2. Closes the connector. Afterwards no callback of the connector runs, and the target has no connection.
 *   3. Reads the results so far, closes the queue pair, and reads the last results.
 *   4. Closes the regions. Afterwards neither adapter nor target can access the requests' data.
 *   5. Removes the requests from the slots, and completes or returns them. Frees the memory.
 *   6. Closes the completion queue, which waits for a running notification, and the protection domain.
 *
 * Each queue has a protection domain of its own, so a token works only on the connection on which it was sent.
 */
#include "nvmendk.h"

static VOID QueueSetState(NVME_QUEUE *Queue, NVME_QUEUE_STATE State)
{
    KIRQL irql;

    KeAcquireSpinLock(&Queue->Lock, &irql);
    Queue->State = State;
    KeReleaseSpinLock(&Queue->Lock, irql);
}

static BOOLEAN QueueIsClosed(NVME_QUEUE *Queue)
{
    BOOLEAN closed;
    KIRQL irql;

    KeAcquireSpinLock(&Queue->Lock, &irql);
    closed = Queue->State == NvmeQueueClosed;
    KeReleaseSpinLock(&Queue->Lock, irql);
    return closed;
}

/* ---- Connect ----------------------------------------------------------------------------------------------------- */

static NTSTATUS QueueCreateObjects(NVME_QUEUE *Queue)
{
    NDK_ADAPTER *adapter = Queue->Adapter;
    NVME_WAIT wait;
    NTSTATUS status;

    NvmeWaitInitialize(&wait);
    status = NvmeWaitFor(&wait, adapter->Dispatch->NdkCreatePd(adapter, NvmeCreated, &wait, &Queue->Pd),
        (PVOID *)&Queue->Pd);
    if (NT_SUCCESS(status))
        status = NvmeWaitFor(&wait, adapter->Dispatch->NdkCreateCq(adapter, NVME_CQ_DEPTH(Queue->Depth),
            NvmeQueueNotified, Queue, NULL, NvmeCreated, &wait, &Queue->Cq), (PVOID *)&Queue->Cq);
    if (NT_SUCCESS(status))
        status = NvmeWaitFor(&wait, Queue->Pd->Dispatch->NdkCreateQp(Queue->Pd, Queue->Cq, Queue->Cq, Queue,
            Queue->Depth + 1, NVME_QP_DEPTH(Queue->Depth), 1, 1, 0, NvmeCreated, &wait, &Queue->Qp),
            (PVOID *)&Queue->Qp);
    if (NT_SUCCESS(status))
        status = NvmeWaitFor(&wait, adapter->Dispatch->NdkCreateConnector(adapter, NvmeCreated, &wait,
            &Queue->Connector), (PVOID *)&Queue->Connector);
    if (NT_SUCCESS(status))
        status = NvmeQueueCreateMemory(Queue);
    if (NT_SUCCESS(status))
        status = NvmeQueuePostReceives(Queue);
    if (NT_SUCCESS(status))
        Queue->Cq->Dispatch->NdkArmCq(Queue->Cq, NDK_CQ_NOTIFY_ANY);
    return status;
}

static VOID QueueDisconnected(PVOID Context)
{
    NVME_QUEUE *queue = Context;
    KIRQL irql;

    KeAcquireSpinLock(&queue->Lock, &irql);
    NvmeQueueFail(queue, STATUS_CONNECTION_DISCONNECTED, "the target has disconnected, or the connection was lost");
    KeReleaseSpinLock(&queue->Lock, irql);
}

/*
 * Waits until a call of the connector has completed, and meanwhile serves the requests that wait for the connection. If
 * the controller is deleted, closes the connector, which cancels the call.
 */
static NTSTATUS QueueWaitForConnector(NVME_QUEUE *Queue, NVME_WAIT *Wait, NTSTATUS Status)
{
    PVOID objects[] = { &Wait->Done, &Queue->Controller->Stop };
    LARGE_INTEGER tick;

    tick.QuadPart = -(LONGLONG)NVME_TICK;
    if (Status != STATUS_PENDING)
        return Status;
    for (;;) {
        switch (KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, &tick, NULL)) {
        case STATUS_WAIT_0:
            return Wait->Status;
        case STATUS_WAIT_1:
            NvmeClose(&Queue->Connector->Header, Queue->Connector->Dispatch->NdkCloseConnector);
            Queue->Connector = NULL;
            NvmeWaitFor(Wait, STATUS_PENDING, NULL);
            return STATUS_DELETE_PENDING;
        default:
            NvmeControllerServeParked(Queue->Controller);
            break;
        }
    }
}

/*
 * Returns a text that describes why the connection was refused: the reason in the target's private data, if the target
 * has sent one.
 */
static const CHAR *QueueRefusal(NVME_QUEUE *Queue)
{
    UCHAR data[256];
    ULONG length = sizeof(data);
    uint16_t reason;

    if (Queue->Connector && NT_SUCCESS(Queue->Connector->Dispatch->NdkGetConnectionData(Queue->Connector, NULL, NULL,
            data, &length)) && nvme_rdma_reject_parse(&reason, data, length))
        return nvme_rdma_status_text(reason);
    return "the target was not reached, or has refused the connection";
}

/*
 * Checks the target's reply. If the target has posted fewer receives than this side has slots, removes the superfluous
 * slots, because a command without a receive would end the connection.
 */
static NTSTATUS QueueCheckReply(NVME_QUEUE *Queue)
{
    UCHAR data[256];
    ULONG length = sizeof(data), slots;
    uint32_t receives;
    NTSTATUS status = Queue->Connector->Dispatch->NdkGetConnectionData(Queue->Connector, NULL, NULL, data, &length);

    if (!NT_SUCCESS(status))
        return status;
    if (!nvme_rdma_reply_parse(&receives, data, length) || receives < 2)
        return STATUS_INVALID_NETWORK_RESPONSE;
    for (slots = Queue->Depth; slots + 1 > receives; slots--)
        RemoveTailList(&Queue->Free);
    return STATUS_SUCCESS;
}

static ULONG AddressLength(const SOCKADDR_INET *Address)
{
    return Address->si_family == AF_INET ? sizeof(Address->Ipv4) : sizeof(Address->Ipv6);
}

/*
 * Connects the queue pair. The target reads and writes this side's memory; this side does not read the target's memory.
 */
static NTSTATUS QueueEstablish(NVME_QUEUE *Queue)
{
    NVME_CONTROLLER *controller = Queue->Controller;
    NDK_CONNECTOR *connector = Queue->Connector;
    struct nvme_rdma_request data;
    struct nvme_rdma_queue values = { Queue->Id, Queue->Id ? controller->Info.ControllerId : 0, Queue->Depth + 1u,
        Queue->Depth + 1u };
    NVME_WAIT wait;
    NTSTATUS status;

    nvme_rdma_request_build(&data, &values);
    NvmeWaitInitialize(&wait);
    status = QueueWaitForConnector(Queue, &wait, connector->Dispatch->NdkConnect(connector, Queue->Qp,
        (PSOCKADDR)&controller->Target.LocalAddress, AddressLength(&controller->Target.LocalAddress),
        (PSOCKADDR)&controller->Target.Address, AddressLength(&controller->Target.Address),
        min(Queue->Depth, controller->AdapterInfo.MaxInboundReadLimit), 0, &data, sizeof(data), NvmeCompleted, &wait));
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(controller, status, QueueRefusal(Queue));
    status = QueueCheckReply(Queue);
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(controller, status, "the target's reply to the connection request is not valid");
    status = QueueWaitForConnector(Queue, &wait, connector->Dispatch->NdkCompleteConnect(connector, QueueDisconnected,
        Queue, NvmeCompleted, &wait));
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(controller, status, "the connection was not completed");
    Queue->Connected = TRUE;
    return status;
}

NTSTATUS NvmeQueueConnect(NVME_QUEUE *Queue)
{
    BOOLEAN open;
    NTSTATUS status;
    KIRQL irql;

    ExInitializeRundownProtection(&Queue->Starting);
    Queue->Adapter = Queue->Controller->Adapter;
    Queue->CqClosing = FALSE;
    QueueSetState(Queue, NvmeQueueConnecting);
    status = QueueCreateObjects(Queue);
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(Queue->Controller, status, "the objects of a queue were not created");
    status = QueueEstablish(Queue);
    if (!NT_SUCCESS(status))
        return status;
    KeAcquireSpinLock(&Queue->Lock, &irql);
    open = Queue->State == NvmeQueueConnecting;
    if (open)
        Queue->State = NvmeQueueOpen;
    KeReleaseSpinLock(&Queue->Lock, irql);
    return open ? STATUS_SUCCESS : NvmeControllerInterrupted(Queue->Controller);
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

/*
 * Disconnects, and waits up to NVME_CLOSE_SECONDS until the target has disconnected, too. Then closes the connector,
 * which cancels a disconnect that is still pending. Returns FALSE if the target has not disconnected in time.
 */
static BOOLEAN QueueDisconnect(NVME_QUEUE *Queue)
{
    NDK_CONNECTOR *connector = Queue->Connector;
    LARGE_INTEGER limit;
    NVME_WAIT wait;
    NTSTATUS status;

    limit.QuadPart = -(LONGLONG)(NVME_CLOSE_SECONDS * NVME_SECOND);
    NvmeWaitInitialize(&wait);
    status = connector->Dispatch->NdkDisconnect(connector, NvmeCompleted, &wait);
    if (status == STATUS_PENDING)
        status = KeWaitForSingleObject(&wait.Done, Executive, KernelMode, FALSE, &limit);
    NvmeClose(&connector->Header, connector->Dispatch->NdkCloseConnector);
    if (status == STATUS_TIMEOUT)
        NvmeWaitFor(&wait, STATUS_PENDING, NULL);
    return status != STATUS_TIMEOUT;
}

static BOOLEAN QueueCloseConnector(NVME_QUEUE *Queue, BOOLEAN Graceful)
{
    BOOLEAN answered = Graceful;

    if (Queue->Connector && Queue->Connected && Graceful)
        answered = QueueDisconnect(Queue);
    else if (Queue->Connector)
        NvmeClose(&Queue->Connector->Header, Queue->Connector->Dispatch->NdkCloseConnector);
    Queue->Connector = NULL;
    Queue->Connected = FALSE;
    return answered;
}

static VOID QueueCloseQp(NVME_QUEUE *Queue)
{
    KIRQL irql;

    KeAcquireSpinLock(&Queue->Lock, &irql);
    Queue->CqClosing = TRUE;
    KeReleaseSpinLock(&Queue->Lock, irql);
    if (!Queue->Qp)
        return;
    NvmeQueuePoll(Queue);
    NvmeClose(&Queue->Qp->Header, Queue->Qp->Dispatch->NdkCloseQp);
    NvmeQueuePoll(Queue);
    Queue->Qp = NULL;
}

BOOLEAN NvmeQueueClose(NVME_QUEUE *Queue, BOOLEAN Graceful, LIST_ENTRY *Requests)
{
    BOOLEAN answered;

    if (QueueIsClosed(Queue))
        return Graceful;
    QueueSetState(Queue, NvmeQueueFailed);
    ExWaitForRundownProtectionRelease(&Queue->Starting);
    answered = QueueCloseConnector(Queue, Graceful);
    QueueCloseQp(Queue);
    NvmeQueueCloseRegions(Queue);
    NvmeQueueTakeRequests(Queue, Requests);
    NvmeQueueFreeMemory(Queue);
    if (Queue->Cq)
        NvmeClose(&Queue->Cq->Header, Queue->Cq->Dispatch->NdkCloseCq);
    if (Queue->Pd)
        NvmeClose(&Queue->Pd->Header, Queue->Pd->Dispatch->NdkClosePd);
    Queue->Cq = NULL;
    Queue->Pd = NULL;
    QueueSetState(Queue, NvmeQueueClosed);
    return answered;
}
