/* SPDX-License-Identifier: MIT */
/*
 * Handles the I/O controls of the port's device. Validates the program's buffer before it creates a request from the
 * buffer. The invariant: no completion returns more bytes than the program's buffer has.
 */
#include <pthread.h>
#include <string.h>

#include "storport.h"
#include "ntddscsi.h"

#include "wdk/storport/port.h"

static NTSTATUS port_device_complete(PIRP irp, NTSTATUS status, ULONG_PTR information)
{
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

/*
 * Completes IRP_MJ_CREATE, IRP_MJ_CLEANUP and IRP_MJ_CLOSE. An open fails until the adapter has started, and after its
 * removal.
 */
NTSTATUS port_device_open(PDEVICE_OBJECT device, PIRP irp)
{
    struct port_adapter *a = port_of_device(device);
    bool opens = IoGetCurrentIrpStackLocation(irp)->MajorFunction == IRP_MJ_CREATE;

    return port_device_complete(irp, opens && (!a || !a->running) ? STATUS_DEVICE_NOT_READY : STATUS_SUCCESS, 0);
}

enum { DEFAULT_TIMEOUT_S = 10 }; /* the timeout if the program has not set TimeOutValue */

struct port_control {
    void *buffer;     /* contains the input, and receives the output */
    ULONG in, out;    /* sizes in bytes of input and output */
    ULONG_PTR filled; /* number of output bytes that were written */
};

/* Maps an SRB status to the status that Windows returns. */
static NTSTATUS port_device_status(const struct port_call *c)
{
    switch (SRB_STATUS(c->srb_status)) {
    case SRB_STATUS_SUCCESS:
    case SRB_STATUS_DATA_OVERRUN:
        return STATUS_SUCCESS;
    case SRB_STATUS_INVALID_LUN:
    case SRB_STATUS_INVALID_TARGET_ID:
    case SRB_STATUS_INVALID_PATH_ID:
    case SRB_STATUS_NO_DEVICE:
    case SRB_STATUS_NO_HBA:
    case SRB_STATUS_SELECTION_TIMEOUT:
        return STATUS_DEVICE_DOES_NOT_EXIST;
    case SRB_STATUS_TIMEOUT:
    case SRB_STATUS_COMMAND_TIMEOUT:
        return STATUS_IO_TIMEOUT;
    case SRB_STATUS_INVALID_REQUEST:
    case SRB_STATUS_BAD_FUNCTION:
        return STATUS_INVALID_DEVICE_REQUEST;
    case SRB_STATUS_BUSY:
        return STATUS_DEVICE_BUSY;
    default:
        return STATUS_IO_DEVICE_ERROR;
    }
}

/* ---- IOCTL_SCSI_PASS_THROUGH and its direct kind ----------------------------------------------------------------- */

static bool port_device_is_inside(ULONG_PTR offset, ULONG_PTR length, ULONG_PTR from, ULONG_PTR room)
{
    return offset >= from && offset <= room && length <= room - offset;
}

/*
 * Reads the members that SCSI_PASS_THROUGH and SCSI_PASS_THROUGH_DIRECT have at the same offsets. Returns false if a
 * member is invalid.
 */
static bool port_device_read_pass_through(struct port_adapter *a, const struct port_control *c, struct port_call *call)
{
    const SCSI_PASS_THROUGH *p = c->buffer;

    if (c->in < sizeof *p || p->Length != sizeof *p || p->CdbLength > sizeof p->Cdb || !p->CdbLength ||
        p->DataIn > SCSI_IOCTL_DATA_UNSPECIFIED || p->DataTransferLength > a->config.MaximumTransferLength ||
        (p->SenseInfoLength && !port_device_is_inside(p->SenseInfoOffset, p->SenseInfoLength, sizeof *p, c->out)))
        return false;
    call->function = SRB_FUNCTION_EXECUTE_SCSI;
    call->path = p->PathId;
    call->target = p->TargetId;
    call->lun = p->Lun;
    call->cdb_length = p->CdbLength;
    memcpy(call->cdb, p->Cdb, p->CdbLength);
    call->flags = SRB_FLAGS_NO_QUEUE_FREEZE;
    if (p->DataTransferLength)
        call->flags |= p->DataIn == SCSI_IOCTL_DATA_OUT ? SRB_FLAGS_DATA_OUT : SRB_FLAGS_DATA_IN;
    call->timeout = p->TimeOutValue ? p->TimeOutValue : DEFAULT_TIMEOUT_S;
    call->length = p->DataTransferLength;
    call->sense_length = p->SenseInfoLength;
    return true;
}

/* Writes the results to the program's buffer. Returns success even if ScsiStatus contains a SCSI error of the unit. */
static NTSTATUS port_device_return_pass_through(struct port_control *c, const struct port_call *call)
{
    SCSI_PASS_THROUGH *p = c->buffer;
    bool answered = SRB_STATUS(call->srb_status) == SRB_STATUS_ERROR && call->scsi_status != SCSISTAT_GOOD;

    p->ScsiStatus = call->scsi_status;
    p->DataTransferLength = call->length;
    p->SenseInfoLength = call->sense_length;
    c->filled = sizeof *p;
    if (call->sense_length) {
        memcpy((char *)c->buffer + p->SenseInfoOffset, call->sense, call->sense_length);
        c->filled = p->SenseInfoOffset + call->sense_length;
    }
    return answered ? STATUS_SUCCESS : port_device_status(call);
}

static NTSTATUS port_device_pass_through(struct port_adapter *a, struct port_control *c)
{
    SCSI_PASS_THROUGH *p = c->buffer;
    struct port_call call = { 0 };
    NTSTATUS status;
    bool in;

    if (!port_device_read_pass_through(a, c, &call))
        return STATUS_INVALID_PARAMETER;
    in = call.flags & SRB_FLAGS_DATA_IN;
    if (call.length && !port_device_is_inside(p->DataBufferOffset, call.length, sizeof *p, in ? c->out : c->in))
        return STATUS_INVALID_PARAMETER;
    call.data = (char *)c->buffer + p->DataBufferOffset;
    (void)port_send(a, &call);
    status = port_device_return_pass_through(c, &call);
    if (in && call.length && p->DataBufferOffset + call.length > c->filled)
        c->filled = p->DataBufferOffset + call.length;
    return status;
}

static NTSTATUS port_device_pass_through_direct(struct port_adapter *a, struct port_control *c)
{
    const SCSI_PASS_THROUGH_DIRECT *p = c->buffer;
    struct port_call call = { 0 };

    if (!port_device_read_pass_through(a, c, &call) || (call.length && !p->DataBuffer))
        return STATUS_INVALID_PARAMETER;
    call.data = p->DataBuffer;
    (void)port_send(a, &call);
    return port_device_return_pass_through(c, &call);
}

/* ---- Other controls ---------------------------------------------------------------------------------------------- */

/*
 * Passes the program's buffer to the miniport, which replaces the input by the output. The buffer is as large as the
 * larger of input and output, and must contain the header and s->Length bytes after the header.
 */
static NTSTATUS port_device_miniport_control(struct port_adapter *a, struct port_control *c)
{
    const SRB_IO_CONTROL *s = c->buffer;
    struct port_call call = { .function = SRB_FUNCTION_IO_CONTROL, .flags = SRB_FLAGS_DATA_IN, .data = c->buffer };

    call.length = c->in > c->out ? c->in : c->out;
    if (c->in < sizeof *s || s->HeaderLength != sizeof *s || s->Length > call.length - sizeof *s)
        return STATUS_INVALID_PARAMETER;
    call.timeout = s->Timeout ? s->Timeout : DEFAULT_TIMEOUT_S;
    (void)port_send(a, &call);
    c->filled = call.length;
    return port_device_status(&call);
}

static NTSTATUS port_device_capabilities(struct port_adapter *a, struct port_control *c)
{
    IO_SCSI_CAPABILITIES *s = c->buffer;

    if (c->out < sizeof *s)
        return STATUS_BUFFER_TOO_SMALL;
    *s = (IO_SCSI_CAPABILITIES){ .Length = sizeof *s,
                                 .MaximumTransferLength = a->config.MaximumTransferLength,
                                 .MaximumPhysicalPages = a->config.NumberOfPhysicalBreaks,
                                 .AlignmentMask = a->config.AlignmentMask,
                                 .TaggedQueuing = TRUE };
    c->filled = sizeof *s;
    return STATUS_SUCCESS;
}

/* Returns as much of the adapter's descriptor as fits. A query may also ask only whether the descriptor exists. */
static NTSTATUS port_device_query_property(struct port_adapter *a, struct port_control *c)
{
    const STORAGE_PROPERTY_QUERY *query = c->buffer;
    STORAGE_ADAPTER_DESCRIPTOR d = { .Version = sizeof d,
                                     .Size = sizeof d,
                                     .MaximumTransferLength = a->config.MaximumTransferLength,
                                     .MaximumPhysicalPages = a->config.NumberOfPhysicalBreaks,
                                     .AlignmentMask = a->config.AlignmentMask,
                                     .AdapterScansDown = a->config.AdapterScansDown,
                                     .CommandQueueing = TRUE,
                                     .BusType = (UCHAR)a->bus_type,
                                     .SrbType = a->config.SrbType,
                                     .AddressType = a->config.AddressType };

    if (c->in < offsetof(STORAGE_PROPERTY_QUERY, AdditionalParameters))
        return STATUS_INVALID_PARAMETER;
    if (query->PropertyId != StorageAdapterProperty)
        return STATUS_NOT_SUPPORTED;
    if (query->QueryType == PropertyExistsQuery)
        return STATUS_SUCCESS;
    if (query->QueryType != PropertyStandardQuery)
        return STATUS_NOT_SUPPORTED;
    if (c->out < sizeof(STORAGE_DESCRIPTOR_HEADER))
        return STATUS_BUFFER_TOO_SMALL;
    c->filled = c->out < sizeof d ? c->out : sizeof d;
    memcpy(c->buffer, &d, c->filled);
    return STATUS_SUCCESS;
}

enum { ENTRY_SIZE = (offsetof(SCSI_INQUIRY_DATA, InquiryData) + INQUIRYDATABUFFERSIZE + 3) & ~3u };

static ULONG port_device_inquiry_header_size(const struct port_adapter *a)
{
    return (ULONG)(offsetof(SCSI_ADAPTER_BUS_INFO, BusData) + a->config.NumberOfBuses * sizeof(SCSI_BUS_DATA));
}

/*
 * Writes an entry for each unit of one bus. The first entry is at offset *at of the buffer. Sets *at to the end of the
 * entries. Requires the lock.
 */
static void port_device_list_bus(struct port_adapter *a, struct port_control *c, UCHAR path, ULONG *at)
{
    SCSI_BUS_DATA *bus = &((SCSI_ADAPTER_BUS_INFO *)c->buffer)->BusData[path];
    SCSI_INQUIRY_DATA *last = NULL;

    for (struct port_unit *u = a->units; u; u = u->next) {
        SCSI_INQUIRY_DATA *entry = (void *)((char *)c->buffer + *at);

        if (!u->found || u->path != path)
            continue;
        *entry = (SCSI_INQUIRY_DATA){ .PathId = path,
                                      .TargetId = u->target,
                                      .Lun = u->lun,
                                      .DeviceClaimed = FALSE,
                                      .InquiryDataLength = INQUIRYDATABUFFERSIZE };
        memcpy(entry->InquiryData, u->inquiry, sizeof u->inquiry);
        if (last)
            last->NextInquiryDataOffset = *at;
        else
            bus->InquiryDataOffset = *at;
        last = entry;
        bus->NumberOfLogicalUnits++;
        *at += ENTRY_SIZE;
    }
}

static NTSTATUS port_device_inquiry_data(struct port_adapter *a, struct port_control *c)
{
    ULONG at = port_device_inquiry_header_size(a), need = at;
    SCSI_ADAPTER_BUS_INFO *info = c->buffer;

    pthread_mutex_lock(&a->lock);
    for (struct port_unit *u = a->units; u; u = u->next)
        need += u->found ? ENTRY_SIZE : 0;
    if (c->out >= need) {
        memset(c->buffer, 0, need);
        info->NumberOfBuses = a->config.NumberOfBuses;
        for (unsigned path = 0; path < a->config.NumberOfBuses; path++) {
            info->BusData[path].InitiatorBusId = 0xff;
            port_device_list_bus(a, c, (UCHAR)path, &at);
        }
        c->filled = at;
    }
    pthread_mutex_unlock(&a->lock);
    return c->out >= need ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
}

/* Passes the IRP to the miniport, which completes it with StorPortCompleteServiceIrp. */
static NTSTATUS port_device_service(struct port_adapter *a, PIRP irp)
{
    struct port_inside inside;

    if (!a->miniport.HwProcessServiceRequest)
        return port_device_complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    IoMarkIrpPending(irp);
    inside = port_enter(PASSIVE_LEVEL);
    a->miniport.HwProcessServiceRequest(a->extension->data, irp);
    port_exit(&inside, "HwProcessServiceRequest", (const void *)(uintptr_t)a->miniport.HwProcessServiceRequest);
    return STATUS_PENDING;
}

static NTSTATUS port_device_rescan(struct port_adapter *a)
{
    (void)port_scan_later(a);
    pthread_mutex_lock(&a->lock);
    while (a->scanning)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return STATUS_SUCCESS;
}

static NTSTATUS port_device_dispatch(struct port_adapter *a, ULONG code, struct port_control *c)
{
    switch (code) {
    case IOCTL_SCSI_PASS_THROUGH:
        return port_device_pass_through(a, c);
    case IOCTL_SCSI_PASS_THROUGH_DIRECT:
        return port_device_pass_through_direct(a, c);
    case IOCTL_SCSI_MINIPORT:
        return port_device_miniport_control(a, c);
    case IOCTL_STORAGE_QUERY_PROPERTY:
        return port_device_query_property(a, c);
    case IOCTL_SCSI_GET_CAPABILITIES:
        return port_device_capabilities(a, c);
    case IOCTL_SCSI_GET_INQUIRY_DATA:
        return port_device_inquiry_data(a, c);
    case IOCTL_SCSI_RESCAN_BUS:
        return port_device_rescan(a);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

NTSTATUS port_device_control(PDEVICE_OBJECT device, PIRP irp)
{
    const IO_STACK_LOCATION *at = IoGetCurrentIrpStackLocation(irp);
    ULONG code = at->Parameters.DeviceIoControl.IoControlCode;
    struct port_adapter *a = port_of_device(device);
    struct port_control c = { .buffer = irp->AssociatedIrp.SystemBuffer,
                              .in = at->Parameters.DeviceIoControl.InputBufferLength,
                              .out = at->Parameters.DeviceIoControl.OutputBufferLength };

    NTSTATUS status;

    if (!a)
        return port_device_complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    if (code == IOCTL_MINIPORT_PROCESS_SERVICE_IRP)
        return port_device_service(a, irp);
    status = port_device_dispatch(a, code, &c);
    return port_device_complete(irp, status, c.filled < c.out ? c.filled : c.out);
}
