/* SPDX-License-Identifier: MIT */
/*
 * The parts of the service that all connections share: the listener, one completion queue, and one shared receive queue
 * with the memory for messages.
 *
 * A slot is in one place at a time: posted to the shared receive queue, in a connection's list of early messages, or in
 * use by a request of the connection that received into it. Service->Lock guards the slots. Results are read, and
 * answers are posted, with the lock held. This cannot deadlock, because a provider calls no callback inside a post.
 *
 * All clients share the slots. A client that sends faster than the service can answer may use up all slots. Then no
 * receive is posted for the other clients. If the clients do not trust each other, each queue pair should have its own
 * receive queue.
 *
 * EchoServiceStop ends the connections and waits until the last one is closed. Then it closes the other objects, each
 * before the objects that it depends on. A notification may still run at that time. If CqClosing is set, the
 * notification does not use the completion queue.
 */
#include "echo.h"

VOID EchoServicePost(ECHO_SERVICE *Service, ECHO_SLOT *Slot)
{
    NDK_SGE sge = EchoBufferSge(&Service->Messages, Slot->Offset, ECHO_MAX_MESSAGE);
    NTSTATUS status = Service->Srq->Dispatch->NdkSrqReceive(Service->Srq, Slot, &sge, 1);

    if (!NT_SUCCESS(status))
        DbgPrint("echo: a receive could not be posted, 0x%08X: one message less\n", status);
}

/*
 * Reads the results that are in the queue at the call. The number is limited, because clients could add results as fast
 * as they are read. Lock is held.
 */
static VOID ServicePollResultsLocked(ECHO_SERVICE *Service)
{
    NDK_RESULT_EX results[16];
    ULONG polled, count, i;

    for (polled = 0; polled < ECHO_CQ_DEPTH; polled += count) {
        count = Service->Cq->Dispatch->NdkGetCqResultsEx(Service->Cq, results, 16);
        for (i = 0; i < count; i++)
            EchoConnectionResult(&results[i]);
        if (count == 0)
            break;
    }
}

VOID EchoServicePollResults(ECHO_SERVICE *Service)
{
    KIRQL irql;

    KeAcquireSpinLock(&Service->Lock, &irql);
    ServicePollResultsLocked(Service);
    KeReleaseSpinLock(&Service->Lock, irql);
}

/* Refuses new connections and ends the existing ones. Lock is held. */
static VOID ServiceEndConnections(ECHO_SERVICE *Service)
{
    Service->Refusing = TRUE;
    EchoConnectionEndAll(Service);
}

/*
 * Handles new results. The provider calls this callback once for each NdkArmCq. It does not call the callback again
 * before the callback has returned.
 */
static VOID CqNotified(PVOID Context, NTSTATUS CqStatus)
{
    ECHO_SERVICE *service = Context;
    KIRQL irql;

    if (!NT_SUCCESS(CqStatus))
        DbgPrint("echo: the completion queue failed, 0x%08X\n", CqStatus);
    KeAcquireSpinLock(&service->Lock, &irql);
    if (!NT_SUCCESS(CqStatus)) {
        ServiceEndConnections(service);
    } else if (!service->CqClosing) {
        ServicePollResultsLocked(service);
        service->Cq->Dispatch->NdkArmCq(service->Cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if there are new results */
    }
    KeReleaseSpinLock(&service->Lock, irql);
}

/* Returns STATUS_NOT_SUPPORTED if the service needs more than an adapter's limits, which a driver must not exceed. */
static NTSTATUS CheckLimits(NDK_ADAPTER *Adapter)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof(info);
    NTSTATUS status = Adapter->Dispatch->NdkQueryAdapterInfo(Adapter, &info, &size);

    if (NT_SUCCESS(status) && (info.MaxCqDepth < ECHO_CQ_DEPTH || info.MaxSrqDepth < ECHO_SLOTS ||
            info.MaxInitiatorQueueDepth < ECHO_QP_DEPTH || info.FRMRPageCount < ECHO_BULK_PAGES))
        status = STATUS_NOT_SUPPORTED;
    return status;
}

