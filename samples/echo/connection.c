/* SPDX-License-Identifier: MIT */
/*
 * One client's connection.
 *
 *   EchoConnectEvent  DISPATCH_LEVEL: memory for it, a work item, nothing that waits
 *   Accept            PASSIVE_LEVEL, work item: queue pair and buffer, NdkAccept
 *   Accepted          NdkAccept's end; from here on results come in
 *   End               the peer has disconnected, a request failed, the driver unloads: at any level, more than once
 *   Close             PASSIVE_LEVEL, work item: disconnects, closes, frees
 *
 * References: one from the beginning to End, one from the beginning to the end of Accepted. Close runs when both are
 * gone, so never beside Accept, and it is the last to touch the connection.
 */
#include "echo.h"

struct _ECHO_CONNECTION {
    LIST_ENTRY Link;
    ECHO_SERVICE *Service;
    NDK_CONNECTOR *Connector;
    NDK_QP *Qp;
    PIO_WORKITEM Work;
    ECHO_BUFFER Bulk;
    BOOLEAN BulkRegistered, BulkBusy; /* CqLock */
    BOOLEAN Connected;
    LONG References;
    LONG Ended;
};

static IO_WORKITEM_ROUTINE Accept, Close;

static VOID Release(ECHO_CONNECTION *Connection)
{
    if (InterlockedDecrement(&Connection->References) == 0)
        IoQueueWorkItem(Connection->Work, Close, DelayedWorkQueue, Connection);
}

static VOID End(ECHO_CONNECTION *Connection)
{
    if (InterlockedExchange(&Connection->Ended, 1) == 0)
        Release(Connection);
}

static VOID Disconnected(PVOID Context)
{
    End(Context);
}

/* ---- The beginning ---- */

static VOID Refused(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context); /* the connector has gone away by itself; WskCloseNdkAdapter waits for that */
}

static VOID Refuse(NDK_CONNECTOR *Connector)
{
    Connector->Dispatch->NdkReject(Connector, NULL, 0);
    Connector->Dispatch->NdkCloseConnector(&Connector->Header, Refused, NULL);
}

VOID EchoConnectEvent(PVOID ConnectEventContext, NDK_CONNECTOR *Connector)
{
    ECHO_SERVICE *service = ConnectEventContext;
    ECHO_CONNECTION *connection;
    BOOLEAN stopping;
    KIRQL irql;

    if (!ExAcquireRundownProtection(&service->Alive)) {
        Refuse(Connector);
        return;
    }
    connection = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*connection), ECHO_TAG);
    if (connection) {
        RtlZeroMemory(connection, sizeof(*connection));
        connection->Work = IoAllocateWorkItem(service->Device);
    }
    if (!connection || !connection->Work) {
        if (connection)
            ExFreePoolWithTag(connection, ECHO_TAG);
        Refuse(Connector);
        ExReleaseRundownProtection(&service->Alive);
        return;
    }
    connection->Service = service;
    connection->Connector = Connector;
    connection->References = 2;
    InterlockedIncrement(&service->Counters.Connections);
    InterlockedIncrement(&service->Counters.Open);
    KeAcquireSpinLock(&service->ListLock, &irql);
    InsertTailList(&service->Connections, &connection->Link);
    stopping = service->Stopping;
    KeReleaseSpinLock(&service->ListLock, irql);
    IoQueueWorkItem(connection->Work, Accept, DelayedWorkQueue, connection);
    if (stopping)
        End(connection); /* EchoServiceStop has been through the list already */
}

static VOID Accepted(PVOID Context, NTSTATUS Status)
{
    ECHO_CONNECTION *connection = Context;

    if (NT_SUCCESS(Status))
        connection->Connected = TRUE;
    else
        End(connection);
    Release(connection);
}

static VOID Accept(PDEVICE_OBJECT DeviceObject, PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    NDK_PD *pd = service->Pd;
    ECHO_WAIT wait;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(DeviceObject);
    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, pd->Dispatch->NdkCreateQpWithSrq(pd, service->Cq, service->Cq, service->Srq,
        connection, 2 * ECHO_SLOTS, 1, 0, EchoCreated, &wait, &connection->Qp), (PVOID *)&connection->Qp);
    if (NT_SUCCESS(status))
        status = EchoBufferCreateFast(&connection->Bulk, service->Adapter, pd, ECHO_BULK_MOST, FALSE);
    if (NT_SUCCESS(status))
        status = connection->Connector->Dispatch->NdkAccept(connection->Connector, connection->Qp, 1, 1, NULL, 0,
            Disconnected, connection, Accepted, connection);
    if (status != STATUS_PENDING)
        Accepted(connection, status);
}

/* ---- Messages: all with CqLock held ---- */

static VOID Return(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    if (Slot->Bulk)
        Connection->BulkBusy = Slot->Bulk = FALSE;
    EchoServicePost(Connection->Service, Slot);
}

static VOID Send(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot, ULONG Length, BOOLEAN Invalidate, UINT32 Token)
{
    NDK_SGE sge = EchoBufferSge(&Connection->Service->Messages, Slot->Offset, Length);
    NDK_QP *qp = Connection->Qp;
    NTSTATUS status = Invalidate ? qp->Dispatch->NdkSendAndInvalidate(qp, Slot, &sge, 1, 0, Token)
                                 : qp->Dispatch->NdkSend(qp, Slot, &sge, 1, 0);

    if (!NT_SUCCESS(status)) { /* not posted: no result will bring the slot back */
        Return(Connection, Slot);
        End(Connection);
    }
}

