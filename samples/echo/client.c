/* SPDX-License-Identifier: MIT */
/*
 * The client of the service. In each round of a run the client registers its memory, the service reads and writes this
 * memory, and the service's answer invalidates the memory's token. All of this happens in the thread of the device
 * control at PASSIVE_LEVEL. The requests' contexts are in pool, because a posted request may complete after the time
 * limit of its wait.
 *
 * Only this thread calls the connector, the queue pair and the completion queue, so nothing is posted after
 * CloseObjects has begun. The two event callbacks only store a status and set an event in CLIENT. The closes of
 * connector and completion queue wait for these callbacks, and CLIENT is freed after both closes. The memory of
 * requests is freed after the queue pair's close.
 */
#include "echo.h"

#define CLIENT_SECONDS 10

typedef struct _CLIENT {
    ECHO_WAIT Wait;
    KEVENT Event;         /* set when results have arrived or Failure was set */
    LONG Failure;         /* the reason that no more results will arrive, or STATUS_SUCCESS */
    NDK_ADAPTER *Adapter;
    NDK_PD *Pd;
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_CONNECTOR *Connector;
    BOOLEAN Connected;
    ECHO_BUFFER Messages; /* two halves: the request, and room for the answer */
    ECHO_BUFFER Bulk;     /* two halves: the source of the read, and the target of the write */
} CLIENT;

static VOID CqNotified(PVOID Context, NTSTATUS CqStatus)
{
    CLIENT *client = Context;

    if (!NT_SUCCESS(CqStatus))
        InterlockedExchange(&client->Failure, CqStatus);
    KeSetEvent(&client->Event, IO_NO_INCREMENT, FALSE);
}

/* Ends the wait for a receive's result, because a pending receive does not complete when the service disconnects. */
static VOID Disconnected(PVOID Context)
{
    CLIENT *client = Context;

    InterlockedExchange(&client->Failure, STATUS_CONNECTION_DISCONNECTED);
    KeSetEvent(&client->Event, IO_NO_INCREMENT, FALSE);
}

static NTSTATUS CreateObjects(CLIENT *Client, const ECHO_SETTINGS *Settings, ULONG Length)
{
    NDK_ADAPTER *adapter;
    NTSTATUS status = EchoOpenAdapter(Settings->ClientInterface, &Client->Adapter);

    if (!NT_SUCCESS(status))
        return status;
    adapter = Client->Adapter;
    status = EchoWaitFor(&Client->Wait, adapter->Dispatch->NdkCreatePd(adapter, EchoCreated, &Client->Wait,
        &Client->Pd), (PVOID *)&Client->Pd);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&Client->Wait, adapter->Dispatch->NdkCreateCq(adapter, 8, CqNotified, Client, NULL,
            EchoCreated, &Client->Wait, &Client->Cq), (PVOID *)&Client->Cq);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&Client->Wait, Client->Pd->Dispatch->NdkCreateQp(Client->Pd, Client->Cq, Client->Cq, NULL,
            2, 4, 1, 1, 0, EchoCreated, &Client->Wait, &Client->Qp), (PVOID *)&Client->Qp);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&Client->Wait, adapter->Dispatch->NdkCreateConnector(adapter, EchoCreated, &Client->Wait,
            &Client->Connector), (PVOID *)&Client->Connector);
    if (NT_SUCCESS(status))
        status = EchoBufferCreate(&Client->Messages, Client->Pd, 2 * ECHO_MAX_MESSAGE);
    if (NT_SUCCESS(status))
        status = EchoBufferCreateFast(&Client->Bulk, adapter, Client->Pd, 2 * Length, TRUE);
    return status;
}

