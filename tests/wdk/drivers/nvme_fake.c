/* SPDX-License-Identifier: MIT */
/*
 * The lower part of the NVMe initiator as its upper part sees it (nvmedrv.h), without a network: each controller has
 * namespaces in memory, and completes requests at once or never (nvme_fake.h).
 */
#include "nvme-initiator/nvmeport.h"
#include "nvme_fake.h"

#define FAKE_MAX_NAMESPACES 3

struct _NVME_CONTROLLER {
    LONG References;
    NVME_CREATE Create;
    KSPIN_LOCK Lock;
    LIST_ENTRY Held;
    BOOLEAN Holding, SlowAborts, LateAborts, ResetBus;
    LONG AbortLater; /* the namespace whose requests the thread has to end */
    NVME_STATE State;
    ULONG Listed;
    ULONGLONG Blocks;
    UCHAR Uuid; /* first byte of each namespace's UUID */
    ULONG NextAnswer; /* see FAKE_ANSWER */
    ULONG MaxTransfer;
    NTSTATUS NextBreak;
    PETHREAD Thread;
    KEVENT Wake; /* Changed has to be called, or the thread has to end */
    LONG Stopping;
    LONG Resets;
    UCHAR Data[FAKE_MAX_NAMESPACES][FAKE_BLOCKS * FAKE_BLOCK];
};

/* ---- Settings, provider, discovery ------------------------------------------------------------------------------- */

VOID NvmeReadSettings(PUNICODE_STRING RegistryPath, NVME_SETTINGS *Settings)
{
    UNREFERENCED_PARAMETER(RegistryPath);
    RtlZeroMemory(Settings, sizeof(*Settings));
    Settings->MaxTransfer = NVME_MAX_TRANSFER;
    Settings->TargetCount = 1;
    NvmeParseTarget(L"127.0.0.1:4420", "nqn.fake", &Settings->Targets[0]);
}

NTSTATUS NvmeParseTarget(PCWSTR Address, PCSTR Subsystem, NVME_TARGET *Target)
{
    USHORT port;

    RtlZeroMemory(Target, sizeof(*Target));
    Target->Address.si_family = AF_INET;
    if (!NT_SUCCESS(RtlIpv4StringToAddressExW(Address, TRUE, &Target->Address.Ipv4.sin_addr, &port)) || !*Subsystem)
        return STATUS_INVALID_PARAMETER;
    Target->Address.Ipv4.sin_port = port ? port : RtlUshortByteSwap(4420);
    strcpy(Target->Subsystem, Subsystem);
    return STATUS_SUCCESS;
}

NTSTATUS NvmeProviderRegister(VOID)
{
    return STATUS_SUCCESS;
}

VOID NvmeProviderDeregister(VOID)
{
    DbgPrint("fake: deregistered\n");
}

NTSTATUS NvmeDiscover(const NVME_TARGET *Target, const NVME_SETTINGS *Settings, struct nvme_discovery_entry *Entries,
    ULONG *Count)
{
    ULONG i;

    UNREFERENCED_PARAMETER(Target);
    UNREFERENCED_PARAMETER(Settings);
    for (i = 0; i < 2 && i < *Count; i++) {
        RtlZeroMemory(&Entries[i], sizeof(Entries[i]));
        Entries[i].subtype = i ? NVME_SUBTYPE_NVM : NVME_SUBTYPE_DISCOVERY;
        Entries[i].adrfam = i ? NVME_ADRFAM_IPV6 : NVME_ADRFAM_IPV4;
        memset(Entries[i].traddr, i ? 'f' : '1', sizeof(Entries[i].traddr)); /* a hostile target: no terminator */
        memset(Entries[i].subnqn, 'n', sizeof(Entries[i].subnqn));
        Entries[i].subnqn[1] = '\033';
        RtlCopyMemory(Entries[i].trsvcid, "4420    ", 8);
    }
    *Count = 2;
    return STATUS_SUCCESS;
}

/* ---- Controllers ------------------------------------------------------------------------------------------------- */

VOID NvmeControllerReference(NVME_CONTROLLER *Controller)
{
    InterlockedIncrement(&Controller->References);
}

VOID NvmeControllerRelease(NVME_CONTROLLER *Controller)
{
    if (InterlockedDecrement(&Controller->References) == 0)
        ExFreePoolWithTag(Controller, NVME_TAG);
}

static VOID Complete(NVME_REQUEST *Request, NTSTATUS Status, USHORT NvmeStatus)
{
    Request->Status = Status;
    Request->NvmeStatus = NvmeStatus;
    Request->Result = 0;
    Request->Completion(Request);
}

