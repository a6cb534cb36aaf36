/* SPDX-License-Identifier: MIT */
/*
 * Manages the adapter's disks. A group of disks is one SCSI target. It exists from NvmeDisksConnect until it was
 * removed from the table and its last SRB has completed. A disk keeps its LUN while the controller lists the disk's
 * namespace. During a reconnect the disks remain, and their requests wait in the lower part of the driver. If a
 * namespace has other identifiers afterwards, the old disk is removed, its requests fail, and the new disk receives
 * another LUN.
 *
 * Invariant: from NvmeDisksBegin to NvmeDisksEnd, Outstanding counts the SRB, and the SRB has a reference to the group.
 * So the memory of group and controller remains valid until every completion routine has returned.
 */
#include "nvmeport.h"

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Adapter->Lock is held. */
static NVME_DISK_GROUP *FindGroup(NVME_ADAPTER *Adapter, ULONG TargetId)
{
    NVME_DISK_GROUP *group = TargetId < NVME_MAX_GROUPS ? Adapter->Groups[TargetId] : NULL;

    if (group)
        InterlockedIncrement(&group->References);
    return group;
}

NVME_DISK_GROUP *NvmeDisksReference(NVME_ADAPTER *Adapter, ULONG TargetId)
{
    NVME_DISK_GROUP *group;
    KIRQL irql;

    KeAcquireSpinLock(&Adapter->Lock, &irql);
    group = FindGroup(Adapter, TargetId);
    KeReleaseSpinLock(&Adapter->Lock, irql);
    return group;
}

NVME_CONTROLLER *NvmeDisksController(NVME_DISK_GROUP *Group)
{
    NVME_CONTROLLER *controller;
    KIRQL irql;

    KeAcquireSpinLock(&Group->Adapter->Lock, &irql);
    controller = Group->Controller;
    KeReleaseSpinLock(&Group->Adapter->Lock, irql);
    return controller;
}

VOID NvmeDisksRelease(NVME_DISK_GROUP *Group)
{
    if (InterlockedDecrement(&Group->References))
        return;
    if (Group->Controller)
        NvmeControllerRelease(Group->Controller);
    ExFreePoolWithTag(Group, NVME_TAG);
}

static BOOLEAN IsSameTarget(const NVME_TARGET *One, const NVME_TARGET *Other)
{
    return RtlCompareMemory(&One->Address, &Other->Address, sizeof(One->Address)) == sizeof(One->Address) &&
        strcmp(One->Subsystem, Other->Subsystem) == 0;
}

/*
 * Inserts the group into the table. Refuses a target that the table contains already, because each of its disks would
 * then appear twice, with two file systems that overwrite each other.
 */
static NTSTATUS InsertGroup(NVME_DISK_GROUP *Group)
{
    NVME_ADAPTER *adapter = Group->Adapter;
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    KIRQL irql;
    ULONG i;

    KeAcquireSpinLock(&adapter->Lock, &irql);
    for (i = NVME_MAX_GROUPS; i-- > 0;) {
        if (adapter->Groups[i] && IsSameTarget(&adapter->Groups[i]->Target, &Group->Target)) {
            status = STATUS_OBJECT_NAME_COLLISION;
            break;
        }
        if (!adapter->Groups[i]) {
            Group->TargetId = (UCHAR)i; /* the last assignment is the lowest free index */
            status = STATUS_SUCCESS;
        }
    }
    if (NT_SUCCESS(status))
        adapter->Groups[Group->TargetId] = Group;
    KeReleaseSpinLock(&adapter->Lock, irql);
    return status;
}

static NVME_DISK_GROUP *RemoveGroup(NVME_ADAPTER *Adapter, ULONG TargetId)
{
    NVME_DISK_GROUP *group;
    KIRQL irql;

    KeAcquireSpinLock(&Adapter->Lock, &irql);
    group = TargetId < NVME_MAX_GROUPS ? Adapter->Groups[TargetId] : NULL;
    if (group)
        Adapter->Groups[TargetId] = NULL;
    KeReleaseSpinLock(&Adapter->Lock, irql);
    return group;
}

