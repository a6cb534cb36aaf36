/* SPDX-License-Identifier: MIT */
/*
 * Connects to itself over lo, then does something that is forbidden; what is FAULT, a function below. PlaceInFreedPool
 * and SendFromNowhere do it in DriverEntry, the others in the notification of a CQ, which the provider's thread
 * delivers.
 */
#include <wdm.h>
#include <wsk.h>
#include <ndkpi.h>
#include <wskndk.h>

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD Unload;

#define POOL_TAG 'tluF'
#define BUFFER_SIZE (1 << 18)
#define LOOPBACK 1
#define INLINE_SIZE 16

typedef VOID FAULT_ROUTINE(VOID);
VOID Notified(PVOID Context, NTSTATUS Status);
FAULT_ROUTINE ReadFreedPool, DereferenceNull, OverflowStack, OverwriteStack, PlaceInFreedPool, SendFromNowhere;

typedef struct _SIDE {
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_CONNECTOR *Connector;
    NDK_MR *Mr;
    PMDL Mdl;
    UCHAR *Buffer;
} SIDE;

static const WSK_CLIENT_DISPATCH Client = { MAKE_WSK_VERSION(1, 0), 0, NULL };
static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Npi;
static WSK_PROVIDER_NDK_DISPATCH Ndk;
static NDK_ADAPTER *Adapter;
static NDK_PD *Pd;
static NDK_LISTENER *Listener;
static SIDE Near, Far;
static KEVENT Asked, Done, Accepted, Never;

/* The reports name a function that was not inlined: the faults have frames of their own. */
DECLSPEC_NOINLINE VOID ReadFreedPool(VOID)
{
    volatile UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 64, POOL_TAG);

    ExFreePoolWithTag((PVOID)block, POOL_TAG);
    (VOID)block[8];
}

DECLSPEC_NOINLINE VOID DereferenceNull(VOID)
{
    volatile UCHAR *volatile nothing = NULL; /* hides the value from the compiler */

    *nothing = 1;
}

/* The value keeps the call from being the function's last act, and the array from not being there. */
DECLSPEC_NOINLINE VOID OverflowStack(VOID)
{
    volatile UCHAR frame[4096];

    frame[0] = 1;
    OverflowStack();
    frame[1] = frame[0];
}

/* Also overwrites the return address. The variables that the loop needs are not on the stack. */
DECLSPEC_NOINLINE VOID OverwriteStack(VOID)
{
    static volatile ULONG_PTR at; /* no pointer, so that the compiler does not see that it leaves the frame */
    static volatile INT left;
    volatile UCHAR frame[16];

    at = (ULONG_PTR)frame;
    for (left = 256; left > 0; left--)
        *(volatile UCHAR *)at++ = 0x41;
}

DECLSPEC_NOINLINE VOID PlaceInFreedPool(VOID)
{
}

/* The provider copies inline data while it holds a lock of the queue pair. */
DECLSPEC_NOINLINE VOID SendFromNowhere(VOID)
{
    NDK_SGE sge = { .VirtualAddress = (PVOID)(ULONG_PTR)INLINE_SIZE, .Length = INLINE_SIZE };

    (VOID)Near.Qp->Dispatch->NdkSend(Near.Qp, NULL, &sge, 1, NDK_OP_FLAG_INLINE);
}

static VOID Created(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Status);
    UNREFERENCED_PARAMETER(Object);
}

static VOID Completed(PVOID Context, NTSTATUS Status)
{
    if (!NT_SUCCESS(Status))
        DbgPrint("faults: 0x%08X\n", Status);
    KeSetEvent(Context, IO_NO_INCREMENT, FALSE);
}

VOID Notified(PVOID Context, NTSTATUS Status)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Status);
    FAULT();
}

static VOID ConnectAsked(PVOID Context, NDK_CONNECTOR *Connector)
{
    UNREFERENCED_PARAMETER(Context);
    Far.Connector = Connector;
    KeSetEvent(&Asked, IO_NO_INCREMENT, FALSE);
}

static BOOLEAN Finish(KEVENT *Event, NTSTATUS Status)
{
    if (Status == STATUS_PENDING) {
        KeWaitForSingleObject(Event, Executive, KernelMode, FALSE, NULL);
        return TRUE;
    }
    return NT_SUCCESS(Status);
}

static BOOLEAN OpenAdapter(VOID)
{
    WSK_CLIENT_NPI client = { NULL, &Client };
    NDK_VERSION version = { 2, 1 };

    return NT_SUCCESS(WskRegister(&client, &Registration)) &&
           NT_SUCCESS(WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Npi)) &&
           NT_SUCCESS(Npi.Dispatch->WskControlClient(Npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
                                                     sizeof(Ndk), &Ndk, NULL, NULL)) &&
           NT_SUCCESS(Ndk.WskOpenNdkAdapter(Npi.Client, version, LOOPBACK, &Adapter)) &&
           NT_SUCCESS(Adapter->Dispatch->NdkCreatePd(Adapter, Created, NULL, &Pd));
}

static BOOLEAN OpenSide(SIDE *Side)
{
    return NT_SUCCESS(Adapter->Dispatch->NdkCreateCq(Adapter, 16, Notified, NULL, NULL, Created, NULL, &Side->Cq)) &&
           NT_SUCCESS(Pd->Dispatch->NdkCreateQp(Pd, Side->Cq, Side->Cq, NULL, 4, 4, 1, 1, INLINE_SIZE, Created, NULL,
                                                 &Side->Qp));
}

