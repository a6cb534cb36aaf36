/* SPDX-License-Identifier: MIT */
/*
 * Initializes and shuts down a controller. All of this runs in the controller's thread at PASSIVE_LEVEL. The order of
 * the commands is that of the specification:
 *
 *   1. the admin queue: connection, and Connect, which creates the controller
 *   2. the properties: capabilities, enable, wait until ready
 *   3. Identify Controller: limits
 *   4. the number of I/O queues; for each, connection and Connect
 *   5. asynchronous events and namespaces
 *
 * A discovery controller has only the first three.
 */
#include "nvmendk.h"

#define CONNECT_NQN_OFFSET offsetof(struct nvme_connect_data, subsystem_nqn)
#define MPS_SHIFT 7 /* CC.MPS */
#define ENTRY_SIZES (6u << NVME_CC_IOSQES_SHIFT | 4u << NVME_CC_IOCQES_SHIFT) /* 64 and 16 bytes */

/* ---- One command ------------------------------------------------------------------------------------------------- */

VOID NvmeOwnDone(NVME_REQUEST *Request)
{
    NVME_OWN_REQUEST *own = CONTAINING_RECORD(Request, NVME_OWN_REQUEST, Request);

    KeSetEvent(&own->Done, IO_NO_INCREMENT, FALSE); /* the thread may use the request again now */
}

BOOLEAN NvmeOwnIsDone(NVME_OWN_REQUEST *Own)
{
    LARGE_INTEGER now;

    now.QuadPart = 0;
    return KeWaitForSingleObject(&Own->Done, Executive, KernelMode, FALSE, &now) == STATUS_SUCCESS;
}

BOOLEAN NvmeOwnStart(NVME_OWN_REQUEST *Own, NVME_QUEUE *Queue, NVME_COMPLETION *Completion)
{
    Own->Request.Admin = TRUE; /* so that the request ends when the connection is lost, even on an I/O queue */
    Own->Request.Completion = Completion;
    Own->Request.Aborted = Own->Request.AbortSent = FALSE;
    Own->Request.Resets = NvmeControllerResets(Queue->Controller);
    Own->Request.NvmeStatus = 0;
    Own->Request.Result = 0;
    KeClearEvent(&Own->Done);
    if (NvmeQueueSubmit(Queue, &Own->Request, TRUE))
        return TRUE;
    NvmeOwnDone(&Own->Request);
    return FALSE;
}

/*
 * Returns the status of a request that has ended. If the command could not be sent, stores and prints the status as the
 * controller's error.
 */
static NTSTATUS ControllerRequestStatus(NVME_CONTROLLER *Controller, const NVME_OWN_REQUEST *Own)
{
    NTSTATUS status = Own->Request.Status;

    if (NT_SUCCESS(status) || status == STATUS_IO_DEVICE_ERROR)
        return status;
    return NvmeControllerReason(Controller, status, "a command could not be sent");
}

/* Returns the error for a command that was not sent because the queue has failed. Stores and prints the reason. */
static NTSTATUS ControllerQueueFailed(NVME_CONTROLLER *Controller)
{
    NTSTATUS status = NvmeControllerInterrupted(Controller);

    return NT_SUCCESS(status) ? STATUS_CONNECTION_DISCONNECTED : status;
}

NTSTATUS NvmeExecute(NVME_CONTROLLER *Controller, NVME_QUEUE *Queue, NVME_DIRECTION Direction, ULONG Length)
{
    NVME_OWN_REQUEST *own = &Controller->Execute;
    PVOID objects[] = { &own->Done, &Controller->Wake };
    ULONG seconds = Controller->Info.State == NvmeStateDeleting ? NVME_CLOSE_SECONDS
                                                                : Controller->Settings.CommandSeconds;
    ULONGLONG limit = KeQueryInterruptTime() + seconds * NVME_SECOND;
    LARGE_INTEGER tick;
    NTSTATUS status;

    tick.QuadPart = -(LONGLONG)NVME_TICK;
    own->Request.Direction = Direction;
    own->Request.Mdl = NULL;
    own->Request.Buffer = Controller->Page;
    own->Request.Length = Length;
    own->Request.Seconds = NVME_FOREVER; /* this function itself checks the time limit */
    if (!NvmeOwnStart(own, Queue, NvmeOwnDone))
        return ControllerQueueFailed(Controller);
    for (;;) {
        KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, &tick, NULL);
        if (NvmeOwnIsDone(own))
            return ControllerRequestStatus(Controller, own);
        status = NvmeControllerInterrupted(Controller);
        if (!NT_SUCCESS(status))
            return status;
        if (KeQueryInterruptTime() > limit)
            return NvmeControllerReason(Controller, STATUS_IO_TIMEOUT, "the target has not answered a command in time");
        NvmeControllerServeParked(Controller);
        if (Controller->Info.State == NvmeStateLive) {
            NvmeKeepAliveServe(Controller);
            NvmeTimeoutsServe(Controller);
        }
    }
}