/* Ends the held requests of a namespace, or of all, outside of the lock. */
static VOID EndHeld(NVME_CONTROLLER *Controller, ULONG NamespaceId, NTSTATUS Status)
{
    LIST_ENTRY ended, *entry, *next;
    KIRQL irql;

    InitializeListHead(&ended);
    KeAcquireSpinLock(&Controller->Lock, &irql);
    for (entry = Controller->Held.Flink; entry != &Controller->Held; entry = next) {
        NVME_REQUEST *request = CONTAINING_RECORD(entry, NVME_REQUEST, Link);

        next = entry->Flink;
        if (NamespaceId != NVME_ALL_NAMESPACES && request->Command.nsid != NamespaceId)
            continue;
        RemoveEntryList(entry);
        InsertTailList(&ended, entry);
    }
    KeReleaseSpinLock(&Controller->Lock, irql);
    while (!IsListEmpty(&ended))
        Complete(CONTAINING_RECORD(RemoveHeadList(&ended), NVME_REQUEST, Link), Status, 0);
}

static VOID ControllerThread(PVOID Context)
{
    NVME_CONTROLLER *controller = Context;

    for (;;) {
        ULONG aborted;

        KeWaitForSingleObject(&controller->Wake, Executive, KernelMode, FALSE, NULL);
        if (InterlockedOr(&controller->Stopping, 0))
            break;
        aborted = (ULONG)InterlockedExchange(&controller->AbortLater, 0);
        if (aborted)
            EndHeld(controller, aborted, STATUS_CANCELLED);
        controller->Create.Changed(controller, controller->Create.Context);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

NTSTATUS NvmeControllerCreate(const NVME_CREATE *Create, NVME_CONTROLLER **Controller)
{
    NVME_CONTROLLER *controller;
    HANDLE thread;

    if (strstr(Create->Target.Subsystem, "refused") && !(Create->Flags & NVME_CREATE_RETRY))
        return STATUS_CONNECTION_REFUSED;
    controller = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*controller), NVME_TAG);
    RtlZeroMemory(controller, sizeof(*controller));
    controller->References = 1;
    controller->Create = *Create;
    controller->State = strstr(Create->Target.Subsystem, "refused") ? NvmeStateConnecting : NvmeStateLive;
    controller->Listed = controller->State == NvmeStateLive;
    controller->Blocks = FAKE_BLOCKS;
    controller->MaxTransfer = NVME_MAX_TRANSFER;
    KeInitializeSpinLock(&controller->Lock);
    InitializeListHead(&controller->Held);
    KeInitializeEvent(&controller->Wake, SynchronizationEvent, FALSE);
    PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, NULL, NULL, NULL, ControllerThread, controller);
    ObReferenceObjectByHandle(thread, THREAD_ALL_ACCESS, NULL, KernelMode, (PVOID *)&controller->Thread, NULL);
    ZwClose(thread);
    if (controller->State == NvmeStateLive)
        controller->Create.Changed(controller, controller->Create.Context);
    *Controller = controller;
    return Create->Flags & NVME_CREATE_RETRY ? STATUS_PENDING : STATUS_SUCCESS;
}

VOID NvmeControllerWait(NVME_CONTROLLER *Controller, ULONGLONG Deadline)
{
    UNREFERENCED_PARAMETER(Controller);
    UNREFERENCED_PARAMETER(Deadline);
}

VOID NvmeControllerDelete(NVME_CONTROLLER *Controller)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->State = NvmeStateDeleting;
    KeReleaseSpinLock(&Controller->Lock, irql);
    InterlockedExchange(&Controller->Stopping, TRUE);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
    KeWaitForSingleObject(Controller->Thread, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(Controller->Thread);
    EndHeld(Controller, NVME_ALL_NAMESPACES, STATUS_DELETE_PENDING);
    NvmeControllerRelease(Controller);
}

/* The held requests succeed, and later requests are not held. */
static VOID EndHeldLate(NVME_CONTROLLER *Controller, ULONG NamespaceId)
{
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    Controller->Holding = FALSE;
    KeReleaseSpinLock(&Controller->Lock, irql);
    EndHeld(Controller, NamespaceId, STATUS_SUCCESS);
}

LONG NvmeControllerResets(const NVME_CONTROLLER *Controller)
{
    return ReadNoFence(&Controller->Resets);
}

