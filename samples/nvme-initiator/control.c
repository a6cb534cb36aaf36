/* SPDX-License-Identifier: MIT */
/*
 * Executes the device controls of nvmeioctl.h, in the thread of the program that sends them. Input and output share one
 * buffer (METHOD_BUFFERED), so the input is copied before the output is written. All functions require PASSIVE_LEVEL.
 */
#include "nvmeport.h"

#include <ip2string.h>

#include "nvmeioctl.h"

/* A device control. Output has a size of OutputLength bytes; the first Written bytes are valid. */
typedef struct _NVME_CONTROL {
    NVME_ADAPTER *Adapter;
    NVME_IOCTL_REQUEST Request;
    PUCHAR Output;
    ULONG OutputLength;
    ULONG Written;
} NVME_CONTROL;

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

static BOOLEAN IsTerminated(const char *String, ULONG Size)
{
    return memchr(String, 0, Size) != NULL;
}

/*
 * Copies a string that is padded with blanks or zeros, and appends a terminating zero. Replaces each character that is
 * not printable ASCII by a question mark, because the string comes from a target.
 */
static VOID CopyPadded(char *To, ULONG Size, const char *From, ULONG Length)
{
    ULONG i;

    for (i = 0; i < Length && i + 1 < Size && From[i]; i++)
        To[i] = From[i] < ' ' || From[i] > '~' ? '?' : From[i];
    while (i && To[i - 1] == ' ')
        i--;
    To[i] = 0;
}

static NTSTATUS ParseTarget(const NVME_IOCTL_REQUEST *Request, const char *Subsystem, NVME_TARGET *Target)
{
    WCHAR address[NVME_IOCTL_ADDRESS_SIZE];
    ULONG i;

    for (i = 0; i < NVME_IOCTL_ADDRESS_SIZE; i++)
        address[i] = (UCHAR)Request->Address[i];
    return NvmeParseTarget(address, Subsystem, Target);
}

static VOID FormatAddress(const SOCKADDR_INET *Address, char *To)
{
    ULONG size = NVME_IOCTL_ADDRESS_SIZE;
    NTSTATUS status;

    if (Address->si_family == AF_INET)
        status = RtlIpv4AddressToStringExA(&Address->Ipv4.sin_addr, Address->Ipv4.sin_port, To, &size);
    else
        status = RtlIpv6AddressToStringExA(&Address->Ipv6.sin6_addr, Address->Ipv6.sin6_scope_id,
            Address->Ipv6.sin6_port, To, &size);
    if (!NT_SUCCESS(status))
        To[0] = 0;
}

/* ---- Discover ---------------------------------------------------------------------------------------------------- */

#define MAX_ENTRIES 64

/* Copies an entry and joins its address and port, with brackets around an IPv6 address. */
static VOID CopyEntry(const struct nvme_discovery_entry *From, NVME_IOCTL_ENTRY *To)
{
    BOOLEAN six = From->adrfam == NVME_ADRFAM_IPV6;
    char service[8], *end = To->Address;

    To->IsDiscovery = From->subtype == NVME_SUBTYPE_DISCOVERY;
    CopyPadded(To->Subsystem, sizeof(To->Subsystem), From->subnqn, sizeof(From->subnqn));
    CopyPadded(service, sizeof(service), From->trsvcid, sizeof(From->trsvcid));
    if (six)
        *end++ = '[';
    CopyPadded(end, sizeof(To->Address) - sizeof(service) - 4, From->traddr, sizeof(From->traddr));
    end += strlen(end);
    if (six)
        *end++ = ']';
    *end++ = ':';
    CopyPadded(end, sizeof(service), service, sizeof(service));
}

static NTSTATUS Discover(NVME_CONTROL *Control)
{
    NVME_IOCTL_LOG *log = (NVME_IOCTL_LOG *)Control->Output;
    ULONG header = FIELD_OFFSET(NVME_IOCTL_LOG, Entries), count = MAX_ENTRIES, room, i;
    struct nvme_discovery_entry *entries;
    NVME_TARGET target;
    NTSTATUS status = ParseTarget(&Control->Request, NVME_DISCOVERY_NQN, &target);

    if (!NT_SUCCESS(status))
        return status;
    if (Control->OutputLength < header)
        return STATUS_BUFFER_TOO_SMALL;
    entries = ExAllocatePoolWithTag(NonPagedPoolNx, MAX_ENTRIES * sizeof(*entries), NVME_TAG);
    if (!entries)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = NvmeDiscover(&target, &NvmeSettings, entries, &count);
    if (NT_SUCCESS(status)) {
        room = (Control->OutputLength - header) / sizeof(log->Entries[0]);
        log->Count = count;
        count = min(min(count, MAX_ENTRIES), room);
        RtlZeroMemory(log->Entries, count * sizeof(log->Entries[0]));
        for (i = 0; i < count; i++)
            CopyEntry(&entries[i], &log->Entries[i]);
        Control->Written = header + count * sizeof(log->Entries[0]);
    }
    ExFreePoolWithTag(entries, NVME_TAG);
    return status;
}

/* ---- Connect and disconnect -------------------------------------------------------------------------------------- */

