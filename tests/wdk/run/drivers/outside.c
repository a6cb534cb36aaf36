/* SPDX-License-Identifier: MIT */
/*
 * A driver whose DriverEntry connects a stream socket, and sends a datagram, to addresses that it has built in, and
 * prints the statuses. It is unloaded at once.
 */
#include <ntddk.h>
#include <wsk.h>

#define ADDRESS(a, b, c, d) RtlUlongByteSwap((a) << 24 | (b) << 16 | (c) << 8 | (d))
#define PORT 9

DRIVER_INITIALIZE DriverEntry;
static IO_COMPLETION_ROUTINE OutsideCompleted;
static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Npi;

typedef struct {
    PIRP Irp;
    KEVENT Event;
} CALL;

static NTSTATUS OutsideCompleted(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(Irp);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static PIRP OutsideBegin(CALL *Call)
{
    Call->Irp = IoAllocateIrp(1, FALSE);
    NT_ASSERT(Call->Irp != NULL);
    KeInitializeEvent(&Call->Event, NotificationEvent, FALSE);
    IoSetCompletionRoutine(Call->Irp, OutsideCompleted, &Call->Event, TRUE, TRUE, TRUE);
    return Call->Irp;
}

static NTSTATUS OutsideEnd(CALL *Call, PWSK_SOCKET *Socket)
{
    NTSTATUS status;

    KeWaitForSingleObject(&Call->Event, Executive, KernelMode, FALSE, NULL);
    status = Call->Irp->IoStatus.Status;
    if (Socket)
        *Socket = (PWSK_SOCKET)Call->Irp->IoStatus.Information;
    IoFreeIrp(Call->Irp);
    return status;
}

static VOID OutsideClose(PWSK_SOCKET Socket)
{
    CALL call;

    ((const WSK_PROVIDER_BASIC_DISPATCH *)Socket->Dispatch)->WskCloseSocket(Socket, OutsideBegin(&call));
    OutsideEnd(&call, NULL);
}

static NTSTATUS OutsideConnect(ULONG Address)
{
    SOCKADDR_IN local = { .sin_family = AF_INET }, remote = { .sin_family = AF_INET };
    PWSK_SOCKET socket = NULL;
    NTSTATUS status;
    CALL call;

    remote.sin_addr.s_addr = Address;
    remote.sin_port = RtlUshortByteSwap(PORT);
    Npi.Dispatch->WskSocketConnect(Npi.Client, SOCK_STREAM, IPPROTO_TCP, (PSOCKADDR)&local, (PSOCKADDR)&remote, 0,
                                   NULL, NULL, NULL, NULL, NULL, OutsideBegin(&call));
    status = OutsideEnd(&call, &socket);
    if (NT_SUCCESS(status))
        OutsideClose(socket);
    return status;
}

static NTSTATUS OutsideSendTo(PWSK_SOCKET Socket, ULONG Address)
{
    static CHAR line[] = "a line";
    SOCKADDR_IN remote = { .sin_family = AF_INET };
    WSK_BUF buffer = { IoAllocateMdl(line, sizeof(line), FALSE, FALSE, NULL), 0, sizeof(line) };
    NTSTATUS status;
    CALL call;

    remote.sin_addr.s_addr = Address;
    remote.sin_port = RtlUshortByteSwap(PORT);
    MmBuildMdlForNonPagedPool(buffer.Mdl);
    ((const WSK_PROVIDER_DATAGRAM_DISPATCH *)Socket->Dispatch)
        ->WskSendTo(Socket, &buffer, 0, (PSOCKADDR)&remote, 0, NULL, OutsideBegin(&call));
    status = OutsideEnd(&call, NULL);
    IoFreeMdl(buffer.Mdl);
    return status;
}

static VOID OutsideSend(const ULONG *Addresses, const CHAR *const *Names, ULONG Count)
{
    SOCKADDR_IN local = { .sin_family = AF_INET };
    PWSK_SOCKET socket = NULL;
    CALL call;

    Npi.Dispatch->WskSocket(Npi.Client, AF_INET, SOCK_DGRAM, IPPROTO_UDP, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL, NULL,
                            NULL, NULL, OutsideBegin(&call));
    if (!NT_SUCCESS(OutsideEnd(&call, &socket)))
        return;
    ((const WSK_PROVIDER_DATAGRAM_DISPATCH *)socket->Dispatch)
        ->WskBind(socket, (PSOCKADDR)&local, 0, OutsideBegin(&call));
    OutsideEnd(&call, NULL);
    for (ULONG i = 0; i < Count; i++)
        DbgPrint("outside: datagram to %s: 0x%08X\n", Names[i], OutsideSendTo(socket, Addresses[i]));
    OutsideClose(socket);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static const CHAR *const names[] = { "another machine", "a group", "this machine", "loopback" };
    const ULONG addresses[] = { ADDRESS(198, 51, 100, 7), ADDRESS(224, 0, 0, 251), ADDRESS(198, 51, 100, 1),
                                ADDRESS(127, 0, 0, 1) };
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };

    UNREFERENCED_PARAMETER(DriverObject);
    UNREFERENCED_PARAMETER(RegistryPath);
    if (!NT_SUCCESS(WskRegister(&client, &Registration)))
        return STATUS_UNSUCCESSFUL;
    WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Npi);
    for (ULONG i = 0; i < RTL_NUMBER_OF(addresses); i++)
        if (i != 1)
            DbgPrint("outside: connect to %s: 0x%08X\n", names[i], OutsideConnect(addresses[i]));
    OutsideSend(addresses, names, RTL_NUMBER_OF(addresses));
    WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
    return STATUS_UNSUCCESSFUL;
}
