/* SPDX-License-Identifier: MIT */
/*
 * A run against the service: the client's memory is registered for each round, read and written by the service, and
 * its token invalidated by the answer. All of it in the thread of the device control, at PASSIVE_LEVEL; the
 * requests' contexts are in pool, since what was posted may complete after a wait has been given up.
 */
#include "echo.h"

#define CLIENT_SECONDS 10

typedef struct _CLIENT {
    ECHO_WAIT Wait;
    KEVENT CqReady;
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
    UNREFERENCED_PARAMETER(CqStatus);
    KeSetEvent(&((CLIENT *)Context)->CqReady, IO_NO_INCREMENT, FALSE);
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
        status = EchoWaitFor(&Client->Wait, connector->Dispatch->NdkCompleteConnect(connector, NULL, NULL,
            EchoCompleted, &Client->Wait), NULL);
    Client->Connected = NT_SUCCESS(status);
    return status;
}

/* The next result, or STATUS_IO_TIMEOUT. */
static NTSTATUS NextResult(CLIENT *Client, NDK_RESULT_EX *Result)
{
    LARGE_INTEGER limit;

    limit.QuadPart = -10000000LL * CLIENT_SECONDS;
    for (;;) {
        if (Client->Cq->Dispatch->NdkGetCqResultsEx(Client->Cq, Result, 1))
            return Result->Status;
        Client->Cq->Dispatch->NdkArmCq(Client->Cq, NDK_CQ_NOTIFY_ANY);
        if (KeWaitForSingleObject(&Client->CqReady, Executive, KernelMode, FALSE, &limit) == STATUS_TIMEOUT)
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

/* The send's result and the receive's, in whichever order they come. */
static NTSTATUS Round(CLIENT *Client, ULONG Length)
{
    const ECHO_BULK *answer = (const ECHO_BULK *)(Client->Messages.Data + ECHO_MESSAGE_MOST);
    NTSTATUS status = Ask(Client, Length);
    BOOLEAN invalidated = FALSE;
    ULONG i;

    for (i = 0; i < 2 && NT_SUCCESS(status); i++) {
        NDK_RESULT_EX result;

        status = NextResult(Client, &result);
        if (NT_SUCCESS(status) && result.Type == NdkOperationTypeReceiveAndInvalidate)
            invalidated = TRUE;
    }
    if (NT_SUCCESS(status))
        status = answer->Status;
    if (NT_SUCCESS(status) && !invalidated)
        status = STATUS_INVALID_DEVICE_STATE; /* the next registration needs the region free */
    return status;
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
    KeInitializeEvent(&client->CqReady, SynchronizationEvent, FALSE);
    status = Make(client, Settings, Run->Length);
    if (NT_SUCCESS(status))
        status = Connect(client, Settings);
    if (NT_SUCCESS(status))
        status = Rounds(client, Run, Report);
    Unmake(client);
    ExFreePoolWithTag(client, ECHO_TAG);
    return status;
}
