/* SPDX-License-Identifier: MIT */
/*
 * One client's connection, from the connect request until the connection is freed. Two invariants: Nothing is posted to
 * a queue pair, and no function of a connector is called, after the object's close has begun. The memory of a
 * connection outlives every callback and every result that refers to the connection.
 *
 * Three states, changed and read only with Service->Lock held:
 *
 *   state      entered by                          posts   left by
 *   ACCEPTING  EchoConnectEvent                    none    ConnectionAccepted, ConnectionEnd
 *   OPEN       ConnectionAccepted, after success   yes     ConnectionEnd
 *   ENDED      ConnectionEnd                       none    never
 *
 * The lock is held from the test of the state until the post returns. So when ConnectionEnd has returned, no post is
 * running and no other will begin. ConnectionEnd may be called at any time, any number of times, at up to
 * DISPATCH_LEVEL: the client has disconnected, a request failed, NdkAccept failed, or the service stops.
 *
 * The work item runs three routines at PASSIVE_LEVEL, one after the other. Each routine is queued only when the one
 * before it does not use the connection any more:
 *
 *   ConnectionAccept      queued by EchoConnectEvent. Creates queue pair and buffer, calls NdkAccept.
 *   ConnectionDisconnect  queued when both references are released: one by ConnectionEnd, one after NdkAccept has
 *                         returned. If NdkAccept has succeeded, calls NdkDisconnect. Does not wait for the client.
 *   ConnectionClose       queued when NdkDisconnect completes. If NdkAccept has not succeeded, queued by
 *                         ConnectionDisconnect at once. Closes and frees the connection.
 *
 * ConnectionClose waits for each step before the next one:
 *
 *   1. NdkCloseConnector cancels NdkAccept if that is pending. When the close has completed, no callback with the
 *      connection as context runs or will run.
 *   2. The results so far are read. If NdkDisconnect was called, it has flushed the queue pair. An adapter may discard
 *      unread results when the queue pair is closed, and the slots of these results would be lost.
 *   3. NdkCloseQp ends the remaining requests. When the close has completed, no request uses a buffer.
 *   4. The last results are read. No result refers to the connection any more.
 *   5. The buffer and the connection are freed, and Service->Alive is released.
 *
 * Each function runs at the given IRQL, with Service->Lock held if the table has "Lock", and uses:
 *
 *   function                      IRQL            uses
 *   EchoConnectEvent              <= DISPATCH     the connector, until it has queued the work item or refused
 *   ConnectionAccepted            <= DISPATCH     state, posts with Lock held
 *   ConnectionDisconnected        <= DISPATCH     state
 *   EchoConnectionResult          DISPATCH, Lock  state, slots, posts
 *   EchoConnectionEndAll          DISPATCH, Lock  state
 *   the work item's routines      PASSIVE         connector, queue pair, buffer
 *
 * A slot belongs to the service, not to a connection. A slot's result arrives even if the connection has ended, and
 * then EchoConnectionResult posts the slot to the shared receive queue again.
 */
#include "echo.h"

typedef enum _CONNECTION_STATE {
    ConnectionAccepting,
    ConnectionOpen,
    ConnectionEnded
} CONNECTION_STATE;

struct _ECHO_CONNECTION {
    LIST_ENTRY Link;
    ECHO_SERVICE *Service;
    NDK_CONNECTOR *Connector;
    NDK_QP *Qp;
    PIO_WORKITEM Work;
    ECHO_BUFFER Bulk;
    LONG References;          /* ConnectionEnd and ConnectionAccept release one each */
    /* Service->Lock guards the following members. */
    CONNECTION_STATE State;
    BOOLEAN Connected;        /* NdkAccept has succeeded, so NdkDisconnect must be called */
    BOOLEAN BulkRegistered, BulkBusy;
    LIST_ENTRY Early;         /* slots with messages that arrived before ConnectionAccepted */
};

static IO_WORKITEM_ROUTINE ConnectionAccept, ConnectionDisconnect, ConnectionClose;

