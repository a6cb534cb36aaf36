/* SPDX-License-Identifier: MIT */
/*
 * A TCP echo service on Winsock Kernel: a thread accepts one connection after the other on port 9000, and returns what
 * it receives. The driver calls WSK synchronously: it passes an IRP, and waits until the IRP is completed.
 *
 * DriverUnload waits until the thread has ended. The thread may wait in WskAccept, WskReceive or WskSend, so
 * DriverUnload first closes the listening socket and resets the connection. With the mutex, the thread does not call
 * WskAccept on a closed socket, and DriverUnload does not reset a closed connection.
 */
#include <ntddk.h>
#include <wsk.h>

#define ECHO_PORT 9000
#define ECHO_ROOM 4096 /* maximum number of bytes that one WskReceive returns */

DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD EchoUnload;
static IO_COMPLETION_ROUTINE EchoCompleted;
static KSTART_ROUTINE EchoThread;

/* The IRP of a WSK call, and the event that its completion routine sets. */
typedef struct _ECHO_CALL {
    PIRP Irp;
    KEVENT Done;
} ECHO_CALL;

static WSK_REGISTRATION EchoRegistration;
static WSK_PROVIDER_NPI EchoProvider;
static PKTHREAD EchoServer;
static UCHAR EchoBuffer[ECHO_ROOM];
static PMDL EchoMdl;

static FAST_MUTEX EchoMutex; /* guards the next three variables */
static BOOLEAN EchoStopping;
static PWSK_SOCKET EchoListener;   /* NULL: not open */
static PWSK_SOCKET EchoConnection; /* NULL: none */

