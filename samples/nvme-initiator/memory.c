/* SPDX-License-Identifier: MIT */
/*
 * Manages the memory of a queue. Capsules and responses are in one block, which is registered while the queue exists.
 * The target has no access to this block. The data of a command are registered in the slot's region, but only while the
 * command is at the target:
 *
 *   NvmeSlotMap         NdkBuildLAM: the addresses of the pages
 *   NvmeSlotSend        NdkFastRegister, which gives the region a new token, then NdkSend with the token in the capsule
 *   NvmeSlotInvalidate  NdkInvalidate, only if the target's response has not invalidated the token
 *   NvmeSlotUnmap       NdkReleaseLAM
 *
 * The target receives only the access right that the command needs. The address that it receives reveals nothing about
 * this machine: each region has the base address PAGE_SIZE plus the offset of the data in their first page.
 *
 * If the controller supports it, the data of a small write are sent in the capsule and are not registered.
 */
#include "nvmendk.h"

static ULONG QueueResponseOffset(const NVME_QUEUE *Queue)
{
    return Queue->Depth * Queue->CapsuleSize;
}

static NTSTATUS QueueAllocateMessages(NVME_QUEUE *Queue)
{
    ULONG size;

    Queue->CapsuleSize = sizeof(struct nvme_command);
    if (Queue->InCapsule)
        Queue->CapsuleSize += Queue->InCapsuleOffset + Queue->InCapsule;
    size = QueueResponseOffset(Queue) + (Queue->Depth + 1) * sizeof(struct nvme_completion);
    Queue->Messages = ExAllocatePoolWithTag(NonPagedPoolNx, size, NVME_TAG);
    if (!Queue->Messages)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(Queue->Messages, size);
    Queue->MessagesMdl = IoAllocateMdl(Queue->Messages, size, FALSE, FALSE, NULL);
    if (!Queue->MessagesMdl)
        return STATUS_INSUFFICIENT_RESOURCES;
    MmBuildMdlForNonPagedPool(Queue->MessagesMdl);
    return STATUS_SUCCESS;
}

static NTSTATUS QueueRegisterMessages(NVME_QUEUE *Queue)
{
    NDK_PD *pd = Queue->Pd;
    NVME_WAIT wait;
    NTSTATUS status;

    NvmeWaitInitialize(&wait);
    status = NvmeWaitFor(&wait, pd->Dispatch->NdkCreateMr(pd, FALSE, NvmeCreated, &wait, &Queue->MessagesMr),
        (PVOID *)&Queue->MessagesMr);
    if (NT_SUCCESS(status))
        status = NvmeWaitFor(&wait, Queue->MessagesMr->Dispatch->NdkRegisterMr(Queue->MessagesMr, Queue->MessagesMdl,
            MmGetMdlByteCount(Queue->MessagesMdl), NDK_MR_FLAG_ALLOW_LOCAL_WRITE, NvmeCompleted, &wait), NULL);
    if (NT_SUCCESS(status))
        Queue->MessagesToken = Queue->MessagesMr->Dispatch->NdkGetLocalTokenFromMr(Queue->MessagesMr);
    return status;
}

static NTSTATUS SlotCreateRegion(NVME_SLOT *Slot)
{
    NDK_PD *pd = Slot->Queue->Pd;
    NVME_WAIT wait;
    NTSTATUS status;

    NvmeWaitInitialize(&wait);
    status = NvmeWaitFor(&wait, pd->Dispatch->NdkCreateMr(pd, TRUE, NvmeCreated, &wait, &Slot->Mr),
        (PVOID *)&Slot->Mr);
    if (NT_SUCCESS(status))
        status = NvmeWaitFor(&wait, Slot->Mr->Dispatch->NdkInitializeFastRegisterMr(Slot->Mr,
            min(NVME_PAGES, Slot->Queue->Controller->AdapterInfo.FRMRPageCount), TRUE, NvmeCompleted, &wait), NULL);
    return status;
}

static NTSTATUS QueueCreateSlots(NVME_QUEUE *Queue)
{
    SIZE_T size = Queue->Depth * sizeof(NVME_SLOT);
    NTSTATUS status = STATUS_SUCCESS;
    USHORT i;

    Queue->Slots = ExAllocatePoolWithTag(NonPagedPoolNx, size, NVME_TAG);
    if (!Queue->Slots)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(Queue->Slots, size);
    for (i = 0; i < Queue->Depth && NT_SUCCESS(status); i++) {
        Queue->Slots[i].Queue = Queue;
        Queue->Slots[i].Index = i;
        InsertTailList(&Queue->Free, &Queue->Slots[i].Link);
        status = SlotCreateRegion(&Queue->Slots[i]);
    }
    return status;
}