static VOID ConnectionRelease(ECHO_CONNECTION *Connection)
{
    if (InterlockedDecrement(&Connection->References) == 0)
        IoQueueWorkItem(Connection->Work, ConnectionDisconnect, DelayedWorkQueue, Connection);
}

/* Posts the slot again. Lock is held. */
static VOID ConnectionReturnSlot(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    if (Slot->Bulk)
        Connection->BulkBusy = Slot->Bulk = FALSE;
    EchoServicePost(Connection->Service, Slot);
}

/* Ends the connection: nothing is posted afterwards. Lock is held. */
static VOID ConnectionEnd(ECHO_CONNECTION *Connection)
{
    if (Connection->State == ConnectionEnded)
        return;
    Connection->State = ConnectionEnded;
    while (!IsListEmpty(&Connection->Early))
        ConnectionReturnSlot(Connection, CONTAINING_RECORD(RemoveHeadList(&Connection->Early), ECHO_SLOT, Link));
    ConnectionRelease(Connection);
}

/* ---- Messages: Lock is held, and the connection is open ---- */

static VOID ConnectionSend(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot, ULONG Length, BOOLEAN Invalidate,
    UINT32 Token)
{
    NDK_SGE sge = EchoBufferSge(&Connection->Service->Messages, Slot->Offset, Length);
    NDK_QP *qp = Connection->Qp;
    NTSTATUS status = Invalidate ? qp->Dispatch->NdkSendAndInvalidate(qp, Slot, &sge, 1, 0, Token)
                                 : qp->Dispatch->NdkSend(qp, Slot, &sge, 1, 0);

    if (!NT_SUCCESS(status)) { /* the request was not posted, so no result will return the slot */
        ConnectionReturnSlot(Connection, Slot);
        ConnectionEnd(Connection);
    }
}

static ECHO_BULK *ConnectionMessage(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    return (ECHO_BULK *)(Connection->Service->Messages.Data + Slot->Offset);
}

/* Reads the client's data into the bulk buffer. ConnectionFinishBulk continues when the read has completed. */
static VOID ConnectionStartBulk(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    ECHO_BULK *bulk = ConnectionMessage(Connection, Slot);
    NDK_QP *qp = Connection->Qp;
    NTSTATUS status = STATUS_SUCCESS;

    if (Connection->BulkBusy)
        status = STATUS_DEVICE_BUSY;
    else if (bulk->Length == 0 || bulk->Length > ECHO_MAX_BULK)
        status = STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status)) {
        bulk->Status = status;
        ConnectionSend(Connection, Slot, sizeof(*bulk), FALSE, 0);
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
    ConnectionReturnSlot(Connection, Slot);
    ConnectionEnd(Connection);
}

/* Writes the data into the second half of the client's region, then sends the answer. */
static VOID ConnectionFinishBulk(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    ECHO_BULK *bulk = ConnectionMessage(Connection, Slot);
    NDK_SGE sge = EchoBufferSge(&Connection->Bulk, 0, bulk->Length);
    NDK_QP *qp = Connection->Qp;

    bulk->Status = qp->Dispatch->NdkWrite(qp, NULL, &sge, 1, bulk->Address + bulk->Length, bulk->Token,
        NDK_OP_FLAG_SILENT_SUCCESS);
    Connection->Service->Counters.Bulks++;
    ConnectionSend(Connection, Slot, sizeof(*bulk), TRUE, bulk->Token);
}

static VOID ConnectionReceived(ECHO_CONNECTION *Connection, ECHO_SLOT *Slot)
{
    if (Slot->Length == sizeof(ECHO_BULK) && ConnectionMessage(Connection, Slot)->Magic == ECHO_MAGIC) {
        ConnectionStartBulk(Connection, Slot);
        return;
    }
    Connection->Service->Counters.Texts++;
    ConnectionSend(Connection, Slot, Slot->Length, FALSE, 0);
}

/*
 * Handles a result. A result may arrive in each of the three states: even before ConnectionAccepted has run, and until
 * ConnectionClose has read the last result. Requests without a slot are silent, so they have a result only if they
 * failed.
 */
