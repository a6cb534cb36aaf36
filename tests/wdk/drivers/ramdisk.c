/* SPDX-License-Identifier: MIT */
/*
 * A RAM disk as a Storport virtual miniport that uses the framework: target 0 with unit 0, and unit 1 after a command.
 * Reads and writes complete in HwStartIo; the vendor's commands are in ramdisk.h.
 */
#include <ntddk.h>
#include <storport.h>
#include <ntddscsi.h>
#include <wdf.h>

#include "ramdisk_disk.h"

#define TAG 'ksiD'

struct unit {
    ULONG seen;
};

struct extension {
    UCHAR first;
};

/* ---- What a disk answers ----------------------------------------------------------------------------------------- */

static UCHAR fail(PSCSI_REQUEST_BLOCK srb, UCHAR key, UCHAR code)
{
    PSENSE_DATA sense = srb->SenseInfoBuffer;

    srb->ScsiStatus = SCSISTAT_CHECK_CONDITION;
    srb->DataTransferLength = 0;
    if (!sense || srb->SenseInfoBufferLength < SENSE_BUFFER_SIZE)
        return SRB_STATUS_ERROR;
    RtlZeroMemory(sense, srb->SenseInfoBufferLength);
    sense->ErrorCode = SCSI_SENSE_ERRORCODE_FIXED_CURRENT;
    sense->SenseKey = key;
    sense->AdditionalSenseCode = code;
    sense->AdditionalSenseLength = SENSE_BUFFER_SIZE - 8;
    return SRB_STATUS_ERROR | SRB_STATUS_AUTOSENSE_VALID;
}

static UCHAR copy_answer(struct disk *d, PSCSI_REQUEST_BLOCK srb, const VOID *data, ULONG length)
{
    ULONG n = min(length, srb->DataTransferLength);
    BOOLEAN less = n < srb->DataTransferLength;
    PVOID to;

    if (StorPortGetSystemAddress(d, srb, &to))
        return SRB_STATUS_INTERNAL_ERROR;
    RtlCopyMemory(to, data, n);
    srb->DataTransferLength = n;
    return less ? SRB_STATUS_DATA_OVERRUN : SRB_STATUS_SUCCESS;
}

/* The first INQUIRY reports a bus change and blocks for a while, so that a concurrent scan would meet it. */
static VOID count_inquiry(struct disk *d)
{
    LONG inside = InterlockedIncrement(&d->inside);

    if (inside > (LONG)d->told.together)
        d->told.together = (ULONG)inside;
    if (!d->told.inquiries++) {
        StorPortNotification(BusChangeDetected, d, 0);
        for (int i = 0; i < 20 && d->told.together < 2; i++)
            StorPortStallExecution(1000);
    }
    InterlockedDecrement(&d->inside);
}

static UCHAR inquiry(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    INQUIRYDATA data = { .DeviceType = DIRECT_ACCESS_DEVICE, .Versions = 6, .ResponseDataFormat = 2,
                         .AdditionalLength = INQUIRYDATABUFFERSIZE - 5, .CommandQueue = 1 };
    struct unit *unit = StorPortGetLogicalUnit(d, srb->PathId, srb->TargetId, srb->Lun);

    if (!unit)
        return SRB_STATUS_INTERNAL_ERROR;
    unit->seen++;
    count_inquiry(d);
    if (d->first_hidden && srb->Lun == 0) {
        data.DeviceTypeQualifier = DEVICE_QUALIFIER_NOT_SUPPORTED;
        data.DeviceType = 0x1f; /* unknown */
    }
    ramdisk_announce(d, srb->Lun);
    ramdisk_notify_in_scan(d);
    RtlCopyMemory(data.VendorId, "OpenNDK ", 8);
    RtlCopyMemory(data.ProductId, "RAM disk        ", 16);
    RtlCopyMemory(data.ProductRevisionLevel, "1.0 ", 4);
    return copy_answer(d, srb, &data, min(INQUIRYDATABUFFERSIZE, ((PCDB)srb->Cdb)->CDB6INQUIRY3.AllocationLength));
}

static UCHAR capacity(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    READ_CAPACITY_DATA data;
    ULONG last = RAMDISK_BLOCKS - 1, size = RAMDISK_BLOCK;

    REVERSE_BYTES(&data.LogicalBlockAddress, &last);
    REVERSE_BYTES(&data.BytesPerBlock, &size);
    return copy_answer(d, srb, &data, sizeof data);
}