VOID NvmeControllerReset(NVME_CONTROLLER *Controller)
{
    InterlockedIncrement(&Controller->Resets);
    if (Controller->LateAborts)
        EndHeldLate(Controller, NVME_ALL_NAMESPACES);
    else
        EndHeld(Controller, NVME_ALL_NAMESPACES, STATUS_CANCELLED);
}

ULONG NvmeControllerMaxTransfer(NVME_CONTROLLER *Controller)
{
    ULONG bytes;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    bytes = Controller->MaxTransfer;
    KeReleaseSpinLock(&Controller->Lock, irql);
    return bytes;
}

VOID NvmeControllerQuery(NVME_CONTROLLER *Controller, NVME_CONTROLLER_INFO *Info)
{
    KIRQL irql;

    RtlZeroMemory(Info, sizeof(*Info));
    KeAcquireSpinLock(&Controller->Lock, &irql);
    Info->State = Controller->State;
    Info->MaxTransfer = Controller->MaxTransfer;
    KeReleaseSpinLock(&Controller->Lock, irql);
    strcpy(Info->LastReason, "none");
    Info->Target = Controller->Create.Target;
    Info->WriteCache = TRUE;
    Info->OptionalCommands = NVME_ONCS_COMPARE | NVME_ONCS_DATASET | NVME_ONCS_WRITE_ZEROES;
    Info->QueueCount = 1;
    memset(Info->SerialNumber, ' ', sizeof(Info->SerialNumber));
    memset(Info->ModelNumber, ' ', sizeof(Info->ModelNumber));
    memset(Info->FirmwareRevision, ' ', sizeof(Info->FirmwareRevision));
    RtlCopyMemory(Info->SerialNumber, "FAKE", 4);
    RtlCopyMemory(Info->ModelNumber, "Fake", 4);
    Info->NamespaceCount = NvmeControllerNamespaces(Controller, NULL, 0);
}

