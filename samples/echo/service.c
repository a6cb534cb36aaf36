/* SPDX-License-Identifier: MIT */
/*
 * What all connections share: the listener, one completion queue, one shared receive queue with the messages'
 * memory.
 *
 * A slot is in one place at a time: posted to the shared receive queue, or in the hands of a request of the
 * connection that received into it. CqLock orders them: results are taken and answered with it held, which is
 * allowed, since a provider does not call back out of a post.
 */
#include "echo.h"

VOID EchoServicePost(ECHO_SERVICE *Service, ECHO_SLOT *Slot)
{
    NDK_SGE sge = EchoBufferSge(&Service->Messages, Slot->Offset, ECHO_MESSAGE_MOST);
    NTSTATUS status = Service->Srq->Dispatch->NdkSrqReceive(Service->Srq, Slot, &sge, 1);

    if (!NT_SUCCESS(status))
        DbgPrint("echo: a receive could not be posted, 0x%08X: one message less\n", status);
}

VOID EchoServiceDrain(ECHO_SERVICE *Service)
{
    NDK_RESULT_EX results[16];
    ULONG count, i;
    KIRQL irql;

    KeAcquireSpinLock(&Service->CqLock, &irql);
    while ((count = Service->Cq->Dispatch->NdkGetCqResultsEx(Service->Cq, results, 16)) > 0)
        for (i = 0; i < count; i++)
            EchoConnectionResult(&results[i]);
    KeReleaseSpinLock(&Service->CqLock, irql);
}

static VOID CqNotified(PVOID Context, NTSTATUS CqStatus)
{
    ECHO_SERVICE *service = Context;
    KIRQL irql;

    if (!NT_SUCCESS(CqStatus)) {
        DbgPrint("echo: the completion queue failed, 0x%08X\n", CqStatus);
        EchoConnectionEndAll(service);
        return;
    }
    EchoServiceDrain(service);
    KeAcquireSpinLock(&service->CqLock, &irql);
    service->Cq->Dispatch->NdkArmCq(service->Cq, NDK_CQ_NOTIFY_ANY); /* fires at once for what came in between */
    KeReleaseSpinLock(&service->CqLock, irql);
}

static NTSTATUS MakeQueues(ECHO_SERVICE *Service)
{
    NDK_ADAPTER *adapter = Service->Adapter;
    ECHO_WAIT wait;
    NTSTATUS status;
    ULONG i;

    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, adapter->Dispatch->NdkCreatePd(adapter, EchoCreated, &wait, &Service->Pd),
        (PVOID *)&Service->Pd);
    if (NT_SUCCESS(status)) /* a slot has one receive or answer under way, after at most three silent requests */
        status = EchoWaitFor(&wait, adapter->Dispatch->NdkCreateCq(adapter, 4 * ECHO_SLOTS, CqNotified, Service, NULL,
            EchoCreated, &wait, &Service->Cq), (PVOID *)&Service->Cq);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&wait, Service->Pd->Dispatch->NdkCreateSrq(Service->Pd, ECHO_SLOTS, 1, 0, NULL, NULL,
            NULL, EchoCreated, &wait, &Service->Srq), (PVOID *)&Service->Srq);
    if (NT_SUCCESS(status))
        status = EchoBufferCreate(&Service->Messages, Service->Pd, ECHO_SLOTS * ECHO_MESSAGE_MOST);
    for (i = 0; i < ECHO_SLOTS && NT_SUCCESS(status); i++) {
        Service->Slots[i].Offset = i * ECHO_MESSAGE_MOST;
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
    KeInitializeSpinLock(&Service->CqLock);
    KeInitializeSpinLock(&Service->ListLock);
    InitializeListHead(&Service->Connections);
    ExInitializeRundownProtection(&Service->Alive);
    status = EchoOpenAdapter(Settings->ServiceInterface, &Service->Adapter);
    if (NT_SUCCESS(status))
        status = MakeQueues(Service);
    if (NT_SUCCESS(status)) {
        Service->Cq->Dispatch->NdkArmCq(Service->Cq, NDK_CQ_NOTIFY_ANY);
        status = Listen(Service, Settings);
    }
    if (!NT_SUCCESS(status))
        EchoServiceStop(Service);
    return status;
}

/*
 * No new connections; the end of those that there are; then the rest, what depends on others first. The listener's
 * close would wait for the connections that came over it, so they go before.
 */
VOID EchoServiceStop(ECHO_SERVICE *Service)
{
    KIRQL irql;

    KeAcquireSpinLock(&Service->ListLock, &irql);
    Service->Stopping = TRUE;
    KeReleaseSpinLock(&Service->ListLock, irql);
    if (Service->Listener)
        Service->Listener->Dispatch->NdkControlConnectEvents(Service->Listener, TRUE);
    EchoConnectionEndAll(Service);
    ExWaitForRundownProtectionRelease(&Service->Alive);
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