static UCHAR report_luns(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    UCHAR data[24] = { 0 };

    if (d->no_list)
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND);
    data[3] = d->second ? 16 : 8;
    data[17] = 1;
    return copy_answer(d, srb, data, 8 + data[3]);
}

static UCHAR transfer(struct disk *d, PSCSI_REQUEST_BLOCK srb, BOOLEAN write)
{
    PCDB cdb = (PCDB)srb->Cdb;
    ULONG lba, count;
    PVOID data;

    REVERSE_BYTES(&lba, &cdb->CDB10.LogicalBlockByte0);
    count = (ULONG)cdb->CDB10.TransferBlocksMsb << 8 | cdb->CDB10.TransferBlocksLsb;
    if (lba >= RAMDISK_BLOCKS || count > RAMDISK_BLOCKS - lba)
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_BLOCK);
    if (count * RAMDISK_BLOCK > srb->DataTransferLength)
        return SRB_STATUS_DATA_OVERRUN;
    srb->DataTransferLength = count * RAMDISK_BLOCK;
    if (StorPortGetSystemAddress(d, srb, &data))
        return SRB_STATUS_INTERNAL_ERROR;
    if (write)
        RtlCopyMemory(d->blocks + lba * RAMDISK_BLOCK, data, count * RAMDISK_BLOCK);
    else
        RtlCopyMemory(data, d->blocks + lba * RAMDISK_BLOCK, count * RAMDISK_BLOCK);
    return SRB_STATUS_SUCCESS;
}

/* ---- What a vendor's command does -------------------------------------------------------------------------------- */

static UCHAR lock_and_count(struct disk *d)
{
    STOR_LOCK_HANDLE handle = { 0 };

    StorPortAcquireSpinLock(d, StartIoLock, NULL, &handle);
    d->told.locked++;
    StorPortReleaseSpinLock(d, &handle);
    return SRB_STATUS_SUCCESS;
}

/* Returns the status of commands that complete at once, or SRB_STATUS_PENDING. */
static UCHAR vendor(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    switch (srb->Cdb[0]) {
    case RAMDISK_BUSY_TWICE:
        return ++d->told.tries <= 2 ? SRB_STATUS_BUSY : SRB_STATUS_SUCCESS;
    case RAMDISK_ADDS_UNIT:
        d->second = !d->second;
        StorPortNotification(BusChangeDetected, d, 0);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_HIDES_FIRST:
        d->first_hidden = !d->first_hidden;
        return SRB_STATUS_SUCCESS;
    case RAMDISK_LISTS_NOTHING:
        d->no_list = !d->no_list;
        return SRB_STATUS_SUCCESS;
    case RAMDISK_PAUSES:
        d->paused = !d->paused;
        if (d->paused)
            (void)StorPortPauseDevice(d, srb->PathId, srb->TargetId, srb->Lun, 1);
        return d->paused ? SRB_STATUS_BUSY : SRB_STATUS_SUCCESS;
    case RAMDISK_RESETS:
        (void)StorPortPause(d, 1);
        StorPortNotification(ResetDetected, d, 0);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_LINK:
        StorPortNotification(LinkDown, d);
        StorPortNotification(RequestTimerCall, d, ramdisk_link_is_back, 300000);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_TELLS:
        d->told.calls = (uint32_t)InterlockedCompareExchange(&d->calls, 0, 0);
        return copy_answer(d, srb, &d->told, sizeof d->told);
    case RAMDISK_LEAVES_POOL:
        (void)StorPortAllocatePool(d, 100, TAG, &d->left);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_TICKS:
        ramdisk_start_ticking(d);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_LEAVES_LATE:
        d->leaves_late = TRUE;
        return SRB_STATUS_SUCCESS;
    case RAMDISK_WORKS:
        return ramdisk_start_working(d) ? SRB_STATUS_SUCCESS : SRB_STATUS_ERROR;
    case RAMDISK_BUSY_WITH_ALL:
        return ramdisk_busy_with_all(d);
    case RAMDISK_STAYS:
        ramdisk_stay(d, srb);
        return SRB_STATUS_PENDING;
    case RAMDISK_LOCKS:
        return lock_and_count(d);
    case RAMDISK_NOTIFIES:
        ramdisk_notify(d);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_NOTIFIES_LAST:
        ramdisk_notify_last(d);
        return SRB_STATUS_SUCCESS;
    case RAMDISK_HANGS_UNTIL_RESET:
    case RAMDISK_HANGS_UNTIL_BUS_RESET:
    case RAMDISK_HANGS:
        d->by_unit = srb->Cdb[0] == RAMDISK_HANGS_UNTIL_RESET;
        d->by_bus = srb->Cdb[0] == RAMDISK_HANGS_UNTIL_BUS_RESET;
        d->hanging = srb;
        return SRB_STATUS_PENDING;
    case RAMDISK_LATER_BY_TIMER:
    case RAMDISK_LATER_BY_WORK:
    case RAMDISK_LATER_BY_DPC:
    case RAMDISK_FREES_TIMER:
    case RAMDISK_LINGERS:
    case RAMDISK_BY_WORK_AND_DPC:
        ramdisk_later(d, srb);
        return SRB_STATUS_PENDING;
    default:
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND);
    }
}