/* ---- Changes: in the controller's thread, at PASSIVE_LEVEL ------------------------------------------------------- */

static BOOLEAN HasLun(const NVME_DISK_GROUP *Group, ULONG Lun)
{
    return Lun < NVME_SCSI_MAX_LUNS && Group->Luns >> Lun & 1;
}

/* Returns TRUE if both describe the same disk: the same namespace with the same identifiers. */
static BOOLEAN IsSameDisk(const NVME_SCSI_UNIT *One, const NVME_SCSI_UNIT *Other)
{
    return One->NamespaceId == Other->NamespaceId && RtlEqualMemory(One->Eui64, Other->Eui64, sizeof(One->Eui64)) &&
        RtlEqualMemory(One->Nguid, Other->Nguid, sizeof(One->Nguid)) &&
        RtlEqualMemory(One->Uuid, Other->Uuid, sizeof(One->Uuid));
}

/*
 * Returns the LUN of the disk. If the disk has no LUN, returns an unused LUN, or NVME_SCSI_MAX_LUNS if all are used. A
 * disk that has replaced another disk receives a LUN of its own, so that Windows does not write data of the old disk's
 * file system to the new disk. Requires Adapter->Lock.
 */
static ULONG FindLun(const NVME_DISK_GROUP *Group, const NVME_SCSI_UNIT *Unit)
{
    ULONG lun, unused = NVME_SCSI_MAX_LUNS;

    for (lun = NVME_SCSI_MAX_LUNS; lun-- > 0;) {
        if (!HasLun(Group, lun))
            unused = lun;
        else if (IsSameDisk(&Group->Disks[lun].Unit, Unit))
            return lun;
    }
    return unused;
}

static NVME_SCSI_UNIT DescribeUnit(const NVME_CONTROLLER_INFO *Info, const NVME_NAMESPACE *Namespace)
{
    NVME_SCSI_UNIT unit;

    RtlZeroMemory(&unit, sizeof(unit));
    unit.NamespaceId = Namespace->Id;
    unit.BlockSize = 1UL << Namespace->BlockShift;
    unit.BlockCount = Namespace->Blocks;
    unit.MaximumTransfer = NvmeSettings.MaxTransfer;
    unit.PartTransfer = Info->MaxTransfer;
    unit.Ready = Info->State == NvmeStateLive;
    unit.ReadOnly = Namespace->ReadOnly;
    unit.ThinProvisioned = Namespace->ThinProvisioned;
    unit.VolatileCache = Info->WriteCache;
    unit.CanDeallocate = (Info->OptionalCommands & NVME_ONCS_DATASET) != 0;
    unit.CanWriteZeroes = (Info->OptionalCommands & NVME_ONCS_WRITE_ZEROES) != 0;
    unit.ZeroesDeallocate = Namespace->ZeroesDeallocate;
    unit.CanCompare = (Info->OptionalCommands & NVME_ONCS_COMPARE) != 0;
    unit.DeallocatedReadsZero = Namespace->DeallocatedReadsZero;
    RtlCopyMemory(unit.Eui64, Namespace->Eui64, sizeof(unit.Eui64));
    RtlCopyMemory(unit.Nguid, Namespace->Nguid, sizeof(unit.Nguid));
    RtlCopyMemory(unit.Uuid, Namespace->Uuid, sizeof(unit.Uuid));
    RtlCopyMemory(unit.Serial, Info->SerialNumber, sizeof(unit.Serial));
    RtlCopyMemory(unit.Model, Info->ModelNumber, sizeof(unit.Model));
    RtlCopyMemory(unit.Firmware, Info->FirmwareRevision, sizeof(unit.Firmware));
    return unit;
}

