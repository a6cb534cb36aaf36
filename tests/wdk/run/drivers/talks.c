/* SPDX-License-Identifier: MIT */
/*
 * A driver whose calls the trace shows. DriverEntry connects two sockets over the loopback interface and sends a line.
 * Its device's controls complete at once, send a second control to the device, or send one and cancel it.
 */
#include <ntddk.h>
#include <wsk.h>

#define CODE(function) CTL_CODE(FILE_DEVICE_UNKNOWN, function, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_END CODE(0x800)
#define IOCTL_NEST CODE(0x801)
#define IOCTL_CANCEL CODE(0x802)
#define IOCTL_PEND CODE(0x803)
#define IOCTL_CRASH CODE(0x804)
#define LINE "a line"

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD TalksUnload;
static DRIVER_DISPATCH TalksOpen, TalksControl;
static DRIVER_CANCEL TalksCancel;
static IO_COMPLETION_ROUTINE TalksCompleted;
static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\Talks");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\Talks");
static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Npi;
static KEVENT Received, Disconnected;

/* ---- Calls that wait ---- */

typedef struct {
    PIRP Irp;
    KEVENT Event;
} CALL;

static NTSTATUS TalksCompleted(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Returns an IRP for the next call. */
static PIRP TalksBegin(CALL *Call, CCHAR Locations)
{
    Call->Irp = IoAllocateIrp(Locations, FALSE);
    NT_ASSERT(Call->Irp != NULL);
    KeInitializeEvent(&Call->Event, NotificationEvent, FALSE);
    IoSetCompletionRoutine(Call->Irp, TalksCompleted, &Call->Event, TRUE, TRUE, TRUE);
    return Call->Irp;
}

/* Waits for the call, and returns its status and the IRP's information. */
static NTSTATUS TalksEnd(CALL *Call, ULONG_PTR *Information)
{
    NTSTATUS status;

    KeWaitForSingleObject(&Call->Event, Executive, KernelMode, FALSE, NULL);
    status = Call->Irp->IoStatus.Status;
    if (Information)
        *Information = Call->Irp->IoStatus.Information;
    IoFreeIrp(Call->Irp);
    return status;
}

/* ---- Sockets ---- */

static NTSTATUS TalksReceive(PVOID Context, ULONG Flags, PWSK_DATA_INDICATION Data, SIZE_T Bytes, SIZE_T *Accepted)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Flags);
    UNREFERENCED_PARAMETER(Data);
    *Accepted = Bytes;
    KeSetEvent(&Received, IO_NO_INCREMENT, FALSE);
    return STATUS_SUCCESS;
}

static NTSTATUS TalksDisconnect(PVOID Context, ULONG Flags)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Flags);
    KeSetEvent(&Disconnected, IO_NO_INCREMENT, FALSE);
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_CONNECTION_DISPATCH Dispatch = { TalksReceive, TalksDisconnect, NULL };

static PWSK_SOCKET TalksListen(SOCKADDR_IN *Address)
{
    const WSK_PROVIDER_LISTEN_DISPATCH *listen;
    ULONG_PTR socket = 0;
    CALL call;

    Npi.Dispatch->WskSocket(Npi.Client, AF_INET, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_LISTEN_SOCKET, NULL, NULL, NULL,
                            NULL, NULL, TalksBegin(&call, 1));
    if (!NT_SUCCESS(TalksEnd(&call, &socket)))
        return NULL;
    listen = ((PWSK_SOCKET)socket)->Dispatch;
    Address->sin_family = AF_INET;
    Address->sin_addr.s_addr = RtlUlongByteSwap(0x7f000001);
    listen->WskBind((PWSK_SOCKET)socket, (PSOCKADDR)Address, 0, TalksBegin(&call, 1));
    TalksEnd(&call, NULL);
    listen->WskGetLocalAddress((PWSK_SOCKET)socket, (PSOCKADDR)Address, TalksBegin(&call, 1));
    TalksEnd(&call, NULL);
    return (PWSK_SOCKET)socket;
}

static VOID TalksClose(PWSK_SOCKET Socket)
{
    CALL call;

    ((const WSK_PROVIDER_BASIC_DISPATCH *)Socket->Dispatch)->WskCloseSocket(Socket, TalksBegin(&call, 1));
    TalksEnd(&call, NULL);
}

/* Sends a line from one end to the other, which receives it in an event. */
static VOID TalksExchange(PWSK_SOCKET From, PWSK_SOCKET To)
{
    const WSK_PROVIDER_CONNECTION_DISPATCH *from = From->Dispatch, *to = To->Dispatch;
    WSK_EVENT_CALLBACK_CONTROL control = { &NPI_WSK_INTERFACE_ID, WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT };
    static CHAR line[] = LINE;
    WSK_BUF buffer = { IoAllocateMdl(line, sizeof(LINE) - 1, FALSE, FALSE, NULL), 0, sizeof(LINE) - 1 };
    CALL call;

    MmBuildMdlForNonPagedPool(buffer.Mdl);
    to->WskControlSocket(To, WskSetOption, SO_WSK_EVENT_CALLBACK, SOL_SOCKET, sizeof(control), &control, 0, NULL, NULL,
                         NULL);
    from->WskSend(From, &buffer, WSK_FLAG_NODELAY, TalksBegin(&call, 1));
    TalksEnd(&call, NULL);
    KeWaitForSingleObject(&Received, Executive, KernelMode, FALSE, NULL);
    from->WskDisconnect(From, NULL, 0, TalksBegin(&call, 1));
    KeWaitForSingleObject(&Disconnected, Executive, KernelMode, FALSE, NULL);
    TalksEnd(&call, NULL);
    IoFreeMdl(buffer.Mdl);
}