static VOID break_rules(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    if (srb->Cdb[0] == RAMDISK_AS_PENDING) {
        ramdisk_complete(d, srb, SRB_STATUS_PENDING);
        return;
    }
    if (srb->Cdb[0] == RAMDISK_TWICE_WITH_ALL)
        StorPortCompleteRequest(d, 0, SP_UNTAGGED, SP_UNTAGGED, SRB_STATUS_SUCCESS);
    else
        ramdisk_complete(d, srb, SRB_STATUS_SUCCESS);
    StorPortNotification(RequestComplete, d, srb);
}

static BOOLEAN is_rule_breaker(PSCSI_REQUEST_BLOCK srb)
{
    return srb->Function == SRB_FUNCTION_EXECUTE_SCSI && srb->Cdb[0] >= RAMDISK_TWICE &&
           srb->Cdb[0] <= RAMDISK_AS_PENDING;
}

static UCHAR execute(struct disk *d, PSCSI_REQUEST_BLOCK srb)
{
    if (srb->PathId || srb->TargetId || srb->Lun > (d->second ? 1 : 0))
        return SRB_STATUS_INVALID_LUN;
    switch (srb->Cdb[0]) {
    case SCSIOP_TEST_UNIT_READY: return SRB_STATUS_SUCCESS;
    case SCSIOP_INQUIRY: return inquiry(d, srb);
    case SCSIOP_READ_CAPACITY: return capacity(d, srb);
    case SCSIOP_REPORT_LUNS: return report_luns(d, srb);
    case SCSIOP_READ: return transfer(d, srb, FALSE);
    case SCSIOP_WRITE: return transfer(d, srb, TRUE);
    default: return vendor(d, srb);
    }
}

/* ---- The miniport's routines ------------------------------------------------------------------------------------- */

static UCHAR reset_unit(struct disk *d)
{
    PSCSI_REQUEST_BLOCK srb = d->hanging;

    d->told.unit_resets++;
    if (!srb || !d->by_unit)
        return SRB_STATUS_INVALID_REQUEST;
    d->hanging = NULL;
    ramdisk_complete(d, srb, SRB_STATUS_ABORTED);
    return SRB_STATUS_SUCCESS;
}

static UCHAR control(PSCSI_REQUEST_BLOCK srb)
{
    PSRB_IO_CONTROL c = srb->DataBuffer;

    c->ReturnCode = c->ControlCode + 1;
    return SRB_STATUS_SUCCESS;
}

static UCHAR handle_pnp(struct disk *d, PSCSI_PNP_REQUEST_BLOCK srb)
{
    if (srb->PnPAction == StorRemoveDevice && srb->SrbPnPFlags & SRB_PNP_FLAGS_ADAPTER_REQUEST) {
        InterlockedExchange(&d->removed, 1);
        (void)StorPortFreeTimer(d, d->timer);
        if (!d->works)
            (void)StorPortFreeWorker(d, d->worker);
        if (d->leaves_late) {
            ramdisk_leave_late(d, (PSCSI_REQUEST_BLOCK)srb);
            return SRB_STATUS_PENDING;
        }
        ramdisk_complete(d, (PSCSI_REQUEST_BLOCK)srb, SRB_STATUS_SUCCESS);
        ramdisk_linger(d);
        return SRB_STATUS_PENDING;
    }
    if (srb->PnPAction == StorRemoveDevice) {
        d->told.removed++;
        if (d->lingers) {
            StorPortNotification(LinkDown, d);
            InterlockedExchange(&d->link_down, 1);
        }
    }
    return SRB_STATUS_SUCCESS;
}

