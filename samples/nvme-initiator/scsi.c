/* SPDX-License-Identifier: MIT */
/* Contains the table of SCSI commands, and executes the commands that query or stop the unit. */
#include "nvmescsi.h"

/* In byte 1 of REQUEST SENSE: the caller wants the sense data in descriptor format. */
#define REQUEST_SENSE_DESCRIPTORS 0x01
#define LUN_ENTRY 8

#define REPORT_ALL_ADDRESSABLE 0x00
#define REPORT_WELL_KNOWN 0x01
#define REPORT_ALL 0x02

NVME_SCSI_STEP NvmeScsiSucceed(NVME_SCSI_REQUEST *Request)
{
    Request->ScsiStatus = SCSISTAT_GOOD;
    return NvmeScsiAnswered;
}

NVME_SCSI_STEP NvmeScsiInvalidCdb(NVME_SCSI_REQUEST *Request)
{
    return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_CDB, 0);
}

NVME_SCSI_STEP NvmeScsiAnswer(NVME_SCSI_REQUEST *Request, const VOID *Answer, ULONG Length, ULONG AllocationLength)
{
    ULONG length = min(Length, min(AllocationLength, Request->DataLength));

    if (length && (Request->Direction != NvmeScsiDataIn || !Request->Data))
        return NvmeScsiInvalidCdb(Request);
    if (length)
        RtlCopyMemory(Request->Data, Answer, length);
    Request->Transferred = length;
    return NvmeScsiSucceed(Request);
}

/* ---- Commands about the unit ------------------------------------------------------------------------------------- */

static NVME_SCSI_STEP TestUnitReady(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    if (!Unit->Ready)
        return NvmeScsiFail(Request, SCSI_SENSE_NOT_READY, SCSI_ADSENSE_LUN_NOT_READY, SCSI_SENSEQ_BECOMING_READY);
    return NvmeScsiSucceed(Request);
}

/*
 * Answers with "no sense": each failed command returns its sense data together with its completion, so no sense data
 * are stored for this command. If the target has no such unit, the answer reports that.
 */
static NVME_SCSI_STEP RequestSense(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    SENSE_DATA data = { 0 };

    if (Request->Cdb->AsByte[1] & REQUEST_SENSE_DESCRIPTORS)
        return NvmeScsiInvalidCdb(Request);
    data.ErrorCode = SCSI_SENSE_ERRORCODE_FIXED_CURRENT;
    data.AdditionalSenseLength = sizeof(data) - FIELD_OFFSET(SENSE_DATA, CommandSpecificInformation);
    if (!Unit) {
        data.SenseKey = SCSI_SENSE_ILLEGAL_REQUEST;
        data.AdditionalSenseCode = SCSI_ADSENSE_INVALID_LUN;
    }
    return NvmeScsiAnswer(Request, &data, sizeof(data), Request->Cdb->AsByte[4]);
}

static NVME_SCSI_STEP ReportLuns(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    UCHAR list[LUN_ENTRY + NVME_SCSI_MAX_LUNS * LUN_ENTRY];
    UCHAR select = Request->Cdb->REPORT_LUNS.SelectReport;
    ULONG lun, length = LUN_ENTRY;

    UNREFERENCED_PARAMETER(Unit);
    if (select > REPORT_ALL)
        return NvmeScsiInvalidCdb(Request);
    RtlZeroMemory(list, sizeof(list));
    for (lun = 0; lun < NVME_SCSI_MAX_LUNS && select != REPORT_WELL_KNOWN; lun++) {
        if (!(Request->Luns >> lun & 1))
            continue;
        list[length + 1] = (UCHAR)lun;
        length += LUN_ENTRY;
    }
    NvmeScsiPut32(list, length - LUN_ENTRY);
    return NvmeScsiAnswer(Request, list, length, NvmeScsiGet32(Request->Cdb->REPORT_LUNS.AllocationLength));
}

/*
 * Flushes the unit's volatile cache if the unit is to be stopped. Has no other effect, because a namespace cannot be
 * stopped.
 */
static NVME_SCSI_STEP StartStopUnit(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    UCHAR powerCondition = Request->Cdb->AsByte[4] >> 4;

    if (powerCondition || Request->Cdb->START_STOP.LoadEject)
        return NvmeScsiInvalidCdb(Request);
    return Request->Cdb->START_STOP.Start ? NvmeScsiSucceed(Request) : NvmeScsiFlush(Unit, Request);
}

/* ---- MODE SENSE -------------------------------------------------------------------------------------------------- */

