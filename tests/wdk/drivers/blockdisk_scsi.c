/* SPDX-License-Identifier: MIT */
/* The SCSI commands of blockdisk.c. */
#include "blockdisk.h"

static UCHAR fail(PSCSI_REQUEST_BLOCK srb, ULONG key, ULONG code, ULONG qualifier)
{
    PSENSE_DATA sense = srb->SenseInfoBuffer;

    srb->ScsiStatus = SCSISTAT_CHECK_CONDITION;
    srb->DataTransferLength = 0;
    if (!sense || srb->SenseInfoBufferLength < SENSE_BUFFER_SIZE)
        return SRB_STATUS_ERROR;
    RtlZeroMemory(sense, srb->SenseInfoBufferLength);
    sense->ErrorCode = SCSI_SENSE_ERRORCODE_FIXED_CURRENT;
    sense->SenseKey = (UCHAR)key;
    sense->AdditionalSenseCode = (UCHAR)code;
    sense->AdditionalSenseCodeQualifier = (UCHAR)qualifier;
    sense->AdditionalSenseLength = SENSE_BUFFER_SIZE - 8;
    return SRB_STATUS_ERROR | SRB_STATUS_AUTOSENSE_VALID;
}

static UCHAR refuse(PSCSI_REQUEST_BLOCK srb)
{
    return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND, 0);
}

static UCHAR busy(PSCSI_REQUEST_BLOCK srb)
{
    srb->ScsiStatus = SCSISTAT_BUSY;
    srb->DataTransferLength = 0;
    return SRB_STATUS_ERROR;
}

static VOID put(PUCHAR at, ULONGLONG value, ULONG bytes)
{
    for (ULONG i = 0; i < bytes; i++)
        at[i] = (UCHAR)(value >> (8 * (bytes - 1 - i)));
}