static NTSTATUS CreateQueues(ECHO_SERVICE *Service)
{
    NDK_ADAPTER *adapter = Service->Adapter;
    ECHO_WAIT wait;
    ULONG i;
    NTSTATUS status = CheckLimits(adapter);

    if (!NT_SUCCESS(status))
        return status;
    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, adapter->Dispatch->NdkCreatePd(adapter, EchoCreated, &wait, &Service->Pd),
        (PVOID *)&Service->Pd);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, adapter->Dispatch->NdkCreateCq(adapter, ECHO_CQ_DEPTH, CqNotified, Service, NULL,
            EchoCreated, &wait, &Service->Cq), (PVOID *)&Service->Cq);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Service->Pd->Dispatch->NdkCreateSrq(Service->Pd, ECHO_SLOTS, 1, 0, NULL, NULL,
            NULL, EchoCreated, &wait, &Service->Srq), (PVOID *)&Service->Srq);
    if (NT_SUCCESS(status))
        status = EchoBufferCreate(&Service->Messages, Service->Pd, ECHO_SLOTS * ECHO_MAX_MESSAGE);
    for (i = 0; i < ECHO_SLOTS && NT_SUCCESS(status); i++) {
        Service->Slots[i].Offset = i * ECHO_MAX_MESSAGE;
        EchoServicePost(Service, &Service->Slots[i]);
    }
    return status;
}

static NTSTATUS Listen(ECHO_SERVICE *Service, const ECHO_SETTINGS *Settings)
{
    NDK_ADAPTER *adapter = Service->Adapter;
    SOCKADDR_IN address;
    ECHO_WAIT wait;
    NTSTATUS status;

    EchoFillAddress(&address, Settings->ServiceAddress, Settings->Port);
    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, adapter->Dispatch->NdkCreateListener(adapter, EchoConnectEvent, Service, EchoCreated,
        &wait, &Service->Listener), (PVOID *)&Service->Listener);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Service->Listener->Dispatch->NdkListen(Service->Listener, (PSOCKADDR)&address,
            sizeof(address), EchoCompleted, &wait), NULL);
    return status;
}

NTSTATUS EchoServiceStart(ECHO_SERVICE *Service, PDEVICE_OBJECT Device, const ECHO_SETTINGS *Settings)
{
    NTSTATUS status;

    RtlZeroMemory(Service, sizeof(*Service));
    Service->Device = Device;
    KeInitializeSpinLock(&Service->Lock);
    InitializeListHead(&Service->Connections);
    ExInitializeRundownProtection(&Service->Alive);
    status = EchoOpenAdapter(Settings->ServiceInterface, &Service->Adapter);
    if (NT_SUCCESS(status))
        status = CreateQueues(Service);
    if (NT_SUCCESS(status)) {
        Service->Cq->Dispatch->NdkArmCq(Service->Cq, NDK_CQ_NOTIFY_ANY);
        status = Listen(Service, Settings);
    }
    if (!NT_SUCCESS(status))
        EchoServiceStop(Service);
    return status;
}

/* Stops the service, even if it has been started only partly. */
VOID EchoServiceStop(ECHO_SERVICE *Service)
{
    KIRQL irql;

    KeAcquireSpinLock(&Service->Lock, &irql);
    ServiceEndConnections(Service);
    KeReleaseSpinLock(&Service->Lock, irql);
    if (Service->Listener)
        Service->Listener->Dispatch->NdkControlConnectEvents(Service->Listener, TRUE);
    ExWaitForRundownProtectionRelease(&Service->Alive);
    KeAcquireSpinLock(&Service->Lock, &irql);
    Service->CqClosing = TRUE;
    KeReleaseSpinLock(&Service->Lock, irql);
    if (Service->Listener)
        EchoClose(&Service->Listener->Header, Service->Listener->Dispatch->NdkCloseListener);
    if (Service->Srq)
        EchoClose(&Service->Srq->Header, Service->Srq->Dispatch->NdkCloseSrq);
    EchoBufferDelete(&Service->Messages);
    if (Service->Cq)
        EchoClose(&Service->Cq->Header, Service->Cq->Dispatch->NdkCloseCq);
    if (Service->Pd)
        EchoClose(&Service->Pd->Header, Service->Pd->Dispatch->NdkClosePd);
    if (Service->Adapter)
        EchoCloseAdapter(Service->Adapter);
    Service->Adapter = NULL;
}