static HW_STARTIO start_io;
static BOOLEAN start_io(PVOID DeviceExtension, PSCSI_REQUEST_BLOCK Srb)
{
    struct disk *d = DeviceExtension;
    UCHAR status = SRB_STATUS_INVALID_REQUEST;

    if (d->told.start_io_irql != KeGetCurrentIrql()) /* may run in several threads */
        d->told.start_io_irql = KeGetCurrentIrql();
    if (is_rule_breaker(Srb)) {
        break_rules(d, Srb);
        return TRUE;
    }
    if (Srb->Function == SRB_FUNCTION_EXECUTE_SCSI && Srb->Cdb[0] == RAMDISK_REFUSED_ONCE) {
        if (!d->told.refused++)
            return FALSE;
        status = SRB_STATUS_SUCCESS;
    } else if (Srb->Function == SRB_FUNCTION_EXECUTE_SCSI) {
        status = execute(d, Srb);
    } else if (Srb->Function == SRB_FUNCTION_RESET_LOGICAL_UNIT) {
        status = reset_unit(d);
    } else if (Srb->Function == SRB_FUNCTION_IO_CONTROL) {
        status = control(Srb);
    } else if (Srb->Function == SRB_FUNCTION_PNP) {
        status = handle_pnp(d, (PSCSI_PNP_REQUEST_BLOCK)Srb);
    }
    if (status != SRB_STATUS_PENDING)
        ramdisk_complete(d, Srb, status);
    return TRUE;
}

static HW_RESET_BUS reset_bus;
static BOOLEAN reset_bus(PVOID DeviceExtension, ULONG PathId)
{
    struct disk *d = DeviceExtension;

    UNREFERENCED_PARAMETER(PathId);
    d->told.bus_resets++;
    if (d->by_bus)
        StorPortCompleteRequest(d, 0, SP_UNTAGGED, SP_UNTAGGED, SRB_STATUS_BUS_RESET);
    return TRUE;
}

static BOOLEAN refuses_null(struct disk *d)
{
    PVOID device;

    return StorPortGetDeviceObjects(NULL, &device, &device, &device) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortGetDeviceObjects(d, NULL, &device, &device) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortGetDeviceObjects(d, &device, NULL, &device) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortGetDeviceObjects(d, &device, &device, NULL) == STOR_STATUS_INVALID_PARAMETER &&
           StorPortGetCurrentIrql(d, NULL) == STOR_STATUS_INVALID_PARAMETER;
}

static VIRTUAL_HW_FIND_ADAPTER find_adapter;
static ULONG find_adapter(PVOID DeviceExtension, PVOID HwContext, PVOID BusInformation, PVOID LowerDevice,
                          PCHAR ArgumentString, PPORT_CONFIGURATION_INFORMATION ConfigInfo, PBOOLEAN Again)
{
    struct disk *d = DeviceExtension;
    PVOID device, physical, lower;

    PAGED_CODE();
    UNREFERENCED_PARAMETER(ArgumentString);
    UNREFERENCED_PARAMETER(Again);
    ConfigInfo->VirtualDevice = TRUE;
    ConfigInfo->MaximumTransferLength = RAMDISK_BLOCKS * RAMDISK_BLOCK;
    ConfigInfo->MaximumNumberOfTargets = 2;
    ConfigInfo->NumberOfBuses = 1;
    d->told.null_refused = refuses_null(d);
    if (StorPortGetDeviceObjects(d, &device, &physical, &lower) || physical != HwContext || device != BusInformation ||
        lower != LowerDevice || StorPortAllocatePool(d, RAMDISK_BLOCKS * RAMDISK_BLOCK, TAG, (PVOID *)&d->blocks))
        return SP_RETURN_ERROR;
    RtlZeroMemory(d->blocks, RAMDISK_BLOCKS * RAMDISK_BLOCK);
    if (StorPortInitializeTimer(d, &d->timer) || StorPortInitializeWorker(d, &d->worker))
        return SP_RETURN_ERROR;
    d->told.others_refused = ramdisk_refuses_others(d);
    ramdisk_set_features(d, HwContext);
    return SP_RETURN_FOUND;
}

static HW_PASSIVE_INITIALIZE_ROUTINE passive;
static BOOLEAN passive(PVOID DeviceExtension)
{
    PAGED_CODE();
    ((struct disk *)DeviceExtension)->told.passive++;
    return TRUE;
}

static HW_INITIALIZE initialize;
static BOOLEAN initialize(PVOID DeviceExtension)
{
    struct disk *d = DeviceExtension;

    d->told.initialize_irql = KeGetCurrentIrql();
    ramdisk_init_later(d);
    ramdisk_enable_interface(d);
    ramdisk_notify_always(d);
    return StorPortEnablePassiveInitialization(d, passive);
}

