/* SPDX-License-Identifier: MIT */
/*
 * Translates SCSI commands that read, write or unmap blocks. Before a command is sent, its range is compared with the
 * namespace, and its length with the caller's data. NVMe stores the number of blocks minus one, so 0 means one block.
 */
#include "nvmescsi.h"

typedef struct _BLOCK_RANGE {
    ULONGLONG Lba;
    ULONG Count;
} BLOCK_RANGE;

/*
 * Returns bits 7 to 5 of the operation code, the group. The group determines the command's length and the offsets of
 * its fields.
 */
static UCHAR Group(const CDB *Cdb)
{
    return Cdb->AsByte[0] >> 5;
}

static BLOCK_RANGE DecodeRange(const CDB *Cdb)
{
    const UCHAR *bytes = Cdb->AsByte;
    BLOCK_RANGE range;

    switch (Group(Cdb)) {
    case 0: /* 6 bytes, with an LBA of 21 bits; the count 0 means 256 */
        range.Lba = NvmeScsiGet32(bytes) & 0x1fffff;
        range.Count = bytes[4] ? bytes[4] : 256;
        break;
    case 5: /* 12 bytes */
        range.Lba = NvmeScsiGet32(bytes + 2);
        range.Count = NvmeScsiGet32(bytes + 6);
        break;
    case 4: /* 16 bytes */
        range.Lba = NvmeScsiGet64(bytes + 2);
        range.Count = NvmeScsiGet32(bytes + 10);
        break;
    default: /* 10 bytes */
        range.Lba = NvmeScsiGet32(bytes + 2);
        range.Count = NvmeScsiGet16(bytes + 7);
        break;
    }
    return range;
}

/*
 * Returns TRUE if the command requests protection information, which no unit has. The request is in bits 7 to 5 of byte
 * 1, except in a command of 6 bytes, which has no such bits.
 */
static BOOLEAN WantsProtection(const CDB *Cdb)
{
    return Group(Cdb) != 0 && Cdb->AsByte[1] >> 5;
}

static BOOLEAN IsInside(const NVME_SCSI_UNIT *Unit, ULONGLONG Lba, ULONG Count)
{
    return Lba <= Unit->BlockCount && Count <= Unit->BlockCount - Lba;
}

static NVME_SCSI_STEP FailRange(NVME_SCSI_REQUEST *Request)
{
    return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_BLOCK, 0);
}

static NVME_SCSI_STEP FailReadOnly(NVME_SCSI_REQUEST *Request)
{
    return NvmeScsiFail(Request, SCSI_SENSE_DATA_PROTECT, SCSI_ADSENSE_WRITE_PROTECT, 0);
}

static NVME_SCSI_STEP FailUnsupported(NVME_SCSI_REQUEST *Request)
{
    return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND, 0);
}

static VOID BuildCommand(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request, UCHAR Opcode, BLOCK_RANGE Range)
{
    Request->Command.opcode = Opcode;
    Request->Command.nsid = Unit->NamespaceId;
    Request->Command.io.lba = Range.Lba;
    Request->Command.io.blocks = (USHORT)(Range.Count - 1);
}

/* ---- Commands that transfer the data of each block: reads, writes, compares -------------------------------------- */

/* Builds an NVMe command with Range.Count blocks of data. Direction is the direction of the data. */
static NVME_SCSI_STEP SendBlocks(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request, UCHAR Opcode,
    BLOCK_RANGE Range, NVME_SCSI_DATA Direction)
{
    ULONG most = min(Unit->MaximumTransfer / Unit->BlockSize, NVME_SCSI_MAX_BLOCKS);

    if (!IsInside(Unit, Range.Lba, Range.Count))
        return FailRange(Request);
    if (Range.Count == 0)
        return NvmeScsiSucceed(Request);
    if (Range.Count > most || Range.Count > Request->DataLength / Unit->BlockSize || Request->Direction != Direction)
        return NvmeScsiInvalidCdb(Request);
    BuildCommand(Unit, Request, Opcode, Range);
    Request->Transferred = Range.Count * Unit->BlockSize;
    return NvmeScsiSendData;
}