static struct nvme_command *ControllerCommand(NVME_CONTROLLER *Controller, UCHAR Opcode)
{
    struct nvme_command *command = &Controller->Execute.Request.Command;

    RtlZeroMemory(command, sizeof(*command));
    command->opcode = Opcode;
    return command;
}

/*
 * Called after a command that the driver requires to succeed. If the command has failed, stores and prints the
 * controller's error. Returns Status.
 */
static NTSTATUS ControllerCheck(NVME_CONTROLLER *Controller, NTSTATUS Status)
{
    if (Status == STATUS_IO_DEVICE_ERROR)
        NvmeControllerReason(Controller, Status, nvme_status_text(Controller->Execute.Request.NvmeStatus));
    return Status;
}

NTSTATUS NvmeIdentify(NVME_CONTROLLER *Controller, UCHAR Cns, ULONG NamespaceId)
{
    struct nvme_command *command = ControllerCommand(Controller, NVME_ADMIN_IDENTIFY);

    command->nsid = NamespaceId;
    command->identify.cns = Cns;
    RtlZeroMemory(Controller->Page, NVME_PAGE_SIZE);
    return NvmeExecute(Controller, &Controller->Queues[0], NvmeFromController, NVME_PAGE_SIZE);
}

NTSTATUS NvmeGetLogPage(NVME_CONTROLLER *Controller, UCHAR Page, ULONG Length)
{
    struct nvme_command *command = ControllerCommand(Controller, NVME_ADMIN_GET_LOG_PAGE);

    command->nsid = NVME_ALL_NAMESPACES;
    command->log.lid = Page;
    command->log.dwords_low = (USHORT)(Length / sizeof(ULONG) - 1);
    return NvmeExecute(Controller, &Controller->Queues[0], NvmeFromController, Length);
}

NTSTATUS NvmeSetFeature(NVME_CONTROLLER *Controller, UCHAR Feature, ULONG Value)
{
    struct nvme_command *command = ControllerCommand(Controller, NVME_ADMIN_SET_FEATURES);

    command->cdw10 = Feature;
    command->cdw11 = Value;
    return NvmeExecute(Controller, &Controller->Queues[0], NvmeNoData, 0);
}

static NTSTATUS ControllerGetProperty(NVME_CONTROLLER *Controller, ULONG Property, UCHAR Size, ULONGLONG *Value)
{
    struct nvme_command *command = ControllerCommand(Controller, NVME_FABRICS);
    NTSTATUS status;

    command->fabrics_type = NVME_FABRICS_PROPERTY_GET;
    command->property.size = Size;
    command->property.offset = Property;
    status = NvmeExecute(Controller, &Controller->Queues[0], NvmeNoData, 0);
    *Value = Controller->Execute.Request.Result;
    return ControllerCheck(Controller, status);
}

static NTSTATUS ControllerSetProperty(NVME_CONTROLLER *Controller, ULONG Property, ULONG Value)
{
    struct nvme_command *command = ControllerCommand(Controller, NVME_FABRICS);

    command->fabrics_type = NVME_FABRICS_PROPERTY_SET;
    command->property.size = NVME_PROPERTY_SIZE_4;
    command->property.offset = Property;
    command->property.value = Value;
    return ControllerCheck(Controller, NvmeExecute(Controller, &Controller->Queues[0], NvmeNoData, 0));
}

/* ---- Connect ----------------------------------------------------------------------------------------------------- */