static NTSTATUS Connect(CLIENT *Client, const ECHO_SETTINGS *Settings)
{
    NDK_CONNECTOR *connector = Client->Connector;
    SOCKADDR_IN from, to;
    NTSTATUS status;

    EchoFillAddress(&from, Settings->ClientAddress, 0);
    EchoFillAddress(&to, Settings->ServiceAddress, Settings->Port);
    status = EchoWaitFor(&Client->Wait, connector->Dispatch->NdkConnect(connector, Client->Qp, (PSOCKADDR)&from,
        sizeof(from), (PSOCKADDR)&to, sizeof(to), 1, 1, NULL, 0, EchoCompleted, &Client->Wait), NULL);
    if (NT_SUCCESS(status))
        status = EchoWaitFor(&Client->Wait, connector->Dispatch->NdkCompleteConnect(connector, Disconnected,
            Client, EchoCompleted, &Client->Wait), NULL);
    Client->Connected = NT_SUCCESS(status);
    return status;
}

/*
 * Waits for the next result, and returns its status. If the client was notified of a failure and the queue is empty,
 * returns that failure, because the answer will not arrive. If Answered is TRUE, ignores the failure, because then only
 * the result of the send is missing, and this result arrives in any case.
 */
static NTSTATUS NextResult(CLIENT *Client, NDK_RESULT_EX *Result, BOOLEAN Answered)
{
    LARGE_INTEGER limit;

    limit.QuadPart = -10000000LL * CLIENT_SECONDS;
    for (;;) {
        /* Failure is read before the CQ, so that a result that arrived before the failure is not lost. */
        LONG failure = InterlockedCompareExchange(&Client->Failure, 0, 0);

        if (Client->Cq->Dispatch->NdkGetCqResultsEx(Client->Cq, Result, 1))
            return Result->Status;
        if (failure && !Answered)
            return failure;
        Client->Cq->Dispatch->NdkArmCq(Client->Cq, NDK_CQ_NOTIFY_ANY);
        if (KeWaitForSingleObject(&Client->Event, Executive, KernelMode, FALSE, &limit) == STATUS_TIMEOUT)
            return STATUS_IO_TIMEOUT;
    }
}

static NTSTATUS PostRound(CLIENT *Client, ULONG Length)
{
    ECHO_BULK *bulk = (ECHO_BULK *)Client->Messages.Data;
    NDK_SGE answer = EchoBufferSge(&Client->Messages, ECHO_MAX_MESSAGE, ECHO_MAX_MESSAGE);
    NDK_SGE question = EchoBufferSge(&Client->Messages, 0, sizeof(*bulk));
    NDK_QP *qp = Client->Qp;
    NTSTATUS status = EchoBufferRegister(&Client->Bulk, qp,
        NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE);

    if (!NT_SUCCESS(status))
        return status;
    bulk->Magic = ECHO_MAGIC;
    bulk->Status = STATUS_SUCCESS;
    bulk->Address = (ULONGLONG)(ULONG_PTR)Client->Bulk.Data;
    bulk->Token = Client->Bulk.Mr->Dispatch->NdkGetRemoteTokenFromMr(Client->Bulk.Mr);
    bulk->Length = Length;
    status = qp->Dispatch->NdkReceive(qp, NULL, &answer, 1);
    if (NT_SUCCESS(status))
        status = qp->Dispatch->NdkSend(qp, NULL, &question, 1, 0);
    return status;
}

/*
 * Posts the requests of a round, and waits for the results of send and receive, in any order. Checks the answer,
 * because the peer is not trusted.
 */