static HW_ADAPTER_CONTROL adapter_control;
static SCSI_ADAPTER_CONTROL_STATUS adapter_control(PVOID DeviceExtension, SCSI_ADAPTER_CONTROL_TYPE ControlType,
                                                   PVOID Parameters)
{
    PSCSI_SUPPORTED_CONTROL_TYPE_LIST list = Parameters;

    if (ControlType == ScsiQuerySupportedControlTypes) {
        list->SupportedTypeList[ScsiQuerySupportedControlTypes] = TRUE;
        list->SupportedTypeList[ScsiStopAdapter] = TRUE;
        list->SupportedTypeList[ScsiRestartAdapter] = TRUE;
    } else if (ControlType == ScsiStopAdapter) {
        InterlockedExchange(&((struct disk *)DeviceExtension)->removed, 2);
        DbgPrint("ramdisk: stopped at %u\n", KeGetCurrentIrql());
    }
    return ScsiAdapterControlSuccess;
}

static HW_FREE_ADAPTER_RESOURCES free_resources;
static VOID free_resources(PVOID DeviceExtension)
{
    struct disk *d = DeviceExtension;

    PAGED_CODE();
    (void)StorPortFreePool(d, d->blocks);
    DbgPrint("ramdisk: %u units removed\n", d->told.removed);
    InterlockedExchange(&d->removed, 3);
}

static HW_PROCESS_SERVICE_REQUEST process_service;
static VOID process_service(PVOID DeviceExtension, PVOID Irp)
{
    struct disk *d = DeviceExtension;

    PAGED_CODE();
    (void)InterlockedExchangePointer((PVOID *)&d->service, Irp);
    if (InterlockedCompareExchange(&d->busy_tries, 0, 0))
        ramdisk_complete_service(d);
}

VOID ramdisk_complete_service(PVOID DeviceExtension)
{
    struct disk *d = DeviceExtension;
    PIRP irp = InterlockedExchangePointer((PVOID *)&d->service, NULL);

    PAGED_CODE();
    if (!irp)
        return;
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = 0;
    (void)StorPortCompleteServiceIrp(d, irp);
}

static PDRIVER_UNLOAD port_unload;

static DRIVER_UNLOAD unload;
static VOID unload(PDRIVER_OBJECT DriverObject)
{
    PAGED_CODE();
    ramdisk_end_thread();
    WdfDriverMiniportUnload(WdfWdmDriverGetWdfDriverHandle(DriverObject));
    port_unload(DriverObject);
}

static VOID describe(PVIRTUAL_HW_INITIALIZATION_DATA data)
{
    data->HwInitializationDataSize = sizeof *data;
    data->AdapterInterfaceType = Internal;
    data->HwInitialize = initialize;
    data->HwStartIo = start_io;
    data->HwFindAdapter = find_adapter;
    data->HwResetBus = reset_bus;
    data->HwAdapterControl = adapter_control;
    data->HwFreeAdapterResources = free_resources;
    data->HwProcessServiceRequest = process_service;
    data->HwCompleteServiceIrp = ramdisk_complete_service;
    data->DeviceExtensionSize = sizeof(struct disk);
    data->SpecificLuExtensionSize = sizeof(struct unit);
    data->SrbExtensionSize = sizeof(struct extension);
    data->MapBuffers = STOR_MAP_ALL_BUFFERS_INCLUDING_READ_WRITE;
    data->TaggedQueuing = data->AutoRequestSense = data->MultipleRequestPerLu = TRUE;
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    VIRTUAL_HW_INITIALIZATION_DATA data = { 0 };
    WDF_DRIVER_CONFIG config;
    WDFDRIVER driver;
    NTSTATUS status;

    WDF_DRIVER_CONFIG_INIT(&config, WDF_NO_EVENT_CALLBACK);
    config.DriverInitFlags |= WdfDriverInitNoDispatchOverride;
    status = WdfDriverCreate(DriverObject, RegistryPath, WDF_NO_OBJECT_ATTRIBUTES, &config, &driver);
    if (!NT_SUCCESS(status))
        return status;
    describe(&data);
    status = (NTSTATUS)StorPortInitialize(DriverObject, RegistryPath, (PHW_INITIALIZATION_DATA)&data, NULL);
    if (!NT_SUCCESS(status)) {
        WdfDriverMiniportUnload(driver);
        return status;
    }
    ramdisk_hook_pnp(DriverObject, RegistryPath);
    ramdisk_read_notices(RegistryPath);
    port_unload = DriverObject->DriverUnload;
    DriverObject->DriverUnload = unload;
    return status;
}
