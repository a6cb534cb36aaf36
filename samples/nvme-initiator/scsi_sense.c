/* SPDX-License-Identifier: MIT */
/*
 * Translates NVMe status to SCSI status and sense data. The table contains the NVMe status values that SCSI can
 * express. It follows NVM Express' SCSI Translation Reference, except for codes that class drivers do not understand. A
 * status that is not in the table becomes ABORTED COMMAND, after which class drivers retry. If the controller has set
 * Do Not Retry, such a status becomes HARDWARE ERROR.
 */
#include "nvmescsi.h"

#define ADSENSE_SPACE_ALLOCATION_FAILED 0x07 /* additional sense code qualifier for SCSI_ADSENSE_WRITE_PROTECT */

static const struct {
    USHORT NvmeStatus;
    UCHAR Key, Code, Qualifier;
} SenseOfStatus[] = {
    { NVME_INVALID_OPCODE, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_COMMAND, 0 },
    { NVME_INVALID_FIELD, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_CDB, 0 },
    { NVME_CONFLICTING_ATTRIBUTES, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_CDB, 0 },
    { NVME_INVALID_NAMESPACE, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_INVALID_LUN, 0 },
    { NVME_LBA_OUT_OF_RANGE, SCSI_SENSE_ILLEGAL_REQUEST, SCSI_ADSENSE_ILLEGAL_BLOCK, 0 },
    { NVME_NAMESPACE_NOT_READY, SCSI_SENSE_NOT_READY, SCSI_ADSENSE_LUN_NOT_READY, SCSI_SENSEQ_BECOMING_READY },
    { NVME_NAMESPACE_WRITE_PROTECTED, SCSI_SENSE_DATA_PROTECT, SCSI_ADSENSE_WRITE_PROTECT, 0 },
    { NVME_READ_ONLY_RANGE, SCSI_SENSE_DATA_PROTECT, SCSI_ADSENSE_WRITE_PROTECT, 0 },
    { NVME_CAPACITY_EXCEEDED, SCSI_SENSE_DATA_PROTECT, SCSI_ADSENSE_WRITE_PROTECT, ADSENSE_SPACE_ALLOCATION_FAILED },
    { NVME_WRITE_FAULT, SCSI_SENSE_MEDIUM_ERROR, SCSI_ADSENSE_WRITE, 0 },
    { NVME_UNRECOVERED_READ_ERROR, SCSI_SENSE_MEDIUM_ERROR, SCSI_ADSENSE_UNRECOVERED_ERROR, 0 },
    { NVME_COMPARE_FAILURE, SCSI_SENSE_MISCOMPARE, SCSI_ADSENSE_MISCOMPARE_DURING_VERIFY_OPERATION, 0 },
    { NVME_INTERNAL_ERROR, SCSI_SENSE_HARDWARE_ERROR, SCSI_ADSENSE_INTERNAL_TARGET_FAILURE, 0 },
};

NVME_SCSI_STEP NvmeScsiFail(NVME_SCSI_REQUEST *Request, UCHAR Key, UCHAR Code, UCHAR Qualifier)
{
    Request->ScsiStatus = SCSISTAT_CHECK_CONDITION;
    Request->SenseKey = Key;
    Request->SenseCode = Code;
    Request->SenseQualifier = Qualifier;
    Request->Transferred = 0;
    return NvmeScsiAnswered;
}

VOID NvmeScsiFinish(NVME_SCSI_REQUEST *Request, USHORT NvmeStatus)
{
    USHORT code = NvmeStatus & NVME_STATUS_CODE_MASK;
    ULONG i;

    if (code == NVME_SUCCESS) {
        NvmeScsiSucceed(Request);
        return;
    }
    for (i = 0; i < ARRAYSIZE(SenseOfStatus); i++) {
        if (SenseOfStatus[i].NvmeStatus != code)
            continue;
        NvmeScsiFail(Request, SenseOfStatus[i].Key, SenseOfStatus[i].Code, SenseOfStatus[i].Qualifier);
        return;
    }
    if (NvmeStatus & NVME_DNR)
        NvmeScsiFail(Request, SCSI_SENSE_HARDWARE_ERROR, SCSI_ADSENSE_INTERNAL_TARGET_FAILURE, 0);
    else
        NvmeScsiFail(Request, SCSI_SENSE_ABORTED_COMMAND, SCSI_ADSENSE_NO_SENSE, 0);
}

UCHAR NvmeScsiWriteSense(const NVME_SCSI_REQUEST *Request, PVOID Sense, UCHAR Length)
{
    SENSE_DATA data = { 0 };
    UCHAR length = min(Length, sizeof(data));

    if (Request->ScsiStatus != SCSISTAT_CHECK_CONDITION || !Sense)
        return 0;
    data.ErrorCode = SCSI_SENSE_ERRORCODE_FIXED_CURRENT;
    data.SenseKey = Request->SenseKey;
    data.AdditionalSenseLength = sizeof(data) - FIELD_OFFSET(SENSE_DATA, CommandSpecificInformation);
    data.AdditionalSenseCode = Request->SenseCode;
    data.AdditionalSenseCodeQualifier = Request->SenseQualifier;
    RtlCopyMemory(Sense, &data, length);
    return length;
}
