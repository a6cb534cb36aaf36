/* SPDX-License-Identifier: MIT */
/*
 * A memory-backed disk as a Storport virtual miniport, for the test of block devices. Settings are in the registry,
 * faults are ordered by a write to the last block (blockdisk.h). When it is removed it prints counts of its commands.
 */
#include "blockdisk.h"

static struct settings settings = {
    .BlockSize = 512, .Blocks = 16384, .MaxTransfer = 65536, .Pages = MAXULONG, .Units = 1, .Modern = 1
};

/* ---- Completion -------------------------------------------------------------------------------------------------- */

static VOID complete(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, UCHAR status)
{
    srb->SrbStatus = status;
    StorPortNotification(RequestComplete, d, srb);
}

/* Completes the pending commands: those that hang, or the others. */
static VOID complete_pending(struct blockdisk *d, BOOLEAN hanging)
{
    LIST_ENTRY due;
    KIRQL irql;

    InitializeListHead(&due);
    KeAcquireSpinLock(&d->lock, &irql);
    for (PLIST_ENTRY e = d->pending.Flink, next; e != &d->pending; e = next) {
        next = e->Flink;
        if (CONTAINING_RECORD(e, struct pending, link)->hangs == hanging) {
            RemoveEntryList(e);
            InsertTailList(&due, e);
        }
    }
    KeReleaseSpinLock(&d->lock, irql);
    while (!IsListEmpty(&due)) {
        struct pending *p = CONTAINING_RECORD(RemoveHeadList(&due), struct pending, link);

        InterlockedDecrement(&d->counters.active);
        complete(d, p->srb, p->status);
    }
}

static HW_TIMER_EX later;
static VOID later(PVOID DeviceExtension, PVOID Context)
{
    UNREFERENCED_PARAMETER(Context);
    complete_pending(DeviceExtension, FALSE);
}

/* Counts a command that begins to wait. Requires the lock. */
static VOID count_active(struct blockdisk *d)
{
    LONG active = InterlockedIncrement(&d->counters.active);

    if (active > d->counters.most_active)
        d->counters.most_active = active;
}

static VOID start_command(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb)
{
    BOOLEAN hangs = FALSE;
    UCHAR status = blockdisk_execute(d, srb, &hangs);
    struct pending *p = srb->SrbExtension;
    KIRQL irql;

    if (!hangs && (!d->delay || !blockdisk_is_for_blocks(srb))) {
        complete(d, srb, status);
        return;
    }
    p->srb = srb;
    p->status = status;
    p->hangs = hangs;
    KeAcquireSpinLock(&d->lock, &irql);
    count_active(d);
    InsertTailList(&d->pending, &p->link);
    KeReleaseSpinLock(&d->lock, irql);
    if (!hangs)
        (void)StorPortRequestTimer(d, d->timer, later, NULL, d->delay, 0); /* busy: it is set already */
}

/* ---- The miniport's routines ------------------------------------------------------------------------------------- */

static HW_STARTIO start_io;
static BOOLEAN start_io(PVOID DeviceExtension, PSCSI_REQUEST_BLOCK Srb)
{
    struct blockdisk *d = DeviceExtension;

    switch (Srb->Function) {
    case SRB_FUNCTION_EXECUTE_SCSI:
        start_command(d, Srb);
        return TRUE;
    case SRB_FUNCTION_RESET_LOGICAL_UNIT:
        complete_pending(d, TRUE);
        complete(d, Srb, SRB_STATUS_SUCCESS);
        return TRUE;
    case SRB_FUNCTION_PNP:
        complete(d, Srb, SRB_STATUS_SUCCESS);
        return TRUE;
    default:
        complete(d, Srb, SRB_STATUS_INVALID_REQUEST);
        return TRUE;
    }
}

static HW_RESET_BUS reset_bus;
static BOOLEAN reset_bus(PVOID DeviceExtension, ULONG PathId)
{
    UNREFERENCED_PARAMETER(PathId);
    complete_pending(DeviceExtension, TRUE);
    return TRUE;
}

static ULONG allocate_units(struct blockdisk *d)
{
    for (ULONG i = 0; i < d->settings.Units; i++) {
        struct unit *u = &d->units[i];

        if (StorPortAllocatePool(d, d->settings.Blocks * d->settings.BlockSize, BLOCKDISK_TAG, (PVOID *)&u->data))
            return SP_RETURN_ERROR;
        RtlZeroMemory(u->data, d->settings.Blocks * d->settings.BlockSize);
        u->present = TRUE;
        u->fail_block = u->hang_block = u->short_block = MAXULONG;
    }
    return StorPortInitializeTimer(d, &d->timer) ? SP_RETURN_ERROR : SP_RETURN_FOUND;
}