/* Returns the NTSTATUS for a Connect command that the target has refused. */
static NTSTATUS ControllerRefused(NVME_CONTROLLER *Controller)
{
    const NVME_REQUEST *request = &Controller->Execute.Request;
    NTSTATUS status = STATUS_IO_DEVICE_ERROR;

    switch (request->NvmeStatus & NVME_STATUS_CODE_MASK) {
    case NVME_CONNECT_INVALID_HOST:
        status = STATUS_ACCESS_DENIED;
        break;
    case NVME_CONNECT_CONTROLLER_BUSY:
        status = STATUS_DEVICE_BUSY;
        break;
    case NVME_CONNECT_INVALID_PARAMETERS:
        status = (ULONG)request->Result == (NVME_CONNECT_IN_DATA | CONNECT_NQN_OFFSET) ? STATUS_NO_SUCH_DEVICE
                                                                                       : STATUS_NOT_SUPPORTED;
        break;
    }
    if (status == STATUS_NO_SUCH_DEVICE)
        return NvmeControllerReason(Controller, status, "the target does not have the subsystem");
    return NvmeControllerReason(Controller, status, nvme_connect_status_text(request->NvmeStatus));
}

/* Connects the queue, and sends the Connect command on it. */
static NTSTATUS ControllerConnectQueue(NVME_CONTROLLER *Controller, NVME_QUEUE *Queue)
{
    BOOLEAN discovery = (Controller->Flags & NVME_CREATE_DISCOVERY) != 0;
    struct nvme_connect connect = { 0 };
    NTSTATUS status = NvmeQueueConnect(Queue);

    if (!NT_SUCCESS(status))
        return status;
    connect.qid = Queue->Id;
    connect.entries = Queue->Depth + 1;
    connect.cntlid = Queue->Id ? Controller->Info.ControllerId : NVME_CNTLID_DYNAMIC;
    connect.kato_ms = Queue->Id || discovery ? 0 : Controller->Settings.KeepAliveSeconds * 1000;
    connect.host_id = Controller->Settings.HostId;
    connect.host_nqn = Controller->Settings.HostName;
    connect.subsystem_nqn = Controller->Target.Subsystem;
    if (!nvme_connect_build(&Controller->Execute.Request.Command, (struct nvme_connect_data *)Controller->Page,
            &connect))
        return NvmeControllerReason(Controller, STATUS_INVALID_PARAMETER, "the name of host or subsystem is too long");
    status = NvmeExecute(Controller, Queue, NvmeToController, sizeof(struct nvme_connect_data));
    return status == STATUS_IO_DEVICE_ERROR ? ControllerRefused(Controller) : status;
}

static ULONG ControllerAdapterDepth(const NVME_CONTROLLER *Controller)
{
    const NDK_ADAPTER_INFO *info = &Controller->AdapterInfo;

    return min(min(info->MaxReceiveQueueDepth - 1, info->MaxInitiatorQueueDepth / NVME_QP_DEPTH(1)),
        (info->MaxCqDepth - 1) / (NVME_QP_DEPTH(1) + 1));
}

static NTSTATUS ControllerOpenAdapter(NVME_CONTROLLER *Controller)
{
    ULONG size = sizeof(Controller->AdapterInfo);
    NTSTATUS status;

    Controller->Target = Controller->Info.Target;
    status = NvmeFindRoute(&Controller->Target);
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(Controller, status, "there is no route to the target");
    status = NvmeOpenAdapter(Controller->Target.Interface, &Controller->Adapter);
    if (NT_SUCCESS(status))
        status = Controller->Adapter->Dispatch->NdkQueryAdapterInfo(Controller->Adapter, &Controller->AdapterInfo,
            &size);
    if (!NT_SUCCESS(status))
        return NvmeControllerReason(Controller, status, "the interface to the target has no NDK adapter");
    if (Controller->AdapterInfo.FRMRPageCount < 2 || ControllerAdapterDepth(Controller) < 2 ||
        Controller->AdapterInfo.MaxCallerData < sizeof(struct nvme_rdma_request))
        return NvmeControllerReason(Controller, STATUS_NOT_SUPPORTED, "the adapter's limits are too narrow");
    return STATUS_SUCCESS;
}

static NTSTATUS ControllerConnectAdmin(NVME_CONTROLLER *Controller)
{
    NVME_QUEUE *queue = &Controller->Queues[0];
    NTSTATUS status;
    KIRQL irql;

    queue->Depth = (USHORT)min(NVME_ADMIN_DEPTH, ControllerAdapterDepth(Controller));
    status = ControllerConnectQueue(Controller, queue);
    if (!NT_SUCCESS(status))
        return status;
    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->Info.ControllerId = (USHORT)Controller->Execute.Request.Result;
    KeReleaseSpinLock(&Controller->Lock, irql);
    if (Controller->Execute.Request.Result >> 16 & 0xFFFF)
        return NvmeControllerReason(Controller, STATUS_NOT_SUPPORTED, "the target requires authentication");
    return STATUS_SUCCESS;
}

