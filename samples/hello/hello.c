/* SPDX-License-Identifier: MIT */
/*
 * The driver to read first. DriverEntry opens an NDK adapter, connects to the echo service (samples/echo), sends a
 * line, receives it back and disconnects. DriverUnload closes the adapter.
 *
 * DriverEntry waits for each request that it starts, so contexts can be on its stack. Larger drivers, for example
 * samples/echo, keep contexts in pool and continue in callbacks.
 */
#include <ntddk.h>
#include <wsk.h>
#include <wskndk.h>

#define HELLO_INTERFACE 13    /* created by ndkrun --net 12=192.168.1.1/24,13=192.168.1.2/24 */
#define HELLO_FROM 0xC0A80102 /* 192.168.1.2 */
#define HELLO_TO 0xC0A80101   /* 192.168.1.1 */
#define HELLO_PORT 54321
#define HELLO_ROOM 64         /* bytes for each direction */
#define HELLO_TAG 'lleH'

DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD HelloUnload;

typedef struct _HELLO {
    KEVENT Done;               /* set by a callback, after it has set Status and Object */
    NTSTATUS Status;
    NDK_OBJECT_HEADER *Object;
    KEVENT Event;              /* set when results have arrived or Failure was set */
    LONG Failure;              /* the reason that no more results will arrive, or STATUS_SUCCESS */
    NDK_PD *Pd;
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_MR *Mr;
    NDK_CONNECTOR *Connector;
    CHAR *Buffer;              /* two halves: the sent line, and the received line */
    MDL *Mdl;
} HELLO;

static WSK_REGISTRATION HelloRegistration;
static WSK_PROVIDER_NPI HelloProvider;
static WSK_PROVIDER_NDK_DISPATCH HelloNdk;
static NDK_ADAPTER *HelloAdapter;

/* The callbacks run at up to DISPATCH_LEVEL, perhaps before the function that started the request has returned. */
static VOID HelloCreated(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object)
{
    HELLO *hello = Context;
    hello->Status = Status;
    hello->Object = Object;
    KeSetEvent(&hello->Done, IO_NO_INCREMENT, FALSE);
}

static VOID HelloCompleted(PVOID Context, NTSTATUS Status) { HelloCreated(Context, Status, NULL); }
static VOID HelloClosed(PVOID Context) { HelloCreated(Context, STATUS_SUCCESS, NULL); }
static VOID HelloCqNotified(PVOID Context, NTSTATUS Status)
{
    HELLO *hello = Context;
    if (!NT_SUCCESS(Status))
        InterlockedExchange(&hello->Failure, Status);
    KeSetEvent(&hello->Event, IO_NO_INCREMENT, FALSE);
}

/* Ends the wait for a receive's result, because a pending receive does not complete when the peer disconnects. */
static VOID HelloDisconnected(PVOID Context) { HelloCqNotified(Context, STATUS_CONNECTION_DISCONNECTED); }

/*
 * Returns the final status of a request that returned Status. If Status is STATUS_PENDING, waits for the completion. A
 * pending create does not write its out parameter: its callback receives the object, and this function stores it in
 * *Object.
 */
static NTSTATUS HelloWait(HELLO *H, NTSTATUS Status, PVOID *Object)
{
    if (Status != STATUS_PENDING)
        return Status;
    KeWaitForSingleObject(&H->Done, Executive, KernelMode, FALSE, NULL);
    if (Object && NT_SUCCESS(H->Status))
        *Object = H->Object;
    return H->Status;
}

static NTSTATUS HelloCreateObjects(HELLO *H)
{
    NTSTATUS status;

    H->Buffer = ExAllocatePoolWithTag(NonPagedPoolNx, 2 * HELLO_ROOM, HELLO_TAG);
    if (!H->Buffer || !(H->Mdl = IoAllocateMdl(H->Buffer, 2 * HELLO_ROOM, FALSE, FALSE, NULL)))
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(H->Buffer, 2 * HELLO_ROOM);
    MmBuildMdlForNonPagedPool(H->Mdl);

    if (NT_SUCCESS(status = HelloWait(H, HelloAdapter->Dispatch->NdkCreatePd(HelloAdapter, HelloCreated, H, &H->Pd),
            (PVOID *)&H->Pd)) &&
        NT_SUCCESS(status = HelloWait(H, HelloAdapter->Dispatch->NdkCreateCq(HelloAdapter, 4, HelloCqNotified, H, NULL,
            HelloCreated, H, &H->Cq), (PVOID *)&H->Cq)) &&
        NT_SUCCESS(status = HelloWait(H, H->Pd->Dispatch->NdkCreateQp(H->Pd, H->Cq, H->Cq, NULL, 2, 2, 1, 1, 0,
            HelloCreated, H, &H->Qp), (PVOID *)&H->Qp)) &&
        NT_SUCCESS(status = HelloWait(H, HelloAdapter->Dispatch->NdkCreateConnector(HelloAdapter, HelloCreated, H,
            &H->Connector), (PVOID *)&H->Connector)) &&
        NT_SUCCESS(status = HelloWait(H, H->Pd->Dispatch->NdkCreateMr(H->Pd, FALSE, HelloCreated, H, &H->Mr),
            (PVOID *)&H->Mr)))
        status = HelloWait(H, H->Mr->Dispatch->NdkRegisterMr(H->Mr, H->Mdl, 2 * HELLO_ROOM,
            NDK_MR_FLAG_ALLOW_LOCAL_WRITE, HelloCompleted, H), NULL);
    return status;
}