/*
 * Stores the description of a disk. If the disk is not new and its capacity has changed, sets Attention, so that the
 * next command reports the change. Requires Adapter->Lock.
 */
static VOID UpdateDisk(NVME_DISK *Disk, BOOLEAN New, const NVME_SCSI_UNIT *Unit)
{
    if (New) {
        Disk->Attention = FALSE;
        Disk->Generation++;
    } else if (Disk->Unit.BlockCount != Unit->BlockCount || Disk->Unit.BlockSize != Unit->BlockSize) {
        Disk->Attention = TRUE;
    }
    Disk->Unit = *Unit;
}

/*
 * Updates the disks from Group->Found and Group->Info. Returns TRUE if a disk was added or removed. *Removed receives
 * the LUNs of the removed disks, one bit for each. Requires Adapter->Lock.
 */
static BOOLEAN UpdateDisks(NVME_DISK_GROUP *Group, ULONG Count, ULONGLONG *Removed)
{
    ULONGLONG before = Group->Luns, listed = 0;
    ULONG i;

    for (i = 0; i < Count; i++) {
        NVME_SCSI_UNIT unit = DescribeUnit(&Group->Info, &Group->Found[i]);
        ULONG lun = FindLun(Group, &unit);

        if (lun == NVME_SCSI_MAX_LUNS)
            continue;
        UpdateDisk(&Group->Disks[lun], (BOOLEAN)!HasLun(Group, lun), &unit);
        Group->Luns |= 1ULL << lun;
        listed |= 1ULL << lun;
    }
    Group->Luns = listed;
    *Removed = before & ~listed;
    return listed != before;
}

/*
 * Stores the controller with a reference, unless it is stored already. Called for each change, because the first change
 * may be reported before NvmeControllerCreate has returned. Requires Adapter->Lock.
 */
static VOID SetController(NVME_DISK_GROUP *Group, NVME_CONTROLLER *Controller)
{
    if (Group->Controller)
        return;
    NvmeControllerReference(Controller);
    Group->Controller = Controller;
}

static BOOLEAN HasOutstanding(NVME_DISK_GROUP *Group, ULONG Lun)
{
    BOOLEAN outstanding;
    KIRQL irql;

    KeAcquireSpinLock(&Group->Adapter->Lock, &irql);
    outstanding = Group->Disks[Lun].Outstanding != 0;
    KeReleaseSpinLock(&Group->Adapter->Lock, irql);
    return outstanding;
}

/*
 * Ends the requests of a removed disk. If there is no connection, waits until all have ended: those that wait in the
 * lower part, and those that another thread is about to submit. If there is a connection, does not wait for requests at
 * the target: the controller's thread runs this function, and can abort these requests only after the return.
 */
static VOID EndRequests(NVME_DISK_GROUP *Group, NVME_CONTROLLER *Controller, ULONG Lun)
{
    LARGE_INTEGER pause;

    pause.QuadPart = -10000; /* 1 ms */
    NvmeAbortAll(Controller, Group->Disks[Lun].Unit.NamespaceId);
    while (Group->Info.State == NvmeStateReconnecting && HasOutstanding(Group, Lun)) {
        KeDelayExecutionThread(KernelMode, FALSE, &pause);
        NvmeAbortAll(Controller, Group->Disks[Lun].Unit.NamespaceId);
    }
}

/*
 * Updates the disks after a change of the controller. Removes all disks if the controller has stopped its attempts to
 * connect.
 */