/* ---- Enable and identify ----------------------------------------------------------------------------------------- */

/* Reads CSTS repeatedly until the bits in Mask have the value Wanted. Fails if that takes longer than Limit. */
static NTSTATUS ControllerWaitStatus(NVME_CONTROLLER *Controller, ULONG Mask, ULONG Wanted, ULONGLONG Limit)
{
    ULONGLONG deadline = KeQueryInterruptTime() + Limit, value;
    LARGE_INTEGER pause;
    NTSTATUS status;

    pause.QuadPart = -(LONGLONG)(NVME_SECOND / 50);
    for (;;) {
        status = ControllerGetProperty(Controller, NVME_PROPERTY_CSTS, NVME_PROPERTY_SIZE_4, &value);
        if (!NT_SUCCESS(status))
            return status;
        if (value & NVME_CSTS_FATAL)
            return NvmeControllerReason(Controller, STATUS_IO_DEVICE_ERROR, "the controller has failed");
        if ((value & Mask) == Wanted)
            return STATUS_SUCCESS;
        if (KeQueryInterruptTime() > deadline)
            return NvmeControllerReason(Controller, STATUS_IO_TIMEOUT, "the controller does not become ready");
        NvmeControllerServeParked(Controller);
        KeDelayExecutionThread(KernelMode, FALSE, &pause);
    }
}

static NTSTATUS ControllerEnable(NVME_CONTROLLER *Controller)
{
    ULONGLONG capabilities;
    ULONG pages;
    NTSTATUS status = ControllerGetProperty(Controller, NVME_PROPERTY_CAP, NVME_PROPERTY_SIZE_8, &capabilities);

    if (!NT_SUCCESS(status))
        return status;
    Controller->Capabilities = capabilities;
    pages = (ULONG)(capabilities >> NVME_CAP_MPSMIN_SHIFT) & 0xF;
    Controller->Configuration = NVME_CC_ENABLE | pages << MPS_SHIFT | ENTRY_SIZES;
    status = ControllerSetProperty(Controller, NVME_PROPERTY_CC, Controller->Configuration);
    if (!NT_SUCCESS(status))
        return status;
    return ControllerWaitStatus(Controller, NVME_CSTS_READY, NVME_CSTS_READY,
        ((capabilities >> NVME_CAP_TO_SHIFT & 0xFF) + 1) * (NVME_SECOND / 2));
}

/*
 * Returns the maximum transfer size that the setting, the adapter and the controller permit. One page of the adapter's
 * limit is reserved, because the data may begin inside a page.
 */
static ULONG ControllerMaxTransfer(const NVME_CONTROLLER *Controller, UCHAR Mdts)
{
    ULONG pages = min(NVME_PAGES, Controller->AdapterInfo.FRMRPageCount) - 1;
    ULONG limit = min(Controller->Settings.MaxTransfer, pages * PAGE_SIZE);
    ULONG shift = 12 + Mdts + ((ULONG)(Controller->Capabilities >> NVME_CAP_MPSMIN_SHIFT) & 0xF);

    return Mdts != 0 && shift < 31 ? min(limit, 1u << shift) : limit;
}

static VOID ControllerSetInCapsule(NVME_CONTROLLER *Controller, const struct nvme_identify_controller *Identify)
{
    ULONG offset = Identify->icdoff * NVME_CAPSULE_UNIT;
    ULONG begin = sizeof(struct nvme_command) + offset;

    Controller->InCapsule = 0;
    Controller->InCapsuleOffset = offset;
    if ((Identify->sgls & NVME_SGLS_OFFSET) && offset <= NVME_MAX_IN_CAPSULE &&
        Identify->ioccsz > begin / NVME_CAPSULE_UNIT && Identify->ioccsz <= MAXUSHORT)
        Controller->InCapsule = min(Identify->ioccsz * NVME_CAPSULE_UNIT - begin, NVME_MAX_IN_CAPSULE);
}