static NTSTATUS Round(CLIENT *Client, ULONG Length)
{
    const ECHO_BULK *answer = (const ECHO_BULK *)(Client->Messages.Data + ECHO_MAX_MESSAGE);
    NTSTATUS status = PostRound(Client, Length);
    BOOLEAN answered = FALSE;
    NDK_RESULT_EX received = { 0 };
    ULONG i;

    for (i = 0; i < 2 && NT_SUCCESS(status); i++) {
        NDK_RESULT_EX result;

        status = NextResult(Client, &result, answered);
        if (NT_SUCCESS(status) && result.Type != NdkOperationTypeSend) {
            received = result;
            answered = TRUE;
        }
    }
    if (!NT_SUCCESS(status))
        return status;
    if (received.BytesTransferred != sizeof(*answer) || answer->Magic != ECHO_MAGIC)
        return STATUS_INVALID_NETWORK_RESPONSE;
    if (!NT_SUCCESS(answer->Status)) {
        DbgPrint("echo: the service answers 0x%08X\n", answer->Status);
        return STATUS_REQUEST_NOT_ACCEPTED; /* the IRP's status must not be one that the peer chooses */
    }
    /* The answer must have invalidated the region's token. Otherwise the region cannot be registered again. */
    return received.Type == NdkOperationTypeReceiveAndInvalidate ? STATUS_SUCCESS : STATUS_INVALID_NETWORK_RESPONSE;
}

static VOID CloseObjects(CLIENT *Client)
{
    if (Client->Connected)
        EchoWaitFor(&Client->Wait, Client->Connector->Dispatch->NdkDisconnect(Client->Connector, EchoCompleted,
            &Client->Wait), NULL);
    if (Client->Connector)
        EchoClose(&Client->Connector->Header, Client->Connector->Dispatch->NdkCloseConnector);
    if (Client->Qp)
        EchoClose(&Client->Qp->Header, Client->Qp->Dispatch->NdkCloseQp);
    EchoBufferDelete(&Client->Bulk);
    EchoBufferDelete(&Client->Messages);
    if (Client->Cq)
        EchoClose(&Client->Cq->Header, Client->Cq->Dispatch->NdkCloseCq);
    if (Client->Pd)
        EchoClose(&Client->Pd->Header, Client->Pd->Dispatch->NdkClosePd);
    if (Client->Adapter)
        EchoCloseAdapter(Client->Adapter);
}

static NTSTATUS Rounds(CLIENT *Client, const ECHO_RUN *Run, ECHO_REPORT *Report)
{
    LARGE_INTEGER frequency, start = KeQueryPerformanceCounter(&frequency), end;
    PUCHAR data = Client->Bulk.Data;
    NTSTATUS status = STATUS_SUCCESS;
    ULONG i;

    while (Report->Rounds < Run->Rounds && NT_SUCCESS(status)) {
        for (i = 0; i < Run->Length; i++)
            data[i] = (UCHAR)(i * 7 + Report->Rounds);
        status = Round(Client, Run->Length);
        if (!NT_SUCCESS(status))
            break;
        if (RtlCompareMemory(data, data + Run->Length, Run->Length) != Run->Length)
            Report->Different++;
        Report->Rounds++;
        Report->Bytes += 2ULL * Run->Length;
    }
    end = KeQueryPerformanceCounter(NULL);
    Report->Microseconds = (ULONGLONG)((end.QuadPart - start.QuadPart) * 1000000 / frequency.QuadPart);
    return status;
}

NTSTATUS EchoClientRun(const ECHO_SETTINGS *Settings, const ECHO_RUN *Run, ECHO_REPORT *Report)
{
    CLIENT *client;
    NTSTATUS status;

    PAGED_CODE();
    RtlZeroMemory(Report, sizeof(*Report));
    if (Run->Length == 0 || Run->Length > ECHO_MAX_BULK)
        return STATUS_INVALID_PARAMETER;
    client = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*client), ECHO_TAG);
    if (!client)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(client, sizeof(*client));
    EchoWaitInitialize(&client->Wait);
    KeInitializeEvent(&client->Event, SynchronizationEvent, FALSE);
    status = CreateObjects(client, Settings, Run->Length);
    if (NT_SUCCESS(status))
        status = Connect(client, Settings);
    if (NT_SUCCESS(status))
        status = Rounds(client, Run, Report);
    CloseObjects(client);
    ExFreePoolWithTag(client, ECHO_TAG);
    return status;
}
