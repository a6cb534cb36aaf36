/* SPDX-License-Identifier: MIT */
/*
 * A KMDF control driver to copy from. A program posts and fetches messages. A fetch waits if there is no message.
 *
 * The default queue is sequential: the framework delivers the next request only after the handler has completed or
 * forwarded its request. Each handler completes or forwards its request last, so only one handler at a time uses the
 * mailbox, which needs no lock. A fetch that finds no message goes to a manual queue. If the program cancels the fetch,
 * closes its handle or ends, the framework cancels the fetch in that queue without the driver's help.
 */
#include <ntddk.h>
#include <wdf.h>

#define IOCTL_MAILBOX_POST CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)  /* 0x222000 */
#define IOCTL_MAILBOX_FETCH CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_BUFFERED, FILE_ANY_ACCESS) /* 0x222004 */
#define MAILBOX_TAG 'xobM'
#define MAILBOX_ROOM 16 /* maximum number of messages that wait */

DRIVER_INITIALIZE DriverEntry;
EVT_WDF_DRIVER_UNLOAD MailboxUnload;
EVT_WDF_IO_QUEUE_IO_DEVICE_CONTROL MailboxDeviceControl;

typedef struct _MAILBOX {
    WDFQUEUE Fetches;       /* manual: fetches that wait for a message */
    WDFCOLLECTION Messages; /* memory objects, the oldest first; empty while a fetch waits */
} MAILBOX;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(MAILBOX, MailboxOf)

/* Copies the message to the fetch's buffer, and returns an error if the buffer is too small. */
static NTSTATUS MailboxCopy(WDFREQUEST Fetch, const VOID *Message, size_t Length)
{
    PVOID Buffer;
    NTSTATUS Status = WdfRequestRetrieveOutputBuffer(Fetch, Length, &Buffer, NULL);

    if (NT_SUCCESS(Status))
        RtlCopyMemory(Buffer, Message, Length);
    WdfRequestSetInformation(Fetch, NT_SUCCESS(Status) ? Length : 0);
    return Status;
}

/* Stores a copy of the message. Returns STATUS_DEVICE_BUSY if MAILBOX_ROOM messages are stored already. */
static NTSTATUS MailboxStore(WDFDEVICE Device, PVOID Message, size_t Length)
{
    MAILBOX *Box = MailboxOf(Device);
    WDF_OBJECT_ATTRIBUTES Attributes;
    WDFMEMORY Copy;
    NTSTATUS Status;

    if (WdfCollectionGetCount(Box->Messages) == MAILBOX_ROOM)
        return STATUS_DEVICE_BUSY;
    WDF_OBJECT_ATTRIBUTES_INIT(&Attributes);
    Attributes.ParentObject = Device;
    Status = WdfMemoryCreate(&Attributes, NonPagedPoolNx, MAILBOX_TAG, Length, &Copy, NULL);
    if (!NT_SUCCESS(Status))
        return Status;
    (VOID)WdfMemoryCopyFromBuffer(Copy, 0, Message, Length);
    Status = WdfCollectionAdd(Box->Messages, Copy);
    if (!NT_SUCCESS(Status))
        WdfObjectDelete(Copy);
    return Status;
}

/*
 * Copies the message to the first waiting fetch that has room for the message, and completes this fetch. Fetches
 * without room fail. If no fetch is left, stores the message.
 */
static VOID MailboxPost(WDFDEVICE Device, WDFREQUEST Request)
{
    MAILBOX *Box = MailboxOf(Device);
    WDFREQUEST Fetch;
    PVOID Message;
    size_t Length;
    NTSTATUS Status = WdfRequestRetrieveInputBuffer(Request, 1, &Message, &Length), Copied;

    while (NT_SUCCESS(Status)) {
        if (!NT_SUCCESS(WdfIoQueueRetrieveNextRequest(Box->Fetches, &Fetch))) {
            Status = MailboxStore(Device, Message, Length);
            break;
        }
        Copied = MailboxCopy(Fetch, Message, Length);
        WdfRequestComplete(Fetch, Copied);
        if (NT_SUCCESS(Copied))
            break;
    }
    WdfRequestComplete(Request, Status);
}