static NTSTATUS EchoCompleted(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context)
{
    ECHO_CALL *call = Context;

    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent(&call->Done, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED; /* EchoWait frees the IRP */
}

static BOOLEAN EchoBegin(ECHO_CALL *Call)
{
    KeInitializeEvent(&Call->Done, NotificationEvent, FALSE);
    Call->Irp = IoAllocateIrp(1, FALSE);
    if (Call->Irp)
        IoSetCompletionRoutine(Call->Irp, EchoCompleted, Call, TRUE, TRUE, TRUE);
    return Call->Irp != NULL;
}

/*
 * Waits until the IRP is completed, frees it, and returns its status. Sets *Information to the IRP's result, a socket
 * or a number of bytes, unless Information is NULL.
 */
static NTSTATUS EchoWait(ECHO_CALL *Call, ULONG_PTR *Information)
{
    NTSTATUS status;

    KeWaitForSingleObject(&Call->Done, Executive, KernelMode, FALSE, NULL);
    status = Call->Irp->IoStatus.Status;
    if (Information)
        *Information = Call->Irp->IoStatus.Information;
    IoFreeIrp(Call->Irp);
    return status;
}

static VOID EchoClose(PWSK_SOCKET Socket)
{
    ECHO_CALL call;

    if (!EchoBegin(&call))
        return;
    ((const WSK_PROVIDER_BASIC_DISPATCH *)Socket->Dispatch)->WskCloseSocket(Socket, call.Irp);
    EchoWait(&call, NULL);
}

static NTSTATUS EchoListen(VOID)
{
    SOCKADDR_IN address = { 0 };
    ULONG_PTR socket = 0;
    NTSTATUS status;
    ECHO_CALL call;

    if (!EchoBegin(&call))
        return STATUS_INSUFFICIENT_RESOURCES;
    EchoProvider.Dispatch->WskSocket(EchoProvider.Client, AF_INET, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_LISTEN_SOCKET,
        NULL, NULL, NULL, NULL, NULL, call.Irp);
    status = EchoWait(&call, &socket);
    if (!NT_SUCCESS(status))
        return status;
    EchoListener = (PWSK_SOCKET)socket;
    address.sin_family = AF_INET; /* sin_addr is 0: any address of the machine */
    address.sin_port = RtlUshortByteSwap(ECHO_PORT);
    if (!EchoBegin(&call))
        return STATUS_INSUFFICIENT_RESOURCES;
    ((const WSK_PROVIDER_LISTEN_DISPATCH *)EchoListener->Dispatch)
        ->WskBind(EchoListener, (PSOCKADDR)&address, 0, call.Irp);
    return EchoWait(&call, NULL);
}

/* Waits for the next connection. Returns FALSE if the driver is being unloaded, or after a failure. */
static BOOLEAN EchoAccept(VOID)
{
    ULONG_PTR socket = 0;
    BOOLEAN stopping;
    ECHO_CALL call;
    NTSTATUS status;

    if (!EchoBegin(&call))
        return FALSE;
    ExAcquireFastMutex(&EchoMutex);
    if (EchoStopping) {
        ExReleaseFastMutex(&EchoMutex);
        IoFreeIrp(call.Irp);
        return FALSE;
    }
    ((const WSK_PROVIDER_LISTEN_DISPATCH *)EchoListener->Dispatch)
        ->WskAccept(EchoListener, 0, NULL, NULL, NULL, NULL, call.Irp);
    ExReleaseFastMutex(&EchoMutex);
    status = EchoWait(&call, &socket);
    if (!NT_SUCCESS(status)) /* for example STATUS_CANCELLED, because EchoUnload has closed the socket */
        return FALSE;
    ExAcquireFastMutex(&EchoMutex);
    stopping = EchoStopping;
    if (!stopping)
        EchoConnection = (PWSK_SOCKET)socket;
    ExReleaseFastMutex(&EchoMutex);
    if (stopping) /* EchoStop ran while EchoConnection was not set, so EchoStop has not reset this connection */
        EchoClose((PWSK_SOCKET)socket);
    return !stopping;
}

/* Receives bytes once, and sends them back. Returns FALSE at the end of the connection, or after a failure. */
static BOOLEAN EchoOnce(PWSK_SOCKET Socket, const WSK_PROVIDER_CONNECTION_DISPATCH *Dispatch, ULONG_PTR *Total)
{
    WSK_BUF buffer = { EchoMdl, 0, ECHO_ROOM };
    ULONG_PTR bytes = 0;
    NTSTATUS status;
    ECHO_CALL call;

    if (!EchoBegin(&call))
        return FALSE;
    Dispatch->WskReceive(Socket, &buffer, 0, call.Irp);
    status = EchoWait(&call, &bytes);
    if (!NT_SUCCESS(status) || !bytes || !EchoBegin(&call))
        return FALSE;
    *Total += bytes;
    buffer.Length = bytes;
    Dispatch->WskSend(Socket, &buffer, 0, call.Irp);
    return NT_SUCCESS(EchoWait(&call, NULL));
}

static VOID EchoDisconnect(PWSK_SOCKET Socket, ULONG Flags)
{
    ECHO_CALL call;

    if (!EchoBegin(&call))
        return;
    ((const WSK_PROVIDER_CONNECTION_DISPATCH *)Socket->Dispatch)->WskDisconnect(Socket, NULL, Flags, call.Irp);
    EchoWait(&call, NULL);
}

static VOID EchoThread(PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    while (EchoAccept()) {
        PWSK_SOCKET socket = EchoConnection;
        ULONG_PTR total = 0;

        while (EchoOnce(socket, socket->Dispatch, &total))
            ;
        DbgPrint("wskecho: %u bytes returned\n", (ULONG)total);
        EchoDisconnect(socket, 0); /* fails if the peer or EchoStop has reset the connection */
        ExAcquireFastMutex(&EchoMutex);
        EchoConnection = NULL;
        ExReleaseFastMutex(&EchoMutex);
        EchoClose(socket);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static NTSTATUS EchoStart(VOID)
{
    OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;
    HANDLE thread;

    InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
    status = PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, &attributes, NULL, NULL, EchoThread, NULL);
    if (!NT_SUCCESS(status))
        return status;
    ObReferenceObjectByHandle(thread, THREAD_ALL_ACCESS, NULL, KernelMode, (PVOID *)&EchoServer, NULL);
    ZwClose(thread);
    return STATUS_SUCCESS;
}

/* Ends the thread's pending accept, receive or send, and prevents further accepts. */
static VOID EchoStop(VOID)
{
    PWSK_SOCKET listener;

    ExAcquireFastMutex(&EchoMutex);
    EchoStopping = TRUE;
    listener = EchoListener;
    EchoListener = NULL;
    if (EchoConnection) /* still open, because EchoThread clears EchoConnection before it closes the socket */
        EchoDisconnect(EchoConnection, WSK_FLAG_ABORTIVE);
    ExReleaseFastMutex(&EchoMutex);
    if (listener)
        EchoClose(listener);
}

VOID EchoUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    EchoStop();
    if (EchoServer) {
        KeWaitForSingleObject(EchoServer, Executive, KernelMode, FALSE, NULL);
        ObDereferenceObject(EchoServer);
    }
    if (EchoMdl)
        IoFreeMdl(EchoMdl);
    WskReleaseProviderNPI(&EchoRegistration);
    WskDeregister(&EchoRegistration);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NTSTATUS status;

    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->DriverUnload = EchoUnload;
    ExInitializeFastMutex(&EchoMutex);
    status = WskRegister(&client, &EchoRegistration);
    if (!NT_SUCCESS(status))
        return status;
    status = WskCaptureProviderNPI(&EchoRegistration, WSK_INFINITE_WAIT, &EchoProvider);
    if (!NT_SUCCESS(status)) {
        WskDeregister(&EchoRegistration);
        return status;
    }
    EchoMdl = IoAllocateMdl(EchoBuffer, ECHO_ROOM, FALSE, FALSE, NULL);
    status = EchoMdl ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
    if (EchoMdl)
        MmBuildMdlForNonPagedPool(EchoMdl);
    if (NT_SUCCESS(status))
        status = EchoListen();
    if (NT_SUCCESS(status))
        status = EchoStart();
    if (!NT_SUCCESS(status))
        EchoUnload(DriverObject);
    return status;
}
