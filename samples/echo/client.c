/* SPDX-License-Identifier: MIT */
/*
 * A run against the service: the client's memory is registered for each round, read and written by the service, and
 * its token invalidated by the answer. All of it in the thread of the device control, at PASSIVE_LEVEL; the
 * requests' contexts are in pool, since what was posted may complete after a wait has been given up.
 *
 * Only this thread calls the connector, the queue pair and the completion queue, so nothing is posted once Unmake has
 * begun. The two event callbacks only store a status and set an event in CLIENT. The closes of connector and
 * completion queue wait for them, and CLIENT is freed after both. The memory of requests is freed after the queue
 * pair's close.
 */
#include "echo.h"

#define CLIENT_SECONDS 10

typedef struct _CLIENT {
    ECHO_WAIT Wait;
    KEVENT Event;         /* the completion queue has results, or Failure is set */
    LONG Failure;         /* why no more results will come */
    NDK_ADAPTER *Adapter;
    NDK_PD *Pd;
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_CONNECTOR *Connector;
    BOOLEAN Connected;
    ECHO_BUFFER Messages; /* the request, then room for the answer */
    ECHO_BUFFER Bulk;     /* what is read, then what is written */
} CLIENT;

static VOID CqNotified(PVOID Context, NTSTATUS CqStatus)
{
    CLIENT *client = Context;

    if (!NT_SUCCESS(CqStatus))
        InterlockedExchange(&client->Failure, CqStatus);
    KeSetEvent(&client->Event, IO_NO_INCREMENT, FALSE);
}

/* The service's orderly end completes no request: a receive would be waited for in vain. */
static VOID Disconnected(PVOID Context)
{
    CLIENT *client = Context;

    InterlockedExchange(&client->Failure, STATUS_CONNECTION_DISCONNECTED);
    KeSetEvent(&client->Event, IO_NO_INCREMENT, FALSE);
}

static NTSTATUS Make(CLIENT *Client, const ECHO_SETTINGS *Settings, ULONG Length)
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
        status = EchoBufferCreate(&Client->Messages, Client->Pd, 2 * ECHO_MESSAGE_MOST);
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
 * The next result, or why none will come: an answer that had not come when the service ended never will. The result of
 * a send whose answer is there still comes then.
 */
static NTSTATUS NextResult(CLIENT *Client, NDK_RESULT_EX *Result, BOOLEAN Answered)
{
    LARGE_INTEGER limit;

    limit.QuadPart = -10000000LL * CLIENT_SECONDS;
    for (;;) {
        LONG failure = InterlockedCompareExchange(&Client->Failure, 0, 0); /* first: the answer may be there as well */

        if (Client->Cq->Dispatch->NdkGetCqResultsEx(Client->Cq, Result, 1))
            return Result->Status;
        if (failure && !Answered)
            return failure;
        Client->Cq->Dispatch->NdkArmCq(Client->Cq, NDK_CQ_NOTIFY_ANY);
        if (KeWaitForSingleObject(&Client->Event, Executive, KernelMode, FALSE, &limit) == STATUS_TIMEOUT)
            return STATUS_IO_TIMEOUT;
    }
}

static NTSTATUS Ask(CLIENT *Client, ULONG Length)
{
    ECHO_BULK *bulk = (ECHO_BULK *)Client->Messages.Data;
    NDK_SGE answer = EchoBufferSge(&Client->Messages, ECHO_MESSAGE_MOST, ECHO_MESSAGE_MOST);
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

/* Waits for the results of send and receive, in any order. The service may be anybody, so its answer is checked. */
static NTSTATUS Round(CLIENT *Client, ULONG Length)
{
    const ECHO_BULK *answer = (const ECHO_BULK *)(Client->Messages.Data + ECHO_MESSAGE_MOST);
    NTSTATUS status = Ask(Client, Length);
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
        return STATUS_REQUEST_NOT_ACCEPTED; /* the IRP must not end with a status that the peer chooses */
    }
    /* The next registration needs the region free. */
    return received.Type == NdkOperationTypeReceiveAndInvalidate ? STATUS_SUCCESS : STATUS_INVALID_NETWORK_RESPONSE;
}

static VOID Unmake(CLIENT *Client)
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
        Report->Octets += 2ULL * Run->Length;
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
    if (Run->Length == 0 || Run->Length > ECHO_BULK_MOST)
        return STATUS_INVALID_PARAMETER;
    client = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*client), ECHO_TAG);
    if (!client)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(client, sizeof(*client));
    EchoWaitInitialize(&client->Wait);
    KeInitializeEvent(&client->Event, SynchronizationEvent, FALSE);
    status = Make(client, Settings, Run->Length);
    if (NT_SUCCESS(status))
        status = Connect(client, Settings);
    if (NT_SUCCESS(status))
        status = Rounds(client, Run, Report);
    Unmake(client);
    ExFreePoolWithTag(client, ECHO_TAG);
    return status;
}