NVME_SCSI_STEP NvmeScsiReadWrite(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    const CDB *cdb = Request->Cdb;
    NVME_SCSI_DATA direction = NvmeScsiTransferDirection(cdb);
    BOOLEAN read = direction == NvmeScsiDataIn;
    NVME_SCSI_STEP step;

    if (WantsProtection(cdb))
        return NvmeScsiInvalidCdb(Request);
    if (!read && Unit->ReadOnly)
        return FailReadOnly(Request);
    step = SendBlocks(Unit, Request, read ? NVME_IO_READ : NVME_IO_WRITE, DecodeRange(cdb), direction);
    if (step == NvmeScsiSendData && Group(cdb) != 0 && cdb->CDB10.ForceUnitAccess)
        Request->Command.io.control = NVME_IO_FUA;
    return step;
}

/*
 * Executes VERIFY. If BYTCHK is 1, the controller compares the blocks with the data. If BYTCHK is 0, only the range is
 * checked, because most targets have no command that reads blocks without a transfer.
 */
NVME_SCSI_STEP NvmeScsiVerify(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    const CDB *cdb = Request->Cdb;
    BLOCK_RANGE range = DecodeRange(cdb);
    UCHAR byteCheck = cdb->AsByte[1] >> 1 & 3;

    if (WantsProtection(cdb) || byteCheck > 1)
        return NvmeScsiInvalidCdb(Request);
    if (byteCheck == 0)
        return IsInside(Unit, range.Lba, range.Count) ? NvmeScsiSucceed(Request) : FailRange(Request);
    if (!Unit->CanCompare)
        return NvmeScsiInvalidCdb(Request);
    return SendBlocks(Unit, Request, NVME_IO_COMPARE, range, NvmeScsiDataOut);
}

/* ---- Flush ------------------------------------------------------------------------------------------------------- */

NVME_SCSI_STEP NvmeScsiFlush(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    if (!Unit->VolatileCache)
        return NvmeScsiSucceed(Request);
    Request->Command.opcode = NVME_IO_FLUSH;
    Request->Command.nsid = Unit->NamespaceId;
    return NvmeScsiSend;
}

/*
 * Flushes the whole unit, because an NVMe Flush has no range. The command completes after the flush, even if Immediate
 * is set.
 */
NVME_SCSI_STEP NvmeScsiSynchronizeCache(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    BLOCK_RANGE range = DecodeRange(Request->Cdb); /* Count 0: up to the last block */

    return IsInside(Unit, range.Lba, range.Count) ? NvmeScsiFlush(Unit, Request) : FailRange(Request);
}

/* ---- UNMAP ------------------------------------------------------------------------------------------------------- */

#define UNMAP_HEADER 8

static NVME_SCSI_STEP FailParameterLength(NVME_SCSI_REQUEST *Request)
{
    return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_PARAMETER_LIST_LENGTH, 0);
}

/* Adds the descriptor to Ranges, unless it is empty. Returns FALSE if its range is not inside the unit. */
static BOOLEAN AddRange(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request,
    const UNMAP_BLOCK_DESCRIPTOR *Descriptor)
{
    ULONGLONG lba = NvmeScsiGet64(Descriptor->StartingLba);
    ULONG count = NvmeScsiGet32(Descriptor->LbaCount);
    struct nvme_dataset_range *range = &Request->Ranges[Request->RangeCount];

    if (!IsInside(Unit, lba, count))
        return FALSE;
    if (count == 0)
        return TRUE;
    range->attributes = 0;
    range->blocks = count;
    range->lba = lba;
    Request->RangeCount++;
    return TRUE;
}

static NVME_SCSI_STEP SendRanges(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request, ULONG ParameterLength)
{
    if (Request->RangeCount == 0)
        return NvmeScsiSucceed(Request);
    Request->Command.opcode = NVME_IO_DATASET_MANAGEMENT;
    Request->Command.nsid = Unit->NamespaceId;
    Request->Command.cdw10 = Request->RangeCount - 1;
    Request->Command.cdw11 = NVME_DATASET_DEALLOCATE;
    Request->Transferred = ParameterLength;
    return NvmeScsiSendRanges;
}