static NTSTATUS HelloConnect(HELLO *H)
{
    SOCKADDR_IN from = { 0 }, to = { 0 };
    NTSTATUS status;

    from.sin_family = to.sin_family = AF_INET;
    from.sin_addr.s_addr = RtlUlongByteSwap(HELLO_FROM);
    to.sin_addr.s_addr = RtlUlongByteSwap(HELLO_TO);
    to.sin_port = RtlUshortByteSwap(HELLO_PORT);
    if (NT_SUCCESS(status = HelloWait(H, H->Connector->Dispatch->NdkConnect(H->Connector, H->Qp, (PSOCKADDR)&from,
            sizeof(from), (PSOCKADDR)&to, sizeof(to), 0, 0, NULL, 0, HelloCompleted, H), NULL)))
        status = HelloWait(H, H->Connector->Dispatch->NdkCompleteConnect(H->Connector, HelloDisconnected, H,
            HelloCompleted, H), NULL);
    return status;
}

/*
 * Sends the line and waits for the result of the receive. The send is silent, so it has a result only if it fails. Its
 * memory must stay until the queue pair is closed.
 */
static NTSTATUS HelloExchange(HELLO *H, const CHAR *Line)
{
    NDK_SGE out = { 0 }, in = { 0 };
    LARGE_INTEGER limit = { .QuadPart = -10LL * 10000000 }; /* 10 seconds, in units of 100 ns */
    NDK_RESULT result = { 0 };
    NTSTATUS status, failure;

    out.MemoryRegionToken = in.MemoryRegionToken = H->Mr->Dispatch->NdkGetLocalTokenFromMr(H->Mr);
    RtlCopyMemory(H->Buffer, Line, strlen(Line));
    out.VirtualAddress = H->Buffer;
    out.Length = (ULONG)strlen(Line);
    in.VirtualAddress = H->Buffer + HELLO_ROOM;
    in.Length = HELLO_ROOM;
    if (NT_SUCCESS(status = H->Qp->Dispatch->NdkReceive(H->Qp, NULL, &in, 1)))
        status = H->Qp->Dispatch->NdkSend(H->Qp, NULL, &out, 1, NDK_OP_FLAG_SILENT_SUCCESS);
    while (NT_SUCCESS(status)) {
        /* Failure is read before the CQ, so that a result that arrived before the failure is not lost. */
        failure = InterlockedCompareExchange(&H->Failure, 0, 0);
        if (H->Cq->Dispatch->NdkGetCqResults(H->Cq, &result, 1)) {
            status = result.Status;
            break;
        }
        H->Cq->Dispatch->NdkArmCq(H->Cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if a result has arrived */
        if (failure)
            status = failure;
        else if (KeWaitForSingleObject(&H->Event, Executive, KernelMode, FALSE, &limit) == STATUS_TIMEOUT)
            status = STATUS_IO_TIMEOUT;
    }
    /* The peer is not trusted: its bytes are only compared, never printed. */
    if (NT_SUCCESS(status) && (result.BytesTransferred != out.Length ||
            RtlCompareMemory(H->Buffer, H->Buffer + HELLO_ROOM, out.Length) != out.Length))
        status = STATUS_INVALID_NETWORK_RESPONSE;
    if (NT_SUCCESS(status))
        DbgPrint("hello: the echo says \"%s\"\n", Line);
    HelloWait(H, H->Connector->Dispatch->NdkDisconnect(H->Connector, HelloCompleted, H), NULL);
    return status;
}

/*
 * Objects are closed after the objects that depend on them. Memory is freed last, because the adapter may use memory
 * until its region and queue pair are closed.
 */
#define HELLO_CLOSE(H, Object, Function) if ((H)->Object) \
        HelloWait((H), (H)->Object->Dispatch->Function(&(H)->Object->Header, HelloClosed, (H)), NULL)

static VOID HelloCloseObjects(HELLO *H)
{
    HELLO_CLOSE(H, Connector, NdkCloseConnector);
    HELLO_CLOSE(H, Qp, NdkCloseQp);
    HELLO_CLOSE(H, Mr, NdkCloseMr);
    HELLO_CLOSE(H, Cq, NdkCloseCq);
    HELLO_CLOSE(H, Pd, NdkClosePd);
    if (H->Mdl)
        IoFreeMdl(H->Mdl);
    if (H->Buffer)
        ExFreePoolWithTag(H->Buffer, HELLO_TAG);
}

VOID HelloUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    if (HelloAdapter)
        HelloNdk.WskCloseNdkAdapter(HelloProvider.Client, HelloAdapter);
    if (HelloProvider.Dispatch)
        WskReleaseProviderNPI(&HelloRegistration);
    WskDeregister(&HelloRegistration);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NDK_VERSION version = { 1, 2 };
    HELLO hello = { 0 };
    NTSTATUS status = WskRegister(&client, &HelloRegistration);

    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(status))
        return status;
    DriverObject->DriverUnload = HelloUnload;
    KeInitializeEvent(&hello.Done, SynchronizationEvent, FALSE);
    KeInitializeEvent(&hello.Event, SynchronizationEvent, FALSE);
    if (NT_SUCCESS(status = WskCaptureProviderNPI(&HelloRegistration, WSK_INFINITE_WAIT, &HelloProvider)) &&
        NT_SUCCESS(status = HelloProvider.Dispatch->WskControlClient(HelloProvider.Client,
            WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof(HelloNdk), &HelloNdk, NULL, NULL)))
        status = HelloNdk.WskOpenNdkAdapter(HelloProvider.Client, version, HELLO_INTERFACE, &HelloAdapter);
    if (NT_SUCCESS(status)) {
        if (NT_SUCCESS(status = HelloCreateObjects(&hello)) && NT_SUCCESS(status = HelloConnect(&hello)))
            status = HelloExchange(&hello, "hello, world");
        HelloCloseObjects(&hello);
    }
    if (!NT_SUCCESS(status))
        HelloUnload(DriverObject); /* DriverUnload is not called when DriverEntry fails */
    return status;
}
