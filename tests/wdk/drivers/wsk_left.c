/* SPDX-License-Identifier: MIT */
/* Unloads with a listening socket open and an accept pending on it. */
#include <wdm.h>
#include <wsk.h>

static const WSK_CLIENT_DISPATCH client_dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
static WSK_REGISTRATION registration;
static WSK_PROVIDER_NPI npi;
static KEVENT over;
static PIRP irp;

static NTSTATUS completed(PDEVICE_OBJECT device, PIRP done, PVOID context)
{
    UNREFERENCED_PARAMETER(device);
    UNREFERENCED_PARAMETER(done);
    UNREFERENCED_PARAMETER(context);
    KeSetEvent(&over, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static PIRP prepared(void)
{
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(irp, completed, NULL, TRUE, TRUE, TRUE);
    return irp;
}

static NTSTATUS ended(NTSTATUS status)
{
    KeWaitForSingleObject(&over, Executive, KernelMode, FALSE, NULL);
    return status == STATUS_PENDING ? irp->IoStatus.Status : status;
}

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    WSK_CLIENT_NPI client = { NULL, &client_dispatch };
    SOCKADDR_IN any = { .sin_family = AF_INET };
    const WSK_PROVIDER_LISTEN_DISPATCH *dispatch;
    PWSK_SOCKET listener;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    KeInitializeEvent(&over, SynchronizationEvent, FALSE);
    irp = IoAllocateIrp(1, FALSE);
    status = WskRegister(&client, &registration);
    if (!NT_SUCCESS(status))
        return status;
    status = WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi);
    if (!NT_SUCCESS(status))
        return status;
    status = ended(npi.Dispatch->WskSocket(npi.Client, AF_INET, SOCK_STREAM, IPPROTO_TCP, WSK_FLAG_LISTEN_SOCKET, NULL,
                                           NULL, NULL, NULL, NULL, prepared()));
    if (!NT_SUCCESS(status))
        return status;
    listener = (PWSK_SOCKET)irp->IoStatus.Information;
    dispatch = listener->Dispatch;
    status = ended(dispatch->WskBind(listener, (PSOCKADDR)&any, 0, prepared()));
    if (!NT_SUCCESS(status))
        return status;
    status = dispatch->WskAccept(listener, 0, NULL, NULL, NULL, NULL, prepared());
    return status == STATUS_PENDING ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}