static NTSTATUS Connect(NVME_CONTROL *Control)
{
    NVME_IOCTL_CONNECTED *connected = (NVME_IOCTL_CONNECTED *)Control->Output;
    NVME_TARGET target;
    ULONG targetId;
    NTSTATUS status = ParseTarget(&Control->Request, Control->Request.Subsystem, &target);

    if (!NT_SUCCESS(status))
        return status;
    if (Control->OutputLength < sizeof(*connected))
        return STATUS_BUFFER_TOO_SMALL;
    status = NvmeDisksConnect(Control->Adapter, &target,
        Control->Request.Flags & NVME_IOCTL_RETRY ? NVME_CREATE_RETRY : 0, &targetId);
    if (!NT_SUCCESS(status))
        return status;
    connected->TargetId = targetId;
    Control->Written = sizeof(*connected);
    return STATUS_SUCCESS; /* not STATUS_PENDING: the control is complete, even if attempts to connect continue */
}

static NTSTATUS Disconnect(NVME_CONTROL *Control)
{
    NTSTATUS status = NvmeDisksDisconnect(Control->Adapter, Control->Request.TargetId);

    if (NT_SUCCESS(status))
        StorPortNotification(BusChangeDetected, Control->Adapter, 0);
    return status;
}

/* ---- List -------------------------------------------------------------------------------------------------------- */

C_ASSERT(NVME_IOCTL_CONNECTING == (int)NvmeStateConnecting && NVME_IOCTL_DELETING == (int)NvmeStateDeleting);

static VOID CopyController(const NVME_DISK_GROUP *Group, const NVME_CONTROLLER_INFO *From, NVME_IOCTL_CONTROLLER *To)
{
    RtlZeroMemory(To, sizeof(*To));
    To->TargetId = Group->TargetId;
    To->State = (uint32_t)From->State;
    To->LastStatus = (uint32_t)From->LastStatus;
    To->Reconnects = From->Reconnects;
    To->Namespaces = From->NamespaceCount;
    To->Queues = From->QueueCount;
    To->QueueDepth = From->QueueDepth;
    To->MaxTransfer = From->MaxTransfer;
    CopyPadded(To->LastReason, sizeof(To->LastReason), From->LastReason, sizeof(From->LastReason));
    FormatAddress(&Group->Target.Address, To->Address);
    CopyPadded(To->Subsystem, sizeof(To->Subsystem), Group->Target.Subsystem, sizeof(Group->Target.Subsystem));
    CopyPadded(To->Model, sizeof(To->Model), From->ModelNumber, sizeof(From->ModelNumber));
    CopyPadded(To->Serial, sizeof(To->Serial), From->SerialNumber, sizeof(From->SerialNumber));
    CopyPadded(To->Firmware, sizeof(To->Firmware), From->FirmwareRevision, sizeof(From->FirmwareRevision));
}

static NTSTATUS List(NVME_CONTROL *Control)
{
    NVME_IOCTL_CONTROLLERS *list = (NVME_IOCTL_CONTROLLERS *)Control->Output;
    ULONG header = FIELD_OFFSET(NVME_IOCTL_CONTROLLERS, Controllers), room, copied = 0, i;

    if (Control->OutputLength < header)
        return STATUS_BUFFER_TOO_SMALL;
    room = (Control->OutputLength - header) / sizeof(list->Controllers[0]);
    list->Count = 0;
    for (i = 0; i < NVME_MAX_GROUPS; i++) {
        NVME_DISK_GROUP *group = NvmeDisksReference(Control->Adapter, i);
        NVME_CONTROLLER *controller = group ? NvmeDisksController(group) : NULL;
        NVME_CONTROLLER_INFO info;

        if (controller && copied < room) {
            NvmeControllerQuery(controller, &info);
            CopyController(group, &info, &list->Controllers[copied++]);
        }
        if (controller)
            list->Count++;
        if (group)
            NvmeDisksRelease(group);
    }
    Control->Written = header + copied * sizeof(list->Controllers[0]);
    return STATUS_SUCCESS;
}

/* ---- Dispatch ---------------------------------------------------------------------------------------------------- */

static NTSTATUS Dispatch(NVME_CONTROL *Control)
{
    const NVME_IOCTL_REQUEST *request = &Control->Request;
    ULONG flags = request->Operation == NVME_IOCTL_CONNECT ? NVME_IOCTL_RETRY : 0;

    if (request->Size != sizeof(*request) || (request->Flags & ~flags) ||
        !IsTerminated(request->Address, sizeof(request->Address)) ||
        !IsTerminated(request->Subsystem, sizeof(request->Subsystem)))
        return STATUS_INVALID_PARAMETER;
    switch (request->Operation) {
    case NVME_IOCTL_DISCOVER:
        return Discover(Control);
    case NVME_IOCTL_CONNECT:
        return Connect(Control);
    case NVME_IOCTL_DISCONNECT:
        return Disconnect(Control);
    case NVME_IOCTL_LIST:
        return List(Control);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

VOID NvmeProcessServiceRequest(PVOID DeviceExtension, PVOID Irp)
{
    PIRP irp = Irp;
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(irp);
    NVME_CONTROL control;

    RtlZeroMemory(&control, sizeof(control));
    control.Adapter = DeviceExtension;
    control.Output = irp->AssociatedIrp.SystemBuffer;
    control.OutputLength = stack->Parameters.DeviceIoControl.OutputBufferLength;
    if (stack->Parameters.DeviceIoControl.InputBufferLength < sizeof(control.Request)) {
        irp->IoStatus.Status = STATUS_BUFFER_TOO_SMALL;
    } else {
        RtlCopyMemory(&control.Request, irp->AssociatedIrp.SystemBuffer, sizeof(control.Request));
        irp->IoStatus.Status = Dispatch(&control);
    }
    irp->IoStatus.Information = control.Written;
    StorPortCompleteServiceIrp(DeviceExtension, irp);
}