static ECHO_BULK *Message(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    return (ECHO_BULK *)(Connection->Service->Messages.Data + Slot->Offset);
}

/* The client's data is to come into our buffer: its result is Read below. */
static VOID StartBulk(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    ECHO_BULK *bulk = Message(Connection, Slot);
    NDK_QP *qp = Connection->Qp;
    NTSTATUS status = STATUS_SUCCESS;

    if (Connection->BulkBusy)
        status = STATUS_DEVICE_BUSY;
    else if (bulk->Length == 0 || bulk->Length > ECHO_BULK_MOST)
        status = STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status)) {
        bulk->Status = status;
        Send(Connection, Slot, sizeof(*bulk), FALSE, 0);
        return;
    }
    if (!Connection->BulkRegistered)
        status = EchoBufferRegister(&Connection->Bulk, qp, NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK);
    if (NT_SUCCESS(status)) {
        NDK_SGE sge = EchoBufferSge(&Connection->Bulk, 0, bulk->Length);

        Connection->BulkRegistered = TRUE;
        status = qp->Dispatch->NdkRead(qp, Slot, &sge, 1, bulk->Address, bulk->Token, 0);
    }
    if (NT_SUCCESS(status)) {
        Connection->BulkBusy = Slot->Bulk = TRUE;
        return;
    }
    Return(Connection, Slot);
    End(Connection);
}

/* It is here: back it goes, into the second half of the client's region. The answer follows the write. */
static VOID FinishBulk(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    ECHO_BULK *bulk = Message(Connection, Slot);
    NDK_SGE sge = EchoBufferSge(&Connection->Bulk, 0, bulk->Length);
    NDK_QP *qp = Connection->Qp;

    bulk->Status = qp->Dispatch->NdkWrite(qp, NULL, &sge, 1, bulk->Address + bulk->Length, bulk->Token,
        NDK_OP_FLAG_SILENT_SUCCESS);
    InterlockedIncrement(&Connection->Service->Counters.Bulks);
    Send(Connection, Slot, sizeof(*bulk), TRUE, bulk->Token);
}

static VOID Received(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot, ULONG Length)
{
    if (Length == sizeof(ECHO_BULK) && Message(Connection, Slot)->Magic == ECHO_MAGIC) {
        StartBulk(Connection, Slot);
        return;
    }
    InterlockedIncrement(&Connection->Service->Counters.Texts);
    Send(Connection, Slot, Length, FALSE, 0);
}

/* Requests without a slot are silent: such a result is a failure, and the requests behind it fail too. */
VOID EchoConnectionResult(const NDK_RESULT_EX *Result)
{
    ECHO_CONNECTION *connection = Result->QPContext;
    ECHO_SLOT *slot = Result->RequestContext;

    if (!NT_SUCCESS(Result->Status))
        End(connection);
    if (!slot)
        return;
    if (NT_SUCCESS(Result->Status) && Result->Type == NdkOperationTypeReceive) {
        Received(connection, slot, Result->BytesTransferred);
        return;
    }
    if (NT_SUCCESS(Result->Status) && Result->Type == NdkOperationTypeRead) {
        FinishBulk(connection, slot);
        return;
    }
    Return(connection, slot);
}

/* ---- The end ---- */

VOID EchoConnectionEndAll(ECHO_SERVICE *Service)
{
    PLIST_ENTRY entry;
    KIRQL irql;

    KeAcquireSpinLock(&Service->ListLock, &irql);
    for (entry = Service->Connections.Flink; entry != &Service->Connections; entry = entry->Flink)
        End(CONTAINING_RECORD(entry, ECHO_CONNECTION, Link)); /* stays in the list until Close takes the lock */
    KeReleaseSpinLock(&Service->ListLock, irql);
}

static VOID Close(PDEVICE_OBJECT DeviceObject, PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    NDK_CONNECTOR *connector = connection->Connector;
    ECHO_WAIT wait;
    KIRQL irql;

    UNREFERENCED_PARAMETER(DeviceObject);
    KeAcquireSpinLock(&service->ListLock, &irql);
    RemoveEntryList(&connection->Link);
    KeReleaseSpinLock(&service->ListLock, irql);
    EchoWaitInitialize(&wait);
    if (connection->Connected)
        EchoWaitFor(&wait, connector->Dispatch->NdkDisconnect(connector, EchoCompleted, &wait), NULL);
    EchoClose(&connector->Header, connector->Dispatch->NdkCloseConnector);
    if (connection->Qp) {
        EchoClose(&connection->Qp->Header, connection->Qp->Dispatch->NdkCloseQp);
        EchoServiceDrain(service); /* its last results name this connection */
    }
    EchoBufferDelete(&connection->Bulk);
    IoFreeWorkItem(connection->Work); /* it has been taken off its queue to run this */
    ExFreePoolWithTag(connection, ECHO_TAG);
    InterlockedDecrement(&service->Counters.Open);
    ExReleaseRundownProtection(&service->Alive);
}