NTSTATUS NvmeQueueCreateMemory(NVME_QUEUE *Queue)
{
    NTSTATUS status = QueueAllocateMessages(Queue);

    if (NT_SUCCESS(status))
        status = QueueRegisterMessages(Queue);
    if (NT_SUCCESS(status))
        status = QueueCreateSlots(Queue);
    return status;
}

VOID NvmeQueueCloseRegions(NVME_QUEUE *Queue)
{
    ULONG i;

    for (i = 0; Queue->Slots && i < Queue->Depth; i++) {
        NVME_SLOT *slot = &Queue->Slots[i];

        if (slot->Mr)
            NvmeClose(&slot->Mr->Header, slot->Mr->Dispatch->NdkCloseMr);
        slot->Mr = NULL;
        slot->Registered = FALSE;
    }
    if (Queue->MessagesMr)
        NvmeClose(&Queue->MessagesMr->Header, Queue->MessagesMr->Dispatch->NdkCloseMr);
    Queue->MessagesMr = NULL;
}

VOID NvmeQueueFreeMemory(NVME_QUEUE *Queue)
{
    NVME_SLOT *slots = Queue->Slots;
    KIRQL irql;

    KeAcquireSpinLock(&Queue->Lock, &irql); /* the lock is necessary because NvmeQueueAbort reads the slots */
    Queue->Slots = NULL;
    InitializeListHead(&Queue->Free);
    KeReleaseSpinLock(&Queue->Lock, irql);
    if (slots)
        ExFreePoolWithTag(slots, NVME_TAG);
    if (Queue->MessagesMdl)
        IoFreeMdl(Queue->MessagesMdl);
    if (Queue->Messages)
        ExFreePoolWithTag(Queue->Messages, NVME_TAG);
    Queue->MessagesMdl = NULL;
    Queue->Messages = NULL;
}

/* ---- Receives ---------------------------------------------------------------------------------------------------- */

static NDK_SGE QueueSge(const NVME_QUEUE *Queue, PVOID Address, ULONG Length)
{
    NDK_SGE sge;

    RtlZeroMemory(&sge, sizeof(sge));
    sge.VirtualAddress = Address;
    sge.Length = Length;
    sge.MemoryRegionToken = Queue->MessagesToken;
    return sge;
}

NTSTATUS NvmeQueuePostReceive(NVME_QUEUE *Queue, struct nvme_completion *Response)
{
    NDK_SGE sge = QueueSge(Queue, Response, sizeof(*Response));

    return Queue->Qp->Dispatch->NdkReceive(Queue->Qp, Response, &sge, 1);
}

NTSTATUS NvmeQueuePostReceives(NVME_QUEUE *Queue)
{
    struct nvme_completion *responses = (struct nvme_completion *)(Queue->Messages + QueueResponseOffset(Queue));
    NTSTATUS status = STATUS_SUCCESS;
    ULONG i;

    for (i = 0; i <= Queue->Depth && NT_SUCCESS(status); i++)
        status = NvmeQueuePostReceive(Queue, &responses[i]);
    return status;
}

/* ---- The data of a command --------------------------------------------------------------------------------------- */

/* Returns the address of the data if they must be copied into the capsule; otherwise returns NULL. */
static PVOID SlotCapsuleData(const NVME_SLOT *Slot)
{
    const NVME_REQUEST *request = Slot->Request;
    PUCHAR data = request->Buffer;

    if (request->Direction != NvmeToController || request->Length > Slot->Queue->InCapsule)
        return NULL;
    if (request->Mdl && MmGetMdlByteCount(request->Mdl) < request->Offset + request->Length)
        return NULL; /* data in several chained MDLs are registered, not copied */
    if (request->Mdl)
        data = MmGetSystemAddressForMdlSafe(request->Mdl, NormalPagePriority | MdlMappingNoExecute);
    return data ? data + request->Offset : NULL;
}

NTSTATUS NvmeSlotMap(NVME_SLOT *Slot)
{
    NVME_REQUEST *request = Slot->Request;
    NDK_ADAPTER *adapter = Slot->Queue->Adapter;
    MDL *mdl = request->Mdl;
    ULONG size = request->Offset + request->Length; /* the mapping also covers the bytes in front of the data */

    if (request->Direction == NvmeNoData)
        return STATUS_SUCCESS;
    if (request->Length == 0 || request->Length > Slot->Queue->Controller->Info.MaxTransfer ||
        request->Offset > NVME_MAX_TRANSFER - request->Length)
        return STATUS_INVALID_BUFFER_SIZE;
    Slot->CapsuleData = SlotCapsuleData(Slot);
    if (Slot->CapsuleData)
        return STATUS_SUCCESS;
    if (!mdl) {
        mdl = &Slot->Mdl;
        MmInitializeMdl(mdl, request->Buffer, size);
        MmBuildMdlForNonPagedPool(mdl);
    }
    Slot->Mapped = TRUE;
    Slot->MappingSize = sizeof(Slot->MappingRoom);
    return adapter->Dispatch->NdkBuildLAM(adapter, mdl, size, NvmeSlotMapped, Slot, &Slot->Mapping,
        &Slot->MappingSize, &Slot->Offset);
}