#define MODE_PAGE_CACHING_LENGTH 20
#define MODE_PAGE_CONTROL_LENGTH 12
#define MODE_MAX_LENGTH (8 + 16 + MODE_PAGE_CACHING_LENGTH + MODE_PAGE_CONTROL_LENGTH)
#define MODE_CACHING_WCE 0x04 /* in byte 2: the unit has a write cache */
#define MODE_ALL_SUBPAGES 0xff
#define PC_CHANGEABLE 1
#define PC_SAVED 3

typedef struct _MODE_DATA {
    UCHAR Bytes[MODE_MAX_LENGTH];
    ULONG Length;
} MODE_DATA;

static VOID AddBlockDescriptor(const NVME_SCSI_UNIT *Unit, MODE_DATA *Mode, BOOLEAN Long)
{
    PUCHAR at = Mode->Bytes + Mode->Length;

    if (Long) {
        NvmeScsiPut64(at, Unit->BlockCount);
        NvmeScsiPut32(at + 12, Unit->BlockSize);
        Mode->Length += 16;
    } else {
        NvmeScsiPut32(at, (ULONG)min(Unit->BlockCount, MAXULONG));
        NvmeScsiPut32(at + 4, Unit->BlockSize); /* 24 bits behind a reserved byte */
        Mode->Length += 8;
    }
}

/* Adds the mode page, or all pages if Page is MODE_SENSE_RETURN_ALL. Returns FALSE if there is no such page. */
static BOOLEAN AddPages(const NVME_SCSI_UNIT *Unit, MODE_DATA *Mode, UCHAR Page, BOOLEAN Changeable)
{
    ULONG before = Mode->Length;

    if (Page == MODE_PAGE_CACHING || Page == MODE_SENSE_RETURN_ALL) {
        PUCHAR at = Mode->Bytes + Mode->Length;

        at[0] = MODE_PAGE_CACHING;
        at[1] = MODE_PAGE_CACHING_LENGTH - 2;
        at[2] = Unit->VolatileCache && !Changeable ? MODE_CACHING_WCE : 0;
        Mode->Length += MODE_PAGE_CACHING_LENGTH;
    }
    if (Page == MODE_PAGE_CONTROL || Page == MODE_SENSE_RETURN_ALL) {
        PUCHAR at = Mode->Bytes + Mode->Length;

        at[0] = MODE_PAGE_CONTROL;
        at[1] = MODE_PAGE_CONTROL_LENGTH - 2;
        Mode->Length += MODE_PAGE_CONTROL_LENGTH;
    }
    return Mode->Length > before;
}

static UCHAR DeviceSpecificParameter(const NVME_SCSI_UNIT *Unit)
{
    return MODE_DSP_FUA_SUPPORTED | (Unit->ReadOnly ? MODE_DSP_WRITE_PROTECT : 0);
}

/*
 * Answers MODE SENSE. No value can be changed or saved. So the changeable values are all zero, and the default values
 * are equal to the current values.
 */
static NVME_SCSI_STEP ModeSense(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    const CDB *cdb = Request->Cdb;
    BOOLEAN six = cdb->MODE_SENSE.OperationCode == SCSIOP_MODE_SENSE;
    UCHAR subpage = cdb->MODE_SENSE.SubPageCode;
    MODE_DATA mode = { { 0 }, six ? 4 : 8 };
    ULONG header = mode.Length, descriptor;

    if (cdb->MODE_SENSE.Pc == PC_SAVED)
        return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_SAVING_PARAMETER_NOT_SUPPORTED, 0);
    if (!cdb->MODE_SENSE.Dbd)
        AddBlockDescriptor(Unit, &mode, (BOOLEAN)(!six && cdb->MODE_SENSE10.LongLBAAccepted));
    descriptor = mode.Length - header;
    if ((subpage && subpage != MODE_ALL_SUBPAGES) ||
        !AddPages(Unit, &mode, cdb->MODE_SENSE.PageCode, (BOOLEAN)(cdb->MODE_SENSE.Pc == PC_CHANGEABLE)))
        return NvmeScsiInvalidCdb(Request);
    if (six) {
        mode.Bytes[0] = (UCHAR)(mode.Length - 1);
        mode.Bytes[2] = DeviceSpecificParameter(Unit);
        mode.Bytes[3] = (UCHAR)descriptor;
        return NvmeScsiAnswer(Request, mode.Bytes, mode.Length, cdb->MODE_SENSE.AllocationLength);
    }
    NvmeScsiPut16(mode.Bytes, mode.Length - 2);
    mode.Bytes[3] = DeviceSpecificParameter(Unit);
    mode.Bytes[4] = descriptor == 16; /* LONGLBA */
    NvmeScsiPut16(mode.Bytes + 6, descriptor);
    return NvmeScsiAnswer(Request, mode.Bytes, mode.Length, NvmeScsiGet16(cdb->MODE_SENSE10.AllocationLength));
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Executes READ CAPACITY(16). The operation code has other commands, too, which units do not support. */
static NVME_SCSI_STEP ServiceActionIn16(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    if (Request->Cdb->READ_CAPACITY16.ServiceAction != SERVICE_ACTION_READ_CAPACITY16)
        return NvmeScsiInvalidCdb(Request);
    return NvmeScsiReadCapacity16(Unit, Request);
}