VOID EchoConnectionResult(const NDK_RESULT_EX *Result)
{
    ECHO_CONNECTION *connection = Result->QPContext;
    ECHO_SLOT *slot = Result->RequestContext;

    if (!NT_SUCCESS(Result->Status))
        ConnectionEnd(connection);
    if (!slot)
        return;
    if (connection->State == ConnectionEnded) {
        ConnectionReturnSlot(connection, slot);
        return;
    }
    switch (Result->Type) {
    case NdkOperationTypeReceive:
        slot->Length = Result->BytesTransferred;
        if (connection->State == ConnectionOpen)
            ConnectionReceived(connection, slot);
        else
            InsertTailList(&connection->Early, &slot->Link);
        break;
    case NdkOperationTypeRead:
        ConnectionFinishBulk(connection, slot);
        break;
    default: /* a send: the answer was sent */
        ConnectionReturnSlot(connection, slot);
        break;
    }
}

/* ---- Accept ------------------------------------------------------------------------------------------------------ */

static VOID ConnectionRefused(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context); /* nothing to do: WskCloseNdkAdapter waits until this callback has returned */
}

static VOID ConnectionFree(ECHO_CONNECTION *Connection)
{
    if (Connection->Work)
        IoFreeWorkItem(Connection->Work);
    ExFreePoolWithTag(Connection, ECHO_TAG);
}

static ECHO_CONNECTION *ConnectionAllocate(ECHO_SERVICE *Service, NDK_CONNECTOR *Connector)
{
    ECHO_CONNECTION *connection = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*connection), ECHO_TAG);

    if (!connection)
        return NULL;
    RtlZeroMemory(connection, sizeof(*connection));
    connection->Service = Service;
    connection->Connector = Connector;
    connection->References = 2;
    connection->State = ConnectionAccepting;
    InitializeListHead(&connection->Early);
    connection->Work = IoAllocateWorkItem(Service->Device);
    if (!connection->Work) {
        ConnectionFree(connection);
        return NULL;
    }
    return connection;
}

/*
 * Adds the connection to the service's list, and queues ConnectionAccept. Returns FALSE if the service is stopping, or
 * if it has ECHO_CONNECTIONS connections. Without this limit clients could make the service allocate any amount of
 * memory.
 */
static BOOLEAN ConnectionInsert(ECHO_CONNECTION *Connection)
{
    ECHO_SERVICE *service = Connection->Service;
    BOOLEAN inserted;
    KIRQL irql;

    KeAcquireSpinLock(&service->Lock, &irql);
    inserted = !service->Refusing && service->Counters.Open < ECHO_CONNECTIONS &&
        ExAcquireRundownProtection(&service->Alive);
    if (inserted) {
        InsertTailList(&service->Connections, &Connection->Link);
        service->Counters.Connections++;
        service->Counters.Open++;
        IoQueueWorkItem(Connection->Work, ConnectionAccept, DelayedWorkQueue, Connection);
    }
    KeReleaseSpinLock(&service->Lock, irql);
    return inserted;
}

/*
 * Queues ConnectionAccept, or rejects the client. Creates no queue pair and no buffer, because a callback must not
 * wait.
 */
VOID EchoConnectEvent(PVOID ConnectEventContext, NDK_CONNECTOR *Connector)
{
    ECHO_CONNECTION *connection = ConnectionAllocate(ConnectEventContext, Connector);

    if (connection && ConnectionInsert(connection))
        return;
    if (connection)
        ConnectionFree(connection);
    Connector->Dispatch->NdkReject(Connector, NULL, 0);
    Connector->Dispatch->NdkCloseConnector(&Connector->Header, ConnectionRefused, NULL);
}

static VOID ConnectionDisconnected(PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    KIRQL irql;

    KeAcquireSpinLock(&service->Lock, &irql);
    ConnectionEnd(connection);
    KeReleaseSpinLock(&service->Lock, irql);
}