static VIRTUAL_HW_FIND_ADAPTER find_adapter;
static ULONG find_adapter(PVOID DeviceExtension, PVOID HwContext, PVOID BusInformation, PVOID LowerDevice,
                          PCHAR ArgumentString, PPORT_CONFIGURATION_INFORMATION ConfigInfo, PBOOLEAN Again)
{
    struct blockdisk *d = DeviceExtension;

    PAGED_CODE();
    UNREFERENCED_PARAMETER(HwContext);
    UNREFERENCED_PARAMETER(BusInformation);
    UNREFERENCED_PARAMETER(LowerDevice);
    UNREFERENCED_PARAMETER(ArgumentString);
    UNREFERENCED_PARAMETER(Again);
    d->settings = settings;
    d->settings.Units = min(d->settings.Units, BLOCKDISK_UNITS);
    d->blocks = d->settings.Huge ? 1ULL << 33 : d->settings.Blocks;
    ConfigInfo->VirtualDevice = TRUE;
    ConfigInfo->MaximumTransferLength = d->settings.MaxTransfer;
    if (d->settings.Pages != MAXULONG)
        ConfigInfo->NumberOfPhysicalBreaks = d->settings.Pages;
    ConfigInfo->MaximumNumberOfTargets = 1;
    ConfigInfo->NumberOfBuses = 1;
    KeInitializeSpinLock(&d->lock);
    InitializeListHead(&d->pending);
    return allocate_units(d);
}

static HW_INITIALIZE initialize;
static BOOLEAN initialize(PVOID DeviceExtension)
{
    UNREFERENCED_PARAMETER(DeviceExtension);
    return TRUE;
}

static HW_FREE_ADAPTER_RESOURCES free_resources;
static VOID free_resources(PVOID DeviceExtension)
{
    struct blockdisk *d = DeviceExtension;
    const struct counters *c = &d->counters;

    PAGED_CODE();
    (void)StorPortFreeTimer(d, d->timer);
    for (ULONG i = 0; i < d->settings.Units; i++)
        (void)StorPortFreePool(d, d->units[i].data);
    DbgPrint("blockdisk: reads %d, writes %d, fua %d, flushes %d, unmaps %d, write sames %d, most at once %d, "
             "largest %u, long %d\n", c->reads, c->writes, c->fua_writes, c->flushes, c->unmaps, c->write_sames,
             c->most_active, c->largest, c->long_commands);
}

/* ---- The driver -------------------------------------------------------------------------------------------------- */

#define VALUE(name)                                                                                                   \
    { .Flags = RTL_QUERY_REGISTRY_DIRECT, .Name = L"" #name, .EntryContext = &settings.name, .DefaultType = REG_NONE }

static NTSTATUS read_settings(PUNICODE_STRING RegistryPath)
{
    RTL_QUERY_REGISTRY_TABLE table[] = { VALUE(BlockSize), VALUE(Blocks),   VALUE(MaxTransfer), VALUE(Pages),
                                         VALUE(Units),     VALUE(Modern),   VALUE(ReadOnly),    VALUE(NoWriteSame),
                                         VALUE(Huge),      { 0 } };
    NTSTATUS status = RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, RegistryPath->Buffer, table, NULL, NULL);

    return status == STATUS_OBJECT_NAME_NOT_FOUND ? STATUS_SUCCESS : status; /* no setting is given */
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    HW_INITIALIZATION_DATA data = { .HwInitializationDataSize = sizeof data,
                                    .AdapterInterfaceType = Internal,
                                    .HwInitialize = initialize,
                                    .HwStartIo = start_io,
                                    .HwFindAdapter = (PVOID)find_adapter,
                                    .HwResetBus = reset_bus,
                                    .HwFreeAdapterResources = free_resources,
                                    .DeviceExtensionSize = sizeof(struct blockdisk),
                                    .SrbExtensionSize = sizeof(struct pending),
                                    .MapBuffers = STOR_MAP_ALL_BUFFERS_INCLUDING_READ_WRITE,
                                    .TaggedQueuing = TRUE,
                                    .AutoRequestSense = TRUE,
                                    .MultipleRequestPerLu = TRUE,
                                    .FeatureSupport = STOR_FEATURE_VIRTUAL_MINIPORT };
    NTSTATUS status = read_settings(RegistryPath);

    return NT_SUCCESS(status) ? (NTSTATUS)StorPortInitialize(DriverObject, RegistryPath, &data, NULL) : status;
}
