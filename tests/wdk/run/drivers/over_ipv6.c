/* SPDX-License-Identifier: MIT */
/*
 * A driver that connects to itself over IPv6 and disconnects. It checks that every address that it receives has
 * Windows' AF_INET6. For ndkrun --net 12=fd00::1/64.
 */
#include <ntddk.h>
#include <ws2ipdef.h>
#include <wsk.h>
#include <wskndk.h>

#define INTERFACE 12
#define DEPTH 4

DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD Ipv6Unload;

static const IN6_ADDR Ipv6Address = { { { 0xfd, [15] = 1 } } };

/* One side of the connection. */
typedef struct _SIDE {
    KEVENT Done; /* set by a callback, after it has set Status and Object */
    NTSTATUS Status;
    NDK_OBJECT_HEADER *Object;
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_CONNECTOR *Connector;
} SIDE;

static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Provider;
static WSK_PROVIDER_NDK_DISPATCH Ndk;
static NDK_ADAPTER *Adapter;
static NDK_PD *Pd;
static NDK_LISTENER *Listener;
static SIDE Client, Server;
static KEVENT Asked, Over; /* the server has a connect request; the client has disconnected */

static VOID Created(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object)
{
    SIDE *side = Context;

    side->Status = Status;
    side->Object = Object;
    KeSetEvent(&side->Done, IO_NO_INCREMENT, FALSE);
}

static VOID Completed(PVOID Context, NTSTATUS Status)
{
    Created(Context, Status, NULL);
}

static VOID Closed(PVOID Context)
{
    Created(Context, STATUS_SUCCESS, NULL);
}

static VOID Notified(PVOID Context, NTSTATUS Status)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Status);
}

static VOID Requested(PVOID Context, NDK_CONNECTOR *Connector)
{
    UNREFERENCED_PARAMETER(Context);
    Server.Connector = Connector;
    KeSetEvent(&Asked, IO_NO_INCREMENT, FALSE);
}

static VOID Disconnected(PVOID Context)
{
    if (Context)
        KeSetEvent(Context, IO_NO_INCREMENT, FALSE);
}

static NTSTATUS Wait(SIDE *Side, NTSTATUS Status, PVOID Object)
{
    if (Status != STATUS_PENDING)
        return Status;
    KeWaitForSingleObject(&Side->Done, Executive, KernelMode, FALSE, NULL);
    if (Object && NT_SUCCESS(Side->Status))
        *(PVOID *)Object = Side->Object;
    return Side->Status;
}

/* Returns STATUS_SUCCESS if the query's result is the address, with Windows' family. */
static NTSTATUS Check(const char *What, NTSTATUS Status, const SOCKADDR_IN6 *Address)
{
    if (NT_SUCCESS(Status) && (Address->sin6_family != 23 ||
            RtlCompareMemory(&Address->sin6_addr, &Ipv6Address, sizeof(IN6_ADDR)) != sizeof(IN6_ADDR)))
        Status = STATUS_INVALID_ADDRESS;
    if (!NT_SUCCESS(Status))
        DbgPrint("ipv6: %s: 0x%08X, family %d\n", What, Status, Address->sin6_family);
    return Status;
}

static NTSTATUS CheckConnector(NDK_CONNECTOR *Connector)
{
    SOCKADDR_IN6 local = { 0 }, peer = { 0 };
    ULONG length = sizeof(local), peerLength = sizeof(peer);
    NTSTATUS status = Connector->Dispatch->NdkGetLocalAddress(Connector, (PSOCKADDR)&local, &length);

    if (NT_SUCCESS(status = Check("NdkGetLocalAddress", status, &local)))
        status = Check("NdkGetPeerAddress",
                       Connector->Dispatch->NdkGetPeerAddress(Connector, (PSOCKADDR)&peer, &peerLength), &peer);
    return status;
}

static NTSTATUS CreateSide(SIDE *Side)
{
    NTSTATUS status = Wait(Side, Adapter->Dispatch->NdkCreateCq(Adapter, 2 * DEPTH, Notified, NULL, NULL, Created, Side,
                                                                &Side->Cq), &Side->Cq);

    if (NT_SUCCESS(status))
        status = Wait(Side, Pd->Dispatch->NdkCreateQp(Pd, Side->Cq, Side->Cq, NULL, DEPTH, DEPTH, 1, 1, 0, Created,
                                                      Side, &Side->Qp), &Side->Qp);
    return status;
}

/* Sets Address to the listener's, with its port. */
static NTSTATUS Listen(SOCKADDR_IN6 *Address)
{
    ULONG length = sizeof(*Address);
    NTSTATUS status = Wait(&Server, Adapter->Dispatch->NdkCreateListener(Adapter, Requested, NULL, Created, &Server,
                                                                         &Listener), &Listener);

    Address->sin6_family = AF_INET6;
    Address->sin6_addr = Ipv6Address;
    if (NT_SUCCESS(status))
        status = Wait(&Server, Listener->Dispatch->NdkListen(Listener, (PSOCKADDR)Address, sizeof(*Address), Completed,
                                                             &Server), NULL);
    if (NT_SUCCESS(status))
        status = Check("NdkGetLocalAddress of the listener",
                       Listener->Dispatch->NdkGetLocalAddress(Listener, (PSOCKADDR)Address, &length), Address);
    return status;
}