static NTSTATUS ControllerIdentify(NVME_CONTROLLER *Controller)
{
    const struct nvme_identify_controller *identify = (const struct nvme_identify_controller *)Controller->Page;
    NVME_CONTROLLER_INFO *info = &Controller->Info;
    NTSTATUS status = ControllerCheck(Controller, NvmeIdentify(Controller, NVME_CNS_CONTROLLER, 0));
    ULONG depth;
    KIRQL irql;

    if (!NT_SUCCESS(status))
        return status;
    if (!(identify->sgls & NVME_SGLS_KEYED))
        return NvmeControllerReason(Controller, STATUS_NOT_SUPPORTED, "the controller has no keyed SGLs");
    ControllerSetInCapsule(Controller, identify);
    depth = min(Controller->Settings.QueueDepth, ControllerAdapterDepth(Controller));
    depth = min(depth, (ULONG)(Controller->Capabilities & NVME_CAP_MQES_MASK));
    if (identify->maxcmd)
        depth = min(depth, identify->maxcmd);
    Controller->IoDepth = max(depth, 1);
    KeAcquireSpinLock(&Controller->Lock, &irql);
    info->QueueDepth = Controller->IoDepth;
    info->InCapsule = Controller->InCapsule;
    info->MaxTransfer = ControllerMaxTransfer(Controller, identify->mdts);
    RtlCopyMemory(info->SerialNumber, identify->sn, sizeof(info->SerialNumber));
    RtlCopyMemory(info->ModelNumber, identify->mn, sizeof(info->ModelNumber));
    RtlCopyMemory(info->FirmwareRevision, identify->fr, sizeof(info->FirmwareRevision));
    info->WriteCache = (identify->vwc & NVME_VWC_PRESENT) != 0;
    info->OptionalCommands = identify->oncs;
    Controller->EventsSupported = (identify->oaes & NVME_EVENT_NAMESPACE_CHANGED) != 0;
    KeReleaseSpinLock(&Controller->Lock, irql);
    return STATUS_SUCCESS;
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static NTSTATUS ControllerConnectIo(NVME_CONTROLLER *Controller)
{
    ULONG wanted = Controller->Settings.IoQueues, granted, i;
    NTSTATUS status = ControllerCheck(Controller, NvmeSetFeature(Controller, NVME_FEATURE_QUEUES,
        (wanted - 1) | (wanted - 1) << 16));

    if (!NT_SUCCESS(status))
        return status;
    granted = (ULONG)Controller->Execute.Request.Result;
    Controller->QueueCount = min(wanted, min(granted & 0xFFFF, granted >> 16) + 1);
    for (i = 1; i <= Controller->QueueCount && NT_SUCCESS(status); i++) {
        NVME_QUEUE *queue = &Controller->Queues[i];

        queue->Depth = (USHORT)Controller->IoDepth;
        queue->InCapsule = Controller->InCapsule;
        queue->InCapsuleOffset = Controller->InCapsuleOffset;
        status = ControllerConnectQueue(Controller, queue);
    }
    return status;
}

NTSTATUS NvmeControllerConnect(NVME_CONTROLLER *Controller)
{
    NTSTATUS status = ControllerOpenAdapter(Controller);

    if (NT_SUCCESS(status))
        status = ControllerConnectAdmin(Controller);
    if (NT_SUCCESS(status))
        status = ControllerEnable(Controller);
    if (NT_SUCCESS(status))
        status = ControllerIdentify(Controller);
    if (!NT_SUCCESS(status) || (Controller->Flags & NVME_CREATE_DISCOVERY))
        return status;
    status = ControllerConnectIo(Controller);
    if (NT_SUCCESS(status))
        status = NvmeEventsStart(Controller);
    if (NT_SUCCESS(status))
        status = NvmeScanNamespaces(Controller);
    return status;
}

NTSTATUS NvmeControllerShutDown(NVME_CONTROLLER *Controller)
{
    NTSTATUS status = ControllerSetProperty(Controller, NVME_PROPERTY_CC,
        Controller->Configuration | NVME_CC_SHUTDOWN_NORMAL);

    if (NT_SUCCESS(status))
        status = ControllerWaitStatus(Controller, NVME_CSTS_SHUTDOWN_MASK, NVME_CSTS_SHUTDOWN_DONE,
            NVME_CLOSE_SECONDS * NVME_SECOND);
    return status;
}