/* Executes UNMAP. Ignores an incomplete descriptor at the end of the list, as the SCSI standard requires. */
NVME_SCSI_STEP NvmeScsiUnmap(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    ULONG length = NvmeScsiGet16(Request->Cdb->UNMAP.AllocationLength), descriptors, i;
    const UNMAP_LIST_HEADER *list = (const UNMAP_LIST_HEADER *)Request->Data;

    if (!Unit->CanDeallocate)
        return FailUnsupported(Request);
    if (Request->Cdb->UNMAP.Anchor || (length && (Request->Direction != NvmeScsiDataOut || !list)))
        return NvmeScsiInvalidCdb(Request);
    if (Unit->ReadOnly)
        return FailReadOnly(Request);
    if (length == 0)
        return NvmeScsiSucceed(Request);
    if (length < UNMAP_HEADER || length > Request->DataLength ||
        NvmeScsiGet16(list->BlockDescrDataLength) > length - UNMAP_HEADER)
        return FailParameterLength(Request);
    descriptors = NvmeScsiGet16(list->BlockDescrDataLength) / sizeof(UNMAP_BLOCK_DESCRIPTOR);
    if (descriptors > NVME_SCSI_MAX_RANGES)
        return NvmeScsiFail(Request, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_FIELD_PARAMETER_LIST, 0);
    for (i = 0; i < descriptors; i++)
        if (!AddRange(Unit, Request, &list->Descriptors[i]))
            return FailRange(Request);
    return SendRanges(Unit, Request, length);
}

/* ---- WRITE SAME -------------------------------------------------------------------------------------------------- */

#define WRITE_SAME_NO_DATA 0x01  /* in byte 1 of WRITE SAME(16): write zeros */
/* In byte 1 of WRITE SAME: obsolete flags, for example "write the number of each block". */
#define WRITE_SAME_OBSOLETE 0x06
#define WRITE_SAME_UNMAP 0x08
#define WRITE_SAME_ANCHOR 0x10

static BOOLEAN HasData(const CDB *Cdb)
{
    return Cdb->AsByte[0] != SCSIOP_WRITE_SAME16 || !(Cdb->AsByte[1] & WRITE_SAME_NO_DATA);
}

/* Returns TRUE if the data, which are one block, are all zeros. NVMe has no command that repeats other data. */
static BOOLEAN IsZeroBlock(const NVME_SCSI_UNIT *Unit, const NVME_SCSI_REQUEST *Request)
{
    ULONG i;

    if (Request->Direction != NvmeScsiDataOut || !Request->Data || Request->DataLength < Unit->BlockSize)
        return FALSE;
    for (i = 0; i < Unit->BlockSize; i++)
        if (Request->Data[i])
            return FALSE;
    return TRUE;
}

/* Executes WRITE SAME with zeros. Refuses a count of 0; the page "block limits" announces that. */
NVME_SCSI_STEP NvmeScsiWriteSame(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request)
{
    UCHAR flags = Request->Cdb->AsByte[1];
    BLOCK_RANGE range = DecodeRange(Request->Cdb);
    BOOLEAN hasData = HasData(Request->Cdb);

    if (!Unit->CanWriteZeroes)
        return FailUnsupported(Request);
    if (WantsProtection(Request->Cdb) || flags & (WRITE_SAME_OBSOLETE | WRITE_SAME_ANCHOR) || range.Count == 0 ||
        range.Count > NVME_SCSI_MAX_BLOCKS || (hasData && !IsZeroBlock(Unit, Request)))
        return NvmeScsiInvalidCdb(Request);
    if (Unit->ReadOnly)
        return FailReadOnly(Request);
    if (!IsInside(Unit, range.Lba, range.Count))
        return FailRange(Request);
    BuildCommand(Unit, Request, NVME_IO_WRITE_ZEROES, range);
    if (flags & WRITE_SAME_UNMAP && Unit->ZeroesDeallocate)
        Request->Command.io.control = NVME_IO_DEALLOCATE;
    Request->Transferred = hasData ? Unit->BlockSize : 0;
    return NvmeScsiSend;
}