static ULONGLONG get(const UCHAR *at, ULONG bytes)
{
    ULONGLONG value = 0;

    for (ULONG i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static UCHAR answer(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, const VOID *data, ULONG length)
{
    ULONG n = min(length, srb->DataTransferLength);
    PVOID to;

    if (StorPortGetSystemAddress(d, srb, &to))
        return SRB_STATUS_INTERNAL_ERROR;
    RtlCopyMemory(to, data, n);
    srb->DataTransferLength = n;
    return SRB_STATUS_SUCCESS;
}

/* ---- What the unit is -------------------------------------------------------------------------------------------- */

static UCHAR page(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, UCHAR code)
{
    UCHAR data[64] = { 0 };

    if (!d->settings.Modern || (code != VPD_BLOCK_LIMITS && code != 0xb2))
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_CDB, 0);
    data[1] = code;
    data[3] = code == VPD_BLOCK_LIMITS ? 60 : 4;
    if (code == VPD_BLOCK_LIMITS) {
        put(data + 8, 64, 4);         /* maximum transfer length */
        put(data + 12, 32, 4);        /* optimal transfer length */
        put(data + 20, 1000, 4);      /* maximum blocks of UNMAP */
        put(data + 24, 1, 4);         /* maximum descriptors of UNMAP */
        put(data + 36, 2000, 8);      /* maximum blocks of WRITE SAME */
    } else {
        data[5] = 0x80 | 0x40; /* UNMAP, WRITE SAME(16) with UNMAP */
    }
    return answer(d, srb, data, 4u + data[3]);
}

static UCHAR inquiry(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb)
{
    INQUIRYDATA data = { .DeviceType = DIRECT_ACCESS_DEVICE, .Versions = 6, .ResponseDataFormat = 2,
                         .AdditionalLength = INQUIRYDATABUFFERSIZE - 5, .CommandQueue = 1 };

    if (srb->Cdb[1] & 1)
        return page(d, srb, srb->Cdb[2]);
    (void)StorPortSetDeviceQueueDepth(d, srb->PathId, srb->TargetId, srb->Lun, 32);
    RtlCopyMemory(data.VendorId, "OpenNDK ", 8);
    RtlCopyMemory(data.ProductId, "Block disk      ", 16);
    RtlCopyMemory(data.ProductRevisionLevel, "1.0 ", 4);
    return answer(d, srb, &data, min(INQUIRYDATABUFFERSIZE, srb->Cdb[4]));
}

static UCHAR capacity(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb)
{
    UCHAR data[32] = { 0 };

    if (srb->Cdb[0] == SCSIOP_READ_CAPACITY) {
        put(data, min(d->blocks - 1, MAXULONG), 4);
        put(data + 4, d->settings.BlockSize, 4);
        return answer(d, srb, data, 8);
    }
    if (!d->settings.Modern || srb->Cdb[1] != SERVICE_ACTION_READ_CAPACITY16)
        return refuse(srb);
    if (d->settings.Modern == 2)
        return answer(d, srb, data, sizeof data);
    put(data, d->blocks - 1, 8);
    put(data + 8, d->settings.BlockSize, 4);
    data[13] = d->settings.BlockSize == 512 ? 3 : 0; /* physical blocks of 4096 bytes */
    data[14] = 0x80;                                 /* thin provisioning */
    return answer(d, srb, data, sizeof data);
}

static UCHAR mode_sense(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb)
{
    UCHAR data[4] = { 3, 0, (UCHAR)(0x10 | (d->settings.ReadOnly ? 0x80 : 0)), 0 };

    return d->settings.Modern ? answer(d, srb, data, sizeof data) : refuse(srb);
}

static UCHAR report_luns(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb)
{
    UCHAR data[8 + 8 * BLOCKDISK_UNITS] = { 0 };
    ULONG n = 0;

    for (UCHAR lun = 0; lun < BLOCKDISK_UNITS; lun++)
        if (d->units[lun].present)
            data[8 + 8 * n++ + 1] = lun;
    put(data, 8 * n, 4);
    return answer(d, srb, data, 8 + 8 * n);
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */

static BOOLEAN obey(struct blockdisk *d, struct unit *u, const struct order *o)
{
    PVOID left;

    if (RtlCompareMemory(o->magic, "BLKORDER", 8) != 8)
        return FALSE;
    switch (o->verb) {
    case ORDER_FAIL:
        RtlCopyMemory(u->fail_sense, &o->arguments[1], sizeof u->fail_sense);
        u->fail_block = o->arguments[0];
        break;
    case ORDER_BUSY: u->busy = (LONG)o->arguments[0]; break;
    case ORDER_ATTENTION: u->attention = (LONG)o->arguments[0]; break;
    case ORDER_HANG: u->hang_block = o->arguments[0]; break;
    case ORDER_SHORT: u->short_block = o->arguments[0]; break;
    case ORDER_DELAY: d->delay = o->arguments[0]; break;
    case ORDER_RESIZE: d->blocks = min(o->arguments[0], d->settings.Blocks); break;
    case ORDER_REMOVE:
        d->units[o->arguments[0] % BLOCKDISK_UNITS].present = FALSE;
        StorPortNotification(BusChangeDetected, d, 0);
        break;
    case ORDER_LEAK: (void)StorPortAllocatePool(d, 100, BLOCKDISK_TAG, &left); break;
    default: return FALSE;
    }
    return TRUE;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

struct range {
    ULONGLONG block;
    ULONG blocks;
};

static BOOLEAN range_has(const struct range *r, ULONG block)
{
    return block >= r->block && block - r->block < r->blocks;
}

/* Returns the status if an order prevents the command, otherwise SRB_STATUS_PENDING. */
static UCHAR obstruct(struct unit *u, PSCSI_REQUEST_BLOCK srb, const struct range *r, BOOLEAN *hangs)
{
    if (u->busy > 0 && InterlockedDecrement(&u->busy) >= 0)
        return busy(srb);
    if (u->attention > 0 && InterlockedDecrement(&u->attention) >= 0)
        return fail(srb, SCSI_SENSE_UNIT_ATTENTION, SCSI_ADSENSE_BUS_RESET, 0);
    if (range_has(r, u->fail_block))
        return fail(srb, u->fail_sense[0], u->fail_sense[1], u->fail_sense[2]);
    if (range_has(r, u->hang_block)) {
        *hangs = TRUE;
        return SRB_STATUS_ABORTED;
    }
    return SRB_STATUS_PENDING;
}

static UCHAR transfer(struct blockdisk *d, struct unit *u, PSCSI_REQUEST_BLOCK srb, const struct range *r, BOOLEAN out)
{
    ULONG size = d->settings.BlockSize, length = r->blocks * size;
    PUCHAR at = u->data + r->block % d->settings.Blocks * size;
    PVOID data;

    if (length > srb->DataTransferLength || StorPortGetSystemAddress(d, srb, &data))
        return SRB_STATUS_INTERNAL_ERROR;
    if (length > d->counters.largest)
        d->counters.largest = length;
    if (srb->CdbLength == 16)
        InterlockedIncrement(&d->counters.long_commands);
    if (!out) {
        InterlockedIncrement(&d->counters.reads);
        RtlCopyMemory(data, at, length);
    } else {
        InterlockedIncrement(&d->counters.writes);
        if (srb->Cdb[1] & 0x08)
            InterlockedIncrement(&d->counters.fua_writes);
        if (r->blocks != 1 || r->block != d->settings.Blocks - 1 || !obey(d, u, data))
            RtlCopyMemory(at, data, length);
    }
    srb->DataTransferLength = length - (range_has(r, u->short_block) ? size : 0);
    return SRB_STATUS_SUCCESS;
}

static UCHAR zero(struct blockdisk *d, struct unit *u, PSCSI_REQUEST_BLOCK srb, const struct range *r)
{
    BOOLEAN unmap = srb->Cdb[0] == SCSIOP_UNMAP;

    if (!d->settings.Modern || (!unmap && d->settings.NoWriteSame))
        return refuse(srb);
    if (r->blocks > (unmap ? 1000 : 2000))
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_CDB, 0);
    InterlockedIncrement(unmap ? &d->counters.unmaps : &d->counters.write_sames);
    RtlZeroMemory(u->data + r->block * d->settings.BlockSize, (SIZE_T)r->blocks * d->settings.BlockSize);
    return SRB_STATUS_SUCCESS;
}

/* Sets the blocks of the command. Returns FALSE if the command has none. */
static BOOLEAN range_of(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, struct range *r)
{
    PUCHAR data;

    switch (srb->Cdb[0]) {
    case SCSIOP_READ:
    case SCSIOP_WRITE:
        *r = (struct range){ get(srb->Cdb + 2, 4), (ULONG)get(srb->Cdb + 7, 2) };
        return TRUE;
    case SCSIOP_READ16:
    case SCSIOP_WRITE16:
    case SCSIOP_WRITE_SAME16:
        *r = (struct range){ get(srb->Cdb + 2, 8), (ULONG)get(srb->Cdb + 10, 4) };
        return TRUE;
    case SCSIOP_UNMAP:
        if (srb->DataTransferLength < 24 || StorPortGetSystemAddress(d, srb, (PVOID *)&data))
            return FALSE;
        *r = (struct range){ get(data + 8, 8), (ULONG)get(data + 16, 4) };
        return TRUE;
    default:
        return FALSE;
    }
}

static UCHAR execute_for_blocks(struct blockdisk *d, struct unit *u, PSCSI_REQUEST_BLOCK srb, BOOLEAN *hangs)
{
    struct range r;
    UCHAR status;

    if (!range_of(d, srb, &r))
        return refuse(srb);
    status = obstruct(u, srb, &r, hangs);
    if (status != SRB_STATUS_PENDING)
        return status;
    if (r.block >= d->blocks || r.blocks > d->blocks - r.block)
        return fail(srb, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_BLOCK, 0);
    switch (srb->Cdb[0]) {
    case SCSIOP_READ:
    case SCSIOP_READ16:
        return transfer(d, u, srb, &r, FALSE);
    case SCSIOP_WRITE:
    case SCSIOP_WRITE16:
        return d->settings.ReadOnly ? fail(srb, SCSI_SENSE_DATA_PROTECT, SCSI_ADSENSE_WRITE_PROTECT, 0)
                                    : transfer(d, u, srb, &r, TRUE);
    default:
        return zero(d, u, srb, &r);
    }
}

BOOLEAN blockdisk_is_for_blocks(PSCSI_REQUEST_BLOCK srb)
{
    switch (srb->Cdb[0]) {
    case SCSIOP_READ:
    case SCSIOP_READ16:
    case SCSIOP_WRITE:
    case SCSIOP_WRITE16:
    case SCSIOP_WRITE_SAME16:
    case SCSIOP_UNMAP:
        return TRUE;
    default:
        return FALSE;
    }
}

UCHAR blockdisk_execute(struct blockdisk *d, PSCSI_REQUEST_BLOCK srb, BOOLEAN *hangs)
{
    if (srb->PathId || srb->TargetId || srb->Lun >= BLOCKDISK_UNITS || !d->units[srb->Lun].present)
        return SRB_STATUS_NO_DEVICE;
    if (blockdisk_is_for_blocks(srb))
        return execute_for_blocks(d, &d->units[srb->Lun], srb, hangs);
    switch (srb->Cdb[0]) {
    case SCSIOP_TEST_UNIT_READY: return SRB_STATUS_SUCCESS;
    case SCSIOP_INQUIRY: return inquiry(d, srb);
    case SCSIOP_READ_CAPACITY:
    case SCSIOP_READ_CAPACITY16: return capacity(d, srb);
    case SCSIOP_MODE_SENSE: return mode_sense(d, srb);
    case SCSIOP_REPORT_LUNS: return report_luns(d, srb);
    case SCSIOP_SYNCHRONIZE_CACHE:
        InterlockedIncrement(&d->counters.flushes);
        return d->settings.Modern ? SRB_STATUS_SUCCESS : refuse(srb);
    default: return refuse(srb);
    }
}