/* Handles the completion of NdkAccept. The connection may already have ended. */
static VOID ConnectionAccepted(PVOID Context, NTSTATUS Status)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    KIRQL irql;

    KeAcquireSpinLock(&service->Lock, &irql);
    connection->Connected = NT_SUCCESS(Status);
    if (!NT_SUCCESS(Status))
        ConnectionEnd(connection);
    else if (connection->State == ConnectionAccepting)
        connection->State = ConnectionOpen;
    while (!IsListEmpty(&connection->Early)) /* ConnectionReceived may call ConnectionEnd, which empties the list */
        ConnectionReceived(connection, CONTAINING_RECORD(RemoveHeadList(&connection->Early), ECHO_SLOT, Link));
    KeReleaseSpinLock(&service->Lock, irql);
}

static VOID ConnectionAccept(PDEVICE_OBJECT DeviceObject, PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    NDK_PD *pd = service->Pd;
    ECHO_WAIT wait;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(DeviceObject);
    EchoWaitInitialize(&wait);
    status = EchoWaitFor(&wait, pd->Dispatch->NdkCreateQpWithSrq(pd, service->Cq, service->Cq, service->Srq,
        connection, ECHO_QP_DEPTH, 1, 0, EchoCreated, &wait, &connection->Qp), (PVOID *)&connection->Qp);
    if (NT_SUCCESS(status))
        status = EchoBufferCreateFast(&connection->Bulk, service->Adapter, pd, ECHO_MAX_BULK, FALSE);
    if (NT_SUCCESS(status))
        status = connection->Connector->Dispatch->NdkAccept(connection->Connector, connection->Qp, 1, 1, NULL, 0,
            ConnectionDisconnected, connection, ConnectionAccepted, connection);
    if (status != STATUS_PENDING)
        ConnectionAccepted(connection, status);
    ConnectionRelease(connection);
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

VOID EchoConnectionEndAll(ECHO_SERVICE *Service)
{
    PLIST_ENTRY entry;

    for (entry = Service->Connections.Flink; entry != &Service->Connections; entry = entry->Flink)
        ConnectionEnd(CONTAINING_RECORD(entry, ECHO_CONNECTION, Link)); /* only ConnectionClose removes the entry */
}

static VOID ConnectionDisconnectDone(PVOID Context, NTSTATUS Status)
{
    ECHO_CONNECTION *connection = Context;

    UNREFERENCED_PARAMETER(Status); /* the connection is closed next, even if the disconnect failed */
    IoQueueWorkItem(connection->Work, ConnectionClose, DelayedWorkQueue, connection);
}

static VOID ConnectionDisconnect(PDEVICE_OBJECT DeviceObject, PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    NTSTATUS status = STATUS_SUCCESS;
    BOOLEAN connected;
    KIRQL irql;

    UNREFERENCED_PARAMETER(DeviceObject);
    KeAcquireSpinLock(&service->Lock, &irql);
    connected = connection->Connected;
    KeReleaseSpinLock(&service->Lock, irql);
    if (connected)
        status = connection->Connector->Dispatch->NdkDisconnect(connection->Connector, ConnectionDisconnectDone,
            connection);
    if (status != STATUS_PENDING)
        ConnectionDisconnectDone(connection, status);
}

static VOID ConnectionClose(PDEVICE_OBJECT DeviceObject, PVOID Context)
{
    ECHO_CONNECTION *connection = Context;
    ECHO_SERVICE *service = connection->Service;
    KIRQL irql;

    UNREFERENCED_PARAMETER(DeviceObject);
    EchoClose(&connection->Connector->Header, connection->Connector->Dispatch->NdkCloseConnector);
    if (connection->Qp) {
        EchoServicePollResults(service);
        EchoClose(&connection->Qp->Header, connection->Qp->Dispatch->NdkCloseQp);
        EchoServicePollResults(service);
    }
    EchoBufferDelete(&connection->Bulk);
    KeAcquireSpinLock(&service->Lock, &irql);
    RemoveEntryList(&connection->Link);
    service->Counters.Open--;
    KeReleaseSpinLock(&service->Lock, irql);
    ConnectionFree(connection); /* also frees the work item, which was removed from its queue before this routine ran */
    ExReleaseRundownProtection(&service->Alive);
}