static VOID ControllerChanged(NVME_CONTROLLER *Controller, PVOID Context)
{
    NVME_DISK_GROUP *group = Context;
    ULONG count = NvmeControllerNamespaces(Controller, group->Found, NVME_MAX_NAMESPACES);
    ULONGLONG removed;
    BOOLEAN changed;
    ULONG lun;
    KIRQL irql;

    NvmeControllerQuery(Controller, &group->Info);
    if (group->Info.State == NvmeStateFailed)
        count = 0;
    KeAcquireSpinLock(&group->Adapter->Lock, &irql);
    SetController(group, Controller);
    changed = UpdateDisks(group, min(count, NVME_MAX_NAMESPACES), &removed);
    KeReleaseSpinLock(&group->Adapter->Lock, irql);
    for (lun = 0; lun < NVME_SCSI_MAX_LUNS; lun++)
        if ((removed >> lun & 1) && group->Info.State != NvmeStateFailed)
            EndRequests(group, Controller, lun);
    if (changed)
        StorPortNotification(BusChangeDetected, group->Adapter, 0);
}

/* ---- Connect and disconnect -------------------------------------------------------------------------------------- */

static NTSTATUS CreateController(NVME_DISK_GROUP *Group, ULONG Flags)
{
    NVME_CREATE create;
    NVME_CONTROLLER *controller;
    NTSTATUS status;
    KIRQL irql;

    RtlZeroMemory(&create, sizeof(create));
    create.Target = Group->Target;
    create.Settings = &NvmeSettings;
    create.Flags = Flags;
    create.Changed = ControllerChanged;
    create.Context = Group;
    status = NvmeControllerCreate(&create, &controller);
    if (!NT_SUCCESS(status))
        return status;
    KeAcquireSpinLock(&Group->Adapter->Lock, &irql);
    SetController(Group, controller);
    KeReleaseSpinLock(&Group->Adapter->Lock, irql);
    return status;
}

NTSTATUS NvmeDisksConnect(NVME_ADAPTER *Adapter, const NVME_TARGET *Target, ULONG Flags, PULONG TargetId)
{
    NVME_DISK_GROUP *group = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*group), NVME_TAG);
    NTSTATUS status;

    if (!group)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(group, sizeof(*group));
    group->Adapter = Adapter;
    group->References = 1;
    group->Target = *Target;
    InitializeListHead(&group->Resets);
    KeWaitForSingleObject(&Adapter->Connecting, Executive, KernelMode, FALSE, NULL);
    status = InsertGroup(group);
    if (NT_SUCCESS(status)) {
        status = CreateController(group, Flags);
        if (!NT_SUCCESS(status))
            RemoveGroup(Adapter, group->TargetId);
    }
    *TargetId = group->TargetId;
    KeReleaseMutex(&Adapter->Connecting, FALSE); /* from now on another thread may disconnect the group */
    if (!NT_SUCCESS(status))
        NvmeDisksRelease(group);
    return status;
}

VOID NvmeDisksWait(NVME_ADAPTER *Adapter)
{
    ULONGLONG deadline = KeQueryInterruptTime() + NvmeSettings.CommandSeconds * 10000000ULL;
    ULONG i;

    for (i = 0; i < NVME_MAX_GROUPS; i++) {
        NVME_DISK_GROUP *group = NvmeDisksReference(Adapter, i);
        NVME_CONTROLLER *controller = group ? NvmeDisksController(group) : NULL;

        if (controller)
            NvmeControllerWait(controller, deadline);
        if (group)
            NvmeDisksRelease(group);
    }
}

/* Removes the group, so that later SRBs do not find it, and deletes its controller, which ends the outstanding SRBs. */
NTSTATUS NvmeDisksDisconnect(NVME_ADAPTER *Adapter, ULONG TargetId)
{
    NVME_DISK_GROUP *group;

    KeWaitForSingleObject(&Adapter->Connecting, Executive, KernelMode, FALSE, NULL);
    group = RemoveGroup(Adapter, TargetId);
    if (group)
        NvmeControllerDelete(group->Controller);
    KeReleaseMutex(&Adapter->Connecting, FALSE);
    if (!group)
        return STATUS_NO_SUCH_DEVICE;
    NvmeDisksRelease(group);
    return STATUS_SUCCESS;
}

/* ---- SRBs -------------------------------------------------------------------------------------------------------- */