ULONG NvmeControllerNamespaces(NVME_CONTROLLER *Controller, NVME_NAMESPACE *Namespaces, ULONG Count)
{
    ULONG i, count = 0;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    for (i = 0; i < FAKE_MAX_NAMESPACES; i++) {
        if (!(Controller->Listed >> i & 1))
            continue;
        if (count < Count) {
            RtlZeroMemory(&Namespaces[count], sizeof(Namespaces[count]));
            Namespaces[count].Id = i + 1;
            Namespaces[count].BlockShift = 9;
            Namespaces[count].Uuid[0] = Controller->Uuid;
            Namespaces[count].Blocks = i ? FAKE_BLOCKS : Controller->Blocks;
        }
        count++;
    }
    KeReleaseSpinLock(&Controller->Lock, irql);
    return count;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

/* Lock is held. */
static VOID Obey(NVME_CONTROLLER *Controller, const struct fake_order *Order)
{
    switch (Order->action) {
    case FAKE_HOLD:
        Controller->Holding = TRUE;
        break;
    case FAKE_RELEASE:
        Controller->Holding = FALSE;
        break;
    case FAKE_SLOW_ABORTS:
        Controller->SlowAborts = TRUE;
        break;
    case FAKE_LATE_ABORTS:
        Controller->LateAborts = TRUE;
        break;
    case FAKE_NAMESPACES:
        Controller->Listed = Order->value;
        break;
    case FAKE_GROW:
        Controller->Blocks = Order->value;
        break;
    case FAKE_STATE:
        Controller->State = (NVME_STATE)Order->value;
        break;
    case FAKE_REPLACE:
        Controller->Uuid = (UCHAR)Order->value;
        Controller->State = NvmeStateReconnecting;
        break;
    case FAKE_ANSWER:
        Controller->NextAnswer = Order->value;
        break;
    case FAKE_LIMIT:
        Controller->MaxTransfer = Order->value;
        break;
    case FAKE_LIMIT_LATE:
        Controller->MaxTransfer = Order->value;
        return;
    case FAKE_RESET_BUS:
        Controller->ResetBus = TRUE;
        return;
    case FAKE_BREAK:
        Controller->NextBreak = (NTSTATUS)Order->value;
        break;
    }
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
}

/* Lock is held. */
static VOID ReportState(NVME_CONTROLLER *Controller, struct fake_state *State)
{
    const LIST_ENTRY *entry;

    State->outstanding = 0;
    for (entry = Controller->Held.Flink; entry != &Controller->Held; entry = entry->Flink)
        State->outstanding++;
}

/* Executes the command and returns its NVMe status. Lock is held. */
static USHORT Execute(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    const struct nvme_command *command = &Request->Command;
    UCHAR *block = Controller->Data[command->nsid - 1] + command->io.lba * FAKE_BLOCK;
    PUCHAR base = Request->Mdl ? MmGetSystemAddressForMdlSafe(Request->Mdl, NormalPagePriority) : Request->Buffer;
    PUCHAR data = base + Request->Offset;
    const struct fake_order *order = (const struct fake_order *)data;
    const struct nvme_dataset_range *range = (const struct nvme_dataset_range *)data;
    ULONG length = (command->io.blocks + 1) * FAKE_BLOCK;

    if ((command->opcode == NVME_IO_READ || command->opcode == NVME_IO_WRITE || command->opcode == NVME_IO_COMPARE) &&
        Request->Length != length)
        return NVME_INVALID_FIELD | NVME_DNR;
    switch (command->opcode) {
    case NVME_IO_READ:
        RtlCopyMemory(data, block, length);
        if (command->nsid == 1 && command->io.lba == FAKE_ORDER_LBA)
            ReportState(Controller, (struct fake_state *)data);
        return 0;
    case NVME_IO_WRITE:
        if (command->nsid == 1 && command->io.lba == FAKE_ORDER_LBA && order->magic == FAKE_MAGIC)
            Obey(Controller, order);
        else
            RtlCopyMemory(block, data, length);
        return 0;
    case NVME_IO_COMPARE:
        return memcmp(block, data, length) ? NVME_COMPARE_FAILURE | NVME_DNR : 0;
    case NVME_IO_WRITE_ZEROES:
        RtlZeroMemory(block, length);
        return 0;
    case NVME_IO_DATASET_MANAGEMENT:
        RtlFillMemory(Controller->Data[command->nsid - 1] + range->lba * FAKE_BLOCK, range->blocks * FAKE_BLOCK, 0xdd);
        return 0;
    case NVME_IO_FLUSH:
        return 0;
    default:
        return NVME_INVALID_OPCODE | NVME_DNR;
    }
}

/* Returns the NVMe status with which the request must fail, or 0. Lock is held. */
static USHORT OrderedAnswer(NVME_CONTROLLER *Controller)
{
    USHORT answer = 0;

    if (Controller->NextAnswer >> 16) {
        Controller->NextAnswer -= 1 << 16;
    } else {
        answer = (USHORT)Controller->NextAnswer;
        Controller->NextAnswer = 0;
    }
    return answer;
}

VOID NvmeSubmit(NVME_CONTROLLER *Controller, NVME_REQUEST *Request)
{
    NTSTATUS status = STATUS_SUCCESS;
    USHORT nvmeStatus = 0;
    BOOLEAN resetBus;
    KIRQL irql;

    KeAcquireSpinLock(&Controller->Lock, &irql);
    if (Controller->State == NvmeStateDeleting) {
        status = STATUS_DELETE_PENDING;
    } else if (Request->Resets != NvmeControllerResets(Controller)) {
        status = STATUS_CANCELLED;
    } else if (Controller->Holding && Request->Command.io.lba != FAKE_ORDER_LBA) {
        InsertTailList(&Controller->Held, &Request->Link);
        status = STATUS_PENDING;
    } else if (Controller->NextBreak) {
        status = Controller->NextBreak;
        Controller->NextBreak = 0;
    } else if (Request->Direction != NvmeNoData && Request->Length > Controller->MaxTransfer) {
        status = STATUS_INVALID_BUFFER_SIZE;
    } else {
        nvmeStatus = OrderedAnswer(Controller);
        if (!nvmeStatus)
            nvmeStatus = Execute(Controller, Request);
        if (nvmeStatus)
            status = STATUS_IO_DEVICE_ERROR;
    }
    resetBus = Controller->ResetBus;
    Controller->ResetBus = FALSE;
    KeReleaseSpinLock(&Controller->Lock, irql);
    if (resetBus)
        NvmeResetBus(((NVME_DISK_GROUP *)Controller->Create.Context)->Adapter, 0);
    if (status != STATUS_PENDING)
        Complete(Request, status, nvmeStatus);
}

VOID NvmeAbortAll(NVME_CONTROLLER *Controller, ULONG NamespaceId)
{
    if (Controller->LateAborts) {
        EndHeldLate(Controller, NamespaceId);
        return;
    }
    if (!Controller->SlowAborts) {
        EndHeld(Controller, NamespaceId, STATUS_CANCELLED);
        return;
    }
    InterlockedExchange(&Controller->AbortLater, (LONG)NamespaceId);
    KeSetEvent(&Controller->Wake, IO_NO_INCREMENT, FALSE);
}