static NTSTATUS Connect(const SOCKADDR_IN6 *To)
{
    NDK_CONNECTOR *c;
    PVOID events[] = { &Asked, &Client.Done }; /* Done: the connect has failed */
    SOCKADDR_IN6 from = *To;
    NTSTATUS status = Wait(&Client, Adapter->Dispatch->NdkCreateConnector(Adapter, Created, &Client, &Client.Connector),
                           &Client.Connector), accepted;

    if (!NT_SUCCESS(status))
        return status;
    from.sin6_port = 0;
    c = Client.Connector;
    status = c->Dispatch->NdkConnect(c, Client.Qp, (PSOCKADDR)&from, sizeof(from), (PSOCKADDR)To, sizeof(*To), 0, 0,
                                     NULL, 0, Completed, &Client);
    if (!NT_SUCCESS(status))
        return status;
    if (KeWaitForMultipleObjects(RTL_NUMBER_OF(events), events, WaitAny, Executive, KernelMode, FALSE, NULL, NULL) !=
        STATUS_WAIT_0) {
        DbgPrint("ipv6: NdkConnect: 0x%08X, and the listener has no request\n", Client.Status);
        return NT_SUCCESS(Client.Status) ? STATUS_UNSUCCESSFUL : Client.Status;
    }
    accepted = Server.Connector->Dispatch->NdkAccept(Server.Connector, Server.Qp, 0, 0, NULL, 0, Disconnected, &Over,
                                                     Completed, &Server);
    if (NT_SUCCESS(status = Wait(&Client, status, NULL)))
        status = Wait(&Client, c->Dispatch->NdkCompleteConnect(c, Disconnected, NULL, Completed, &Client), NULL);
    accepted = Wait(&Server, accepted, NULL);
    return NT_SUCCESS(status) ? accepted : status;
}

static NTSTATUS Disconnect(VOID)
{
    NTSTATUS status = Client.Connector->Dispatch->NdkDisconnect(Client.Connector, Completed, &Client), answered;

    KeWaitForSingleObject(&Over, Executive, KernelMode, FALSE, NULL);
    answered = Wait(&Server, Server.Connector->Dispatch->NdkDisconnect(Server.Connector, Completed, &Server), NULL);
    status = Wait(&Client, status, NULL);
    return NT_SUCCESS(status) ? answered : status;
}

static NTSTATUS Run(VOID)
{
    SOCKADDR_IN6 address = { 0 };
    NTSTATUS status = Wait(&Client, Adapter->Dispatch->NdkCreatePd(Adapter, Created, &Client, &Pd), &Pd);

    if (NT_SUCCESS(status) && NT_SUCCESS(status = CreateSide(&Client)) && NT_SUCCESS(status = CreateSide(&Server)) &&
        NT_SUCCESS(status = Listen(&address)) && NT_SUCCESS(status = Connect(&address)) &&
        NT_SUCCESS(status = CheckConnector(Client.Connector)) &&
        NT_SUCCESS(status = CheckConnector(Server.Connector)) && NT_SUCCESS(status = Disconnect()))
        DbgPrint("ipv6: connected, all families are Windows'\n");
    return status;
}

#define CLOSE(Side, Object, Function) if (Object) \
        Wait((Side), (Object)->Dispatch->Function(&(Object)->Header, Closed, (Side)), NULL)

static VOID CloseAll(VOID)
{
    CLOSE(&Client, Client.Connector, NdkCloseConnector);
    CLOSE(&Server, Server.Connector, NdkCloseConnector);
    CLOSE(&Server, Listener, NdkCloseListener);
    CLOSE(&Client, Client.Qp, NdkCloseQp);
    CLOSE(&Server, Server.Qp, NdkCloseQp);
    CLOSE(&Client, Client.Cq, NdkCloseCq);
    CLOSE(&Server, Server.Cq, NdkCloseCq);
    CLOSE(&Client, Pd, NdkClosePd);
}

VOID Ipv6Unload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    if (Adapter)
        Ndk.WskCloseNdkAdapter(Provider.Client, Adapter);
    if (Provider.Dispatch)
        WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NDK_VERSION version = { 1, 2 };
    NTSTATUS status = WskRegister(&client, &Registration);

    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status))
        return status;
    DriverObject->DriverUnload = Ipv6Unload;
    KeInitializeEvent(&Client.Done, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Server.Done, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Asked, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Over, SynchronizationEvent, FALSE);
    if (NT_SUCCESS(status = WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Provider)) &&
        NT_SUCCESS(status = Provider.Dispatch->WskControlClient(Provider.Client,
            WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof(Ndk), &Ndk, NULL, NULL)))
        status = Ndk.WskOpenNdkAdapter(Provider.Client, version, INTERFACE, &Adapter);
    if (NT_SUCCESS(status)) {
        status = Run();
        CloseAll();
    }
    if (!NT_SUCCESS(status))
        Ipv6Unload(DriverObject); /* DriverUnload is not called when DriverEntry fails */
    return status;
}