/*
 * Returns SRB_STATUS_PENDING if the unit can execute an SRB now, otherwise the status with which the SRB fails.
 * Requires Adapter->Lock.
 */
static UCHAR CheckUnit(const NVME_DISK_GROUP *Group, ULONG Lun)
{
    if (!Group->Luns)
        return SRB_STATUS_NO_DEVICE;
    if (Lun != 0 && !HasLun(Group, Lun))
        return SRB_STATUS_INVALID_LUN;
    /* After BUSY, Storport sends the SRB again later. */
    return IsListEmpty(&Group->Resets) ? SRB_STATUS_PENDING : SRB_STATUS_BUSY;
}

/*
 * Counts the SRB as outstanding, and copies the description of its unit to *View. Returns the result of CheckUnit.
 * Requires Adapter->Lock.
 */
static UCHAR BeginSrb(NVME_DISK_GROUP *Group, NVME_SRB *Srb, NVME_DISK_VIEW *View)
{
    ULONG lun = Srb->Srb->Lun;
    UCHAR status = CheckUnit(Group, lun);
    NVME_DISK *disk;

    if (status != SRB_STATUS_PENDING)
        return status;
    disk = &Group->Disks[lun];
    Group->Outstanding++;
    disk->Outstanding++;
    Srb->Group = Group;
    Srb->Lun = lun;
    Srb->Generation = disk->Generation;
    Srb->Resets = NvmeControllerResets(Group->Controller);
    View->Luns = Group->Luns;
    View->Present = HasLun(Group, lun);
    View->Unit = disk->Unit;
    View->Attention = View->Present && disk->Attention && NvmeScsiReportsAttention((const CDB *)Srb->Srb->Cdb);
    if (View->Attention)
        disk->Attention = FALSE;
    return status;
}

UCHAR NvmeDisksBegin(NVME_ADAPTER *Adapter, NVME_SRB *Srb, NVME_DISK_VIEW *View)
{
    UCHAR status = SRB_STATUS_NO_DEVICE;
    NVME_DISK_GROUP *group;
    KIRQL irql;

    if (Srb->Srb->PathId != 0)
        return SRB_STATUS_INVALID_PATH_ID;
    KeAcquireSpinLock(&Adapter->Lock, &irql);
    group = FindGroup(Adapter, Srb->Srb->TargetId);
    if (group)
        status = BeginSrb(group, Srb, View);
    KeReleaseSpinLock(&Adapter->Lock, irql);
    if (group && status != SRB_STATUS_PENDING)
        NvmeDisksRelease(group);
    return status;
}

/* Returns TRUE if a reset waits for the requests of the unit. Requires Adapter->Lock. */
static BOOLEAN IsReset(const NVME_DISK_GROUP *Group, ULONG Lun)
{
    const LIST_ENTRY *entry;

    for (entry = Group->Resets.Flink; entry != &Group->Resets; entry = entry->Flink) {
        const NVME_SRB *reset = CONTAINING_RECORD(entry, NVME_SRB, Link);

        if (reset->WaitsFor == &Group->Outstanding || reset->WaitsFor == &Group->Disks[Lun].Outstanding)
            return TRUE;
    }
    return FALSE;
}

BOOLEAN NvmeDisksMayContinue(const NVME_SRB *Srb)
{
    NVME_DISK_GROUP *group = Srb->Group;
    BOOLEAN may;
    KIRQL irql;

    KeAcquireSpinLock(&group->Adapter->Lock, &irql);
    may = HasLun(group, Srb->Lun) && group->Disks[Srb->Lun].Generation == Srb->Generation &&
        !IsReset(group, Srb->Lun);
    KeReleaseSpinLock(&group->Adapter->Lock, irql);
    return may;
}

/*
 * Returns the first reset in Group->Resets whose requests have all completed, and removes the reset from the list.
 * Returns NULL if no reset has ended.
 */