/* Completes the fetch with the oldest message. If there is no message, the fetch waits in the queue Fetches. */
static VOID MailboxFetch(WDFDEVICE Device, WDFREQUEST Request)
{
    MAILBOX *Box = MailboxOf(Device);
    WDFMEMORY Message = WdfCollectionGetFirstItem(Box->Messages);
    NTSTATUS Status;
    PVOID Buffer;
    size_t Length;

    if (!Message) {
        Status = WdfRequestForwardToIoQueue(Request, Box->Fetches);
        if (!NT_SUCCESS(Status))
            WdfRequestComplete(Request, Status);
        return;
    }
    Buffer = WdfMemoryGetBuffer(Message, &Length);
    Status = MailboxCopy(Request, Buffer, Length);
    if (NT_SUCCESS(Status)) {
        WdfCollectionRemoveItem(Box->Messages, 0);
        WdfObjectDelete(Message);
    }
    WdfRequestComplete(Request, Status);
}

VOID MailboxDeviceControl(WDFQUEUE Queue, WDFREQUEST Request, size_t OutputBufferLength, size_t InputBufferLength,
                          ULONG IoControlCode)
{
    WDFDEVICE Device = WdfIoQueueGetDevice(Queue);

    UNREFERENCED_PARAMETER(OutputBufferLength);
    UNREFERENCED_PARAMETER(InputBufferLength);
    switch (IoControlCode) {
    case IOCTL_MAILBOX_POST:
        MailboxPost(Device, Request);
        break;
    case IOCTL_MAILBOX_FETCH:
        MailboxFetch(Device, Request);
        break;
    default:
        WdfRequestComplete(Request, STATUS_INVALID_DEVICE_REQUEST);
    }
}

static NTSTATUS MailboxCreateQueues(WDFDEVICE Device)
{
    MAILBOX *Box = MailboxOf(Device);
    WDF_OBJECT_ATTRIBUTES Attributes;
    WDF_IO_QUEUE_CONFIG Config;
    NTSTATUS Status;

    WDF_OBJECT_ATTRIBUTES_INIT(&Attributes);
    Attributes.ParentObject = Device;
    Status = WdfCollectionCreate(&Attributes, &Box->Messages);
    if (!NT_SUCCESS(Status))
        return Status;
    WDF_IO_QUEUE_CONFIG_INIT(&Config, WdfIoQueueDispatchManual);
    Status = WdfIoQueueCreate(Device, &Config, WDF_NO_OBJECT_ATTRIBUTES, &Box->Fetches);
    if (!NT_SUCCESS(Status))
        return Status;
    WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&Config, WdfIoQueueDispatchSequential);
    Config.EvtIoDeviceControl = MailboxDeviceControl;
    return WdfIoQueueCreate(Device, &Config, WDF_NO_OBJECT_ATTRIBUTES, WDF_NO_HANDLE);
}

/* After a failure the framework deletes the driver object and the device, so this function deletes no object. */
static NTSTATUS MailboxCreateDevice(WDFDRIVER Driver)
{
    DECLARE_CONST_UNICODE_STRING(Security, L"D:P(A;;GA;;;SY)(A;;GA;;;BA)"); /* SDDL_DEVOBJ_SYS_ALL_ADM_ALL */
    DECLARE_CONST_UNICODE_STRING(Name, L"\\Device\\Mailbox");
    DECLARE_CONST_UNICODE_STRING(Link, L"\\DosDevices\\Mailbox");
    PWDFDEVICE_INIT Init = WdfControlDeviceInitAllocate(Driver, &Security);
    WDF_OBJECT_ATTRIBUTES Attributes;
    WDFDEVICE Device;
    NTSTATUS Status;

    if (!Init)
        return STATUS_INSUFFICIENT_RESOURCES;
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&Attributes, MAILBOX);
    Status = WdfDeviceInitAssignName(Init, &Name);
    if (NT_SUCCESS(Status))
        Status = WdfDeviceCreate(&Init, &Attributes, &Device);
    if (!NT_SUCCESS(Status)) {
        WdfDeviceInitFree(Init);
        return Status;
    }
    Status = WdfDeviceCreateSymbolicLink(Device, &Link);
    if (NT_SUCCESS(Status))
        Status = MailboxCreateQueues(Device);
    if (NT_SUCCESS(Status))
        WdfControlFinishInitializing(Device);
    return Status;
}

/* A non-PnP driver without this callback cannot be unloaded. */
VOID MailboxUnload(WDFDRIVER Driver)
{
    UNREFERENCED_PARAMETER(Driver);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    WDF_DRIVER_CONFIG Config;
    WDFDRIVER Driver;
    NTSTATUS Status;

    WDF_DRIVER_CONFIG_INIT(&Config, WDF_NO_EVENT_CALLBACK);
    Config.DriverInitFlags |= WdfDriverInitNonPnpDriver;
    Config.EvtDriverUnload = MailboxUnload;
    Status = WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &Config, &Driver);
    return NT_SUCCESS(Status) ? MailboxCreateDevice(Driver) : Status;
}