static BOOLEAN Connect(VOID)
{
    SOCKADDR_IN address = { .sin_family = AF_INET, .sin_addr.S_un.S_addr = RtlUlongByteSwap(0x7f000001) };
    SOCKADDR_IN source = address;
    ULONG size = sizeof(address);
    NTSTATUS accepting, connecting;

    if (!NT_SUCCESS(Adapter->Dispatch->NdkCreateConnector(Adapter, Created, NULL, &Near.Connector)) ||
        !NT_SUCCESS(Adapter->Dispatch->NdkCreateListener(Adapter, ConnectAsked, NULL, Created, NULL, &Listener)) ||
        !Finish(&Done, Listener->Dispatch->NdkListen(Listener, (PSOCKADDR)&address, sizeof(address), Completed,
                                                     &Done)))
        return FALSE;
    KeClearEvent(&Done);
    Listener->Dispatch->NdkGetLocalAddress(Listener, (PSOCKADDR)&address, &size);
    connecting = Near.Connector->Dispatch->NdkConnect(Near.Connector, Near.Qp, (PSOCKADDR)&source, sizeof(source),
                                                      (PSOCKADDR)&address, sizeof(address), 1, 1, NULL, 0, Completed,
                                                      &Done);
    KeWaitForSingleObject(&Asked, Executive, KernelMode, FALSE, NULL);
    accepting = Far.Connector->Dispatch->NdkAccept(Far.Connector, Far.Qp, 1, 1, NULL, 0, NULL, NULL, Completed,
                                                   &Accepted);
    if (!Finish(&Done, connecting))
        return FALSE;
    KeClearEvent(&Done);
    return Finish(&Done, Near.Connector->Dispatch->NdkCompleteConnect(Near.Connector, NULL, NULL, Completed, &Done)) &&
           Finish(&Accepted, accepting);
}

static BOOLEAN Register(SIDE *Side)
{
    Side->Buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BUFFER_SIZE, POOL_TAG);
    RtlZeroMemory(Side->Buffer, BUFFER_SIZE);
    Side->Mdl = IoAllocateMdl(Side->Buffer, BUFFER_SIZE, FALSE, FALSE, NULL);
    MmBuildMdlForNonPagedPool(Side->Mdl);
    KeClearEvent(&Done);
    return NT_SUCCESS(Pd->Dispatch->NdkCreateMr(Pd, FALSE, Created, NULL, &Side->Mr)) &&
           Finish(&Done, Side->Mr->Dispatch->NdkRegisterMr(Side->Mr, Side->Mdl, BUFFER_SIZE,
                                                           NDK_MR_FLAG_ALLOW_REMOTE_WRITE |
                                                           NDK_MR_FLAG_ALLOW_LOCAL_WRITE, Completed, &Done));
}

/* The peer's write comes when the memory has been given back: nobody may write there any more. */
static BOOLEAN Write(VOID)
{
    NDK_SGE sge = { .VirtualAddress = Near.Buffer, .Length = BUFFER_SIZE,
                    .MemoryRegionToken = Near.Mr->Dispatch->NdkGetLocalTokenFromMr(Near.Mr) };
    UINT64 to = (UINT64)Far.Buffer;

    ExFreePoolWithTag(Far.Buffer, POOL_TAG);
    return NT_SUCCESS(Near.Qp->Dispatch->NdkWrite(Near.Qp, NULL, &sge, 1, to,
                                                  Far.Mr->Dispatch->NdkGetRemoteTokenFromMr(Far.Mr), 0));
}

/* The flush completes the receive, and so the notification comes. */
static BOOLEAN CauseNotification(VOID)
{
    NDK_SGE sge = { .VirtualAddress = Far.Buffer, .Length = 16,
                    .MemoryRegionToken = Far.Mr->Dispatch->NdkGetLocalTokenFromMr(Far.Mr) };

    if (!NT_SUCCESS(Far.Qp->Dispatch->NdkReceive(Far.Qp, NULL, &sge, 1)))
        return FALSE;
    Far.Cq->Dispatch->NdkArmCq(Far.Cq, NDK_CQ_NOTIFY_ANY);
    Far.Qp->Dispatch->NdkFlush(Far.Qp);
    return TRUE;
}

static VOID Unload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    FAULT_ROUTINE *fault = FAULT;

    UNREFERENCED_PARAMETER(RegistryPath);
    DriverObject->DriverUnload = Unload;
    KeInitializeEvent(&Asked, NotificationEvent, FALSE);
    KeInitializeEvent(&Done, NotificationEvent, FALSE);
    KeInitializeEvent(&Accepted, NotificationEvent, FALSE);
    KeInitializeEvent(&Never, NotificationEvent, FALSE);
    if (!OpenAdapter() || !OpenSide(&Near) || !OpenSide(&Far) || !Connect() || !Register(&Near) ||
        !Register(&Far))
        return STATUS_UNSUCCESSFUL;
    if (fault == SendFromNowhere)
        fault();
    if (!(fault == PlaceInFreedPool ? Write() : CauseNotification()))
        return STATUS_UNSUCCESSFUL;
    KeWaitForSingleObject(&Never, Executive, KernelMode, FALSE, NULL);
    return STATUS_SUCCESS;
}