static NVME_SRB *RemoveEndedReset(NVME_DISK_GROUP *Group)
{
    NVME_SRB *ended = NULL;
    PLIST_ENTRY entry;
    KIRQL irql;

    KeAcquireSpinLock(&Group->Adapter->Lock, &irql);
    for (entry = Group->Resets.Flink; entry != &Group->Resets && !ended; entry = entry->Flink) {
        NVME_SRB *reset = CONTAINING_RECORD(entry, NVME_SRB, Link);

        if (*reset->WaitsFor == 0)
            ended = reset;
    }
    if (ended)
        RemoveEntryList(&ended->Link);
    KeReleaseSpinLock(&Group->Adapter->Lock, irql);
    return ended;
}

static VOID CompleteResets(NVME_DISK_GROUP *Group)
{
    NVME_SRB *reset;

    while ((reset = RemoveEndedReset(Group)) != NULL)
        NvmeCompleteSrb(Group->Adapter, reset->Srb, SRB_STATUS_SUCCESS);
}

VOID NvmeDisksEnd(NVME_DISK_GROUP *Group, ULONG Lun)
{
    KIRQL irql;

    KeAcquireSpinLock(&Group->Adapter->Lock, &irql);
    Group->Outstanding--;
    Group->Disks[Lun].Outstanding--;
    KeReleaseSpinLock(&Group->Adapter->Lock, irql);
    CompleteResets(Group);
    NvmeDisksRelease(Group);
}

/*
 * Queues the reset. Returns the namespace whose requests must be aborted, or 0 if the target has no such unit. Requires
 * Adapter->Lock.
 */
static ULONG QueueReset(NVME_DISK_GROUP *Group, NVME_SRB *Srb, BOOLEAN WholeTarget)
{
    ULONG lun = Srb->Srb->Lun;

    if (!Group->Controller || (!WholeTarget && (lun >= NVME_SCSI_MAX_LUNS || !Group->Disks[lun].Unit.NamespaceId)))
        return 0;
    Srb->WaitsFor = WholeTarget ? &Group->Outstanding : &Group->Disks[lun].Outstanding;
    InsertTailList(&Group->Resets, &Srb->Link);
    return WholeTarget ? NVME_ALL_NAMESPACES : Group->Disks[lun].Unit.NamespaceId;
}

/*
 * Queues the reset, and aborts the requests for which it waits. Until the reset has ended, CheckUnit refuses further
 * requests, so no new request delays the reset.
 */
UCHAR NvmeDisksReset(NVME_ADAPTER *Adapter, NVME_SRB *Srb, BOOLEAN WholeTarget)
{
    NVME_DISK_GROUP *group = NvmeDisksReference(Adapter, Srb->Srb->TargetId);
    ULONG namespaceId;
    KIRQL irql;

    if (!group)
        return SRB_STATUS_NO_DEVICE;
    KeAcquireSpinLock(&Adapter->Lock, &irql);
    namespaceId = QueueReset(group, Srb, WholeTarget);
    KeReleaseSpinLock(&Adapter->Lock, irql);
    if (namespaceId) {
        NvmeAbortAll(group->Controller, namespaceId);
        CompleteResets(group);
    }
    NvmeDisksRelease(group);
    return namespaceId ? SRB_STATUS_PENDING : SRB_STATUS_INVALID_LUN;
}

/*
 * Does not add a reset to Resets, because HwResetBus does not wait, and because a bus reset belongs to no target. SRBs
 * that have begun send no further command, because they have an older number of resets.
 */
VOID NvmeDisksResetBus(NVME_ADAPTER *Adapter)
{
    ULONG i;

    for (i = 0; i < NVME_MAX_GROUPS; i++) {
        NVME_DISK_GROUP *group = NvmeDisksReference(Adapter, i);
        NVME_CONTROLLER *controller = group ? NvmeDisksController(group) : NULL;

        if (controller)
            NvmeControllerReset(controller);
        if (group)
            NvmeDisksRelease(group);
    }
}