VOID NvmeSlotUnmap(NVME_SLOT *Slot)
{
    NDK_ADAPTER *adapter = Slot->Queue->Adapter;

    if (Slot->Mapped)
        adapter->Dispatch->NdkReleaseLAM(adapter, &Slot->Mapping);
    Slot->Mapped = FALSE;
    Slot->CapsuleData = NULL;
}

/*
 * Posts the registration of the mapped pages that contain the data, and describes the data for the target. The adapter
 * may defer the registration until the send, which is posted next. The registration is silent, because a successful
 * send shows that the registration has succeeded.
 */
static NTSTATUS SlotRegister(NVME_SLOT *Slot, struct nvme_sgl *Sgl)
{
    NDK_QP *qp = Slot->Queue->Qp;
    const NVME_REQUEST *request = Slot->Request;
    ULONG right = request->Direction == NvmeToController ? NDK_OP_FLAG_ALLOW_REMOTE_READ
                                                         : NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
    ULONG page = (Slot->Offset + request->Offset) / PAGE_SIZE, offset = (Slot->Offset + request->Offset) % PAGE_SIZE;
    PVOID base = (PVOID)(ULONG_PTR)(PAGE_SIZE + offset);
    NTSTATUS status = qp->Dispatch->NdkFastRegister(qp, Slot, Slot->Mr, Slot->Mapping.AdapterPageCount - page,
        Slot->Mapping.AdapterPageArray + page, offset, request->Length, base,
        right | NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER);

    if (!NT_SUCCESS(status))
        return status;
    Slot->Registered = TRUE;
    Slot->Token = Slot->Mr->Dispatch->NdkGetRemoteTokenFromMr(Slot->Mr); /* each registration has a new token */
    Sgl->kind = NVME_SGL_KIND_HOST;
    Sgl->address = (ULONG_PTR)base;
    Sgl->length = request->Length;
    Sgl->key = Slot->Token;
    Sgl->invalidate = TRUE;
    return STATUS_SUCCESS;
}

/* Copies the data of a small write into the capsule, behind the command. */
static VOID SlotCopyToCapsule(NVME_SLOT *Slot, PUCHAR Capsule, struct nvme_sgl *Sgl)
{
    NVME_QUEUE *queue = Slot->Queue;

    RtlCopyMemory(Capsule + sizeof(struct nvme_command) + queue->InCapsuleOffset, Slot->CapsuleData,
        Slot->Request->Length);
    Sgl->kind = NVME_SGL_KIND_CAPSULE;
    Sgl->address = queue->InCapsuleOffset;
    Sgl->length = Slot->Request->Length;
}

NTSTATUS NvmeSlotSend(NVME_SLOT *Slot)
{
    NVME_QUEUE *queue = Slot->Queue;
    PUCHAR capsule = queue->Messages + Slot->Index * queue->CapsuleSize;
    struct nvme_command command = Slot->Request->Command;
    struct nvme_sgl sgl = { 0 };
    ULONG length = sizeof(command);
    NTSTATUS status = STATUS_SUCCESS;
    NDK_SGE sge;

    command.cid = Slot->CommandId;
    command.flags = NVME_FLAGS_SGL;
    if (Slot->CapsuleData) {
        SlotCopyToCapsule(Slot, capsule, &sgl);
        length += queue->InCapsuleOffset + sgl.length;
    } else if (Slot->Mapped) {
        status = SlotRegister(Slot, &sgl);
    }
    if (!NT_SUCCESS(status))
        return status;
    if (sgl.length)
        nvme_sgl_build(&command.sgl, &sgl);
    else
        nvme_sgl_build_empty(&command.sgl);
    RtlCopyMemory(capsule, &command, sizeof(command));
    sge = QueueSge(queue, capsule, length);
    return queue->Qp->Dispatch->NdkSend(queue->Qp, Slot, &sge, 1, 0);
}

NTSTATUS NvmeSlotInvalidate(NVME_SLOT *Slot)
{
    NDK_QP *qp = Slot->Queue->Qp;

    return qp->Dispatch->NdkInvalidate(qp, Slot, &Slot->Mr->Header, 0);
}