static NTSTATUS TalksTalk(VOID)
{
    SOCKADDR_IN address = { 0 }, any = { .sin_family = AF_INET };
    PWSK_SOCKET listener = TalksListen(&address);
    ULONG_PTR accepted = 0, connected = 0;
    NTSTATUS status;
    CALL accept, connect;

    if (!listener)
        return STATUS_INSUFFICIENT_RESOURCES;
    ((const WSK_PROVIDER_LISTEN_DISPATCH *)listener->Dispatch)
        ->WskAccept(listener, 0, NULL, &Dispatch, NULL, NULL, TalksBegin(&accept, 1));
    Npi.Dispatch->WskSocketConnect(Npi.Client, SOCK_STREAM, IPPROTO_TCP, (PSOCKADDR)&any, (PSOCKADDR)&address, 0, NULL,
                                   NULL, NULL, NULL, NULL, TalksBegin(&connect, 1));
    status = TalksEnd(&connect, &connected);
    if (NT_SUCCESS(status))
        status = TalksEnd(&accept, &accepted);
    if (NT_SUCCESS(status)) {
        TalksExchange((PWSK_SOCKET)connected, (PWSK_SOCKET)accepted);
        TalksClose((PWSK_SOCKET)connected);
        TalksClose((PWSK_SOCKET)accepted);
    }
    TalksClose(listener);
    return status;
}

/* ---- The device ---- */

static NTSTATUS TalksFinish(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS TalksOpen(PDEVICE_OBJECT Device, PIRP Irp)
{
    UNREFERENCED_PARAMETER(Device);
    return TalksFinish(Irp, STATUS_SUCCESS, 0);
}

static VOID TalksCancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    UNREFERENCED_PARAMETER(Device);
    IoReleaseCancelSpinLock(Irp->CancelIrql);
    TalksFinish(Irp, STATUS_CANCELLED, 0);
}

static NTSTATUS TalksNest(PDEVICE_OBJECT Device)
{
    IO_STATUS_BLOCK block;
    KEVENT event;
    PIRP irp;

    KeInitializeEvent(&event, NotificationEvent, FALSE);
    irp = IoBuildDeviceIoControlRequest(IOCTL_END, Device, NULL, 0, NULL, 0, FALSE, &event, &block);
    return irp ? IoCallDriver(Device, irp) : STATUS_INSUFFICIENT_RESOURCES;
}

static NTSTATUS TalksSendAndCancel(PDEVICE_OBJECT Device)
{
    PIO_STACK_LOCATION next;
    CALL call;

    TalksBegin(&call, Device->StackSize);
    next = IoGetNextIrpStackLocation(call.Irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->Parameters.DeviceIoControl.IoControlCode = IOCTL_PEND;
    IoCallDriver(Device, call.Irp);
    IoCancelIrp(call.Irp);
    return TalksEnd(&call, NULL);
}

static NTSTATUS TalksControl(PDEVICE_OBJECT Device, PIRP Irp)
{
    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_END:
        return TalksFinish(Irp, STATUS_SUCCESS, 0);
    case IOCTL_NEST:
        return TalksFinish(Irp, TalksNest(Device), 0);
    case IOCTL_CANCEL:
        return TalksFinish(Irp, TalksSendAndCancel(Device), 0);
    case IOCTL_PEND:
        IoMarkIrpPending(Irp);
        (void)IoSetCancelRoutine(Irp, TalksCancel);
        return STATUS_PENDING;
    case IOCTL_CRASH:
        DbgPrint("talks: this is the last line\n");
        *(volatile ULONG *)(ULONG_PTR)Irp->IoStatus.Information = 0;
        return STATUS_SUCCESS;
    default:
        return TalksFinish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
}

/* ---- The driver ---- */

static VOID TalksUnload(PDRIVER_OBJECT DriverObject)
{
    if (DriverObject->DeviceObject) {
        IoDeleteSymbolicLink(&LinkName);
        IoDeleteDevice(DriverObject->DeviceObject);
    }
    WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
}

static NTSTATUS TalksCreateDevice(PDRIVER_OBJECT DriverObject)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(DriverObject, 0, &DeviceName, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    if (NT_SUCCESS(status))
        status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    DriverObject->DriverUnload = TalksUnload;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = TalksOpen;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = TalksOpen;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = TalksOpen;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = TalksControl;
    DriverObject->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = TalksControl;
    return status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NTSTATUS status = WskRegister(&client, &Registration);

    UNREFERENCED_PARAMETER(RegistryPath);
    KeInitializeEvent(&Received, NotificationEvent, FALSE);
    KeInitializeEvent(&Disconnected, NotificationEvent, FALSE);
    if (NT_SUCCESS(status))
        status = WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Npi);
    if (NT_SUCCESS(status))
        status = TalksTalk();
    if (NT_SUCCESS(status))
        status = TalksCreateDevice(DriverObject);
    DbgPrint("talks: 0x%08X\n", status);
    return status;
}