static const struct {
    UCHAR Operation;
    UCHAR CdbLength;
    BOOLEAN WithoutUnit; /* the command is answered even if the target has no such unit */
    NVME_SCSI_COMMAND *Command;
} Commands[] = {
    { SCSIOP_TEST_UNIT_READY, 6, FALSE, TestUnitReady },
    { SCSIOP_REQUEST_SENSE, 6, TRUE, RequestSense },
    { SCSIOP_INQUIRY, 6, TRUE, NvmeScsiInquiry },
    { SCSIOP_REPORT_LUNS, 12, TRUE, ReportLuns },
    { SCSIOP_READ_CAPACITY, 10, FALSE, NvmeScsiReadCapacity },
    { SCSIOP_SERVICE_ACTION_IN16, 16, FALSE, ServiceActionIn16 },
    { SCSIOP_MODE_SENSE, 6, FALSE, ModeSense },
    { SCSIOP_MODE_SENSE10, 10, FALSE, ModeSense },
    { SCSIOP_START_STOP_UNIT, 6, FALSE, StartStopUnit },
    { SCSIOP_READ6, 6, FALSE, NvmeScsiReadWrite },
    { SCSIOP_READ, 10, FALSE, NvmeScsiReadWrite },
    { SCSIOP_READ12, 12, FALSE, NvmeScsiReadWrite },
    { SCSIOP_READ16, 16, FALSE, NvmeScsiReadWrite },
    { SCSIOP_WRITE6, 6, FALSE, NvmeScsiReadWrite },
    { SCSIOP_WRITE, 10, FALSE, NvmeScsiReadWrite },
    { SCSIOP_WRITE12, 12, FALSE, NvmeScsiReadWrite },
    { SCSIOP_WRITE16, 16, FALSE, NvmeScsiReadWrite },
    { SCSIOP_VERIFY, 10, FALSE, NvmeScsiVerify },
    { SCSIOP_VERIFY12, 12, FALSE, NvmeScsiVerify },
    { SCSIOP_VERIFY16, 16, FALSE, NvmeScsiVerify },
    { SCSIOP_SYNCHRONIZE_CACHE, 10, FALSE, NvmeScsiSynchronizeCache },
    { SCSIOP_SYNCHRONIZE_CACHE16, 16, FALSE, NvmeScsiSynchronizeCache },
    { SCSIOP_UNMAP, 10, FALSE, NvmeScsiUnmap },
    { SCSIOP_WRITE_SAME, 10, FALSE, NvmeScsiWriteSame },
    { SCSIOP_WRITE_SAME16, 16, FALSE, NvmeScsiWriteSame },
};

NVME_SCSI_STEP NvmeScsiTranslate(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    UCHAR operation = Request->Cdb->AsByte[0];
    ULONG i;

    Request->ScsiStatus = SCSISTAT_GOOD;
    Request->SenseKey = Request->SenseCode = Request->SenseQualifier = 0;
    Request->Transferred = 0;
    Request->RangeCount = 0;
    RtlZeroMemory(&Request->Command, sizeof(Request->Command));
    for (i = 0; i < ARRAYSIZE(Commands); i++) {
        if (Commands[i].Operation != operation)
            continue;
        if (Request->CdbLength < Commands[i].CdbLength)
            return NvmeScsiInvalidCdb(Request);
        if (!Unit && !Commands[i].WithoutUnit)
            return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_LUN, 0);
        return Commands[i].Command(Unit, Request);
    }
    return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND, 0);
}

NVME_SCSI_DATA NvmeScsiTransferDirection(const CDB *Cdb)
{
    switch (Cdb->AsByte[0]) {
    case SCSIOP_READ6:
    case SCSIOP_READ:
    case SCSIOP_READ12:
    case SCSIOP_READ16:
        return NvmeScsiDataIn;
    case SCSIOP_WRITE6:
    case SCSIOP_WRITE:
    case SCSIOP_WRITE12:
    case SCSIOP_WRITE16:
        return NvmeScsiDataOut;
    default:
        return NvmeScsiNoData;
    }
}

BOOLEAN NvmeScsiReportsAttention(const CDB *Cdb)
{
    UCHAR operation = Cdb->AsByte[0];

    return operation != SCSIOP_INQUIRY && operation != SCSIOP_REPORT_LUNS && operation != SCSIOP_REQUEST_SENSE;
}
