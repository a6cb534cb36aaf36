/* SPDX-License-Identifier: MIT */
/*
 * Executes the requests of Storport. A SCSI command is translated, and then answered at once or submitted to the
 * controller. Its NVME_REQUEST is in the SRB's extension. Storport calls these functions at up to DISPATCH_LEVEL, and
 * on several processors at the same time.
 */
#include "nvmeport.h"

VOID NvmeCompleteSrb(NVME_ADAPTER *Adapter, PSCSI_REQUEST_BLOCK Srb, UCHAR Status)
{
    Srb->SrbStatus = Status;
    StorPortNotification(RequestComplete, Adapter, Srb);
}

/* ---- SCSI commands ----------------------------------------------------------------------------------------------- */

/* Completes a SCSI command of a unit. The SRB's extension is not valid afterwards. */
static VOID EndCommand(NVME_SRB *Srb, UCHAR Status)
{
    NVME_DISK_GROUP *group = Srb->Group;
    ULONG lun = Srb->Lun;

    NvmeCompleteSrb(group->Adapter, Srb->Srb, Status);
    NvmeDisksEnd(group, lun);
}

/* Completes a command that the controller has not answered, and reports that no data were transferred. */
static VOID FailCommand(NVME_SRB *Srb, UCHAR Status)
{
    Srb->Srb->DataTransferLength = 0;
    EndCommand(Srb, Status);
}

/*
 * Copies the answer to the SRB. Returns the SRB status. A command that has transferred less data than the SRB requests
 * receives SRB_STATUS_DATA_OVERRUN, which is not an error.
 */
static UCHAR SetAnswer(NVME_SRB *Srb)
{
    PSCSI_REQUEST_BLOCK srb = Srb->Srb;
    const NVME_SCSI_REQUEST *scsi = &Srb->Scsi;
    BOOLEAN less = scsi->Transferred < srb->DataTransferLength;
    UCHAR length = srb->SrbFlags & SRB_FLAGS_DISABLE_AUTOSENSE ? 0 : srb->SenseInfoBufferLength;

    srb->ScsiStatus = scsi->ScsiStatus;
    srb->DataTransferLength = scsi->Transferred;
    if (scsi->ScsiStatus == SCSISTAT_GOOD)
        return less ? SRB_STATUS_DATA_OVERRUN : SRB_STATUS_SUCCESS;
    length = NvmeScsiWriteSense(scsi, srb->SenseInfoBuffer, length);
    if (!length)
        return SRB_STATUS_ERROR;
    srb->SenseInfoBufferLength = length;
    return SRB_STATUS_ERROR | SRB_STATUS_AUTOSENSE_VALID;
}

/* Returns the SRB status for a request that the controller has not answered. */
static UCHAR SrbStatusOf(NTSTATUS Status)
{
    switch (Status) {
    case STATUS_CANCELLED: /* a reset, or the removal of the disk, has cancelled the request */
        return SRB_STATUS_BUS_RESET;
    case STATUS_IO_TIMEOUT:
        return SRB_STATUS_TIMEOUT;
    case STATUS_DEVICE_NOT_CONNECTED:
    case STATUS_DELETE_PENDING:
        return SRB_STATUS_NO_DEVICE;
    case STATUS_INSUFFICIENT_RESOURCES:
        return SRB_STATUS_BUSY; /* Storport sends the request again later */
    default:
        return SRB_STATUS_INTERNAL_ERROR;
    }
}

#define SECOND 10000000ULL /* in the units of KeQueryInterruptTime */

/* Returns the rest of the SRB's time limit in seconds, at least 1. Returns 0 if the SRB has no limit. */
static ULONG SecondsLeft(const NVME_SRB *Srb)
{
    ULONGLONG now = KeQueryInterruptTime();

    if (!Srb->Deadline)
        return 0;
    return now < Srb->Deadline ? (ULONG)((Srb->Deadline - now + SECOND - 1) / SECOND) : 1;
}

/*
 * Submits an NVMe command for the next part of the data. The data of an SRB may be larger than one NVMe command can
 * transfer.
 */
static VOID SendPart(NVME_SRB *Srb)
{
    NVME_REQUEST *request = &Srb->Request;

    request->Offset = Srb->Scsi.Transferred - Srb->Left;
    request->Seconds = SecondsLeft(Srb);
    request->Length = min(Srb->Left, Srb->PartSize - Srb->PartSize % Srb->BlockSize);
    request->Command.io.lba = Srb->Scsi.Command.io.lba + request->Offset / Srb->BlockSize;
    request->Command.io.blocks = (USHORT)(request->Length / Srb->BlockSize - 1);
    NvmeSubmit(Srb->Group->Controller, request);
}

/*
 * Returns TRUE if the request has failed only because the controller's limit has become smaller after a reconnect. Then
 * stores the new limit in PartSize, and the caller must send the part again.
 */
static BOOLEAN HasSmallerParts(NVME_SRB *Srb)
{
    ULONG limit = NvmeControllerMaxTransfer(Srb->Group->Controller);

    if (Srb->Request.Status != STATUS_INVALID_BUFFER_SIZE || limit >= Srb->Request.Length || limit < Srb->BlockSize)
        return FALSE;
    Srb->PartSize = limit;
    return TRUE;
}

/*
 * Submits the next part, unless the SRB was aborted while the last part was at the controller. Storport does not expect
 * data of an aborted SRB, and another disk may have replaced the SRB's disk.
 */
static VOID Continue(NVME_SRB *Srb)
{
    if (NvmeDisksMayContinue(Srb))
        SendPart(Srb);
    else
        FailCommand(Srb, SRB_STATUS_BUS_RESET);
}

static VOID RequestCompleted(NVME_REQUEST *Request)
{
    NVME_SRB *srb = Request->Context;

    if (Request->Status == STATUS_SUCCESS && srb->Left > Request->Length) {
        srb->Left -= Request->Length;
        Continue(srb);
    } else if (Request->Status == STATUS_SUCCESS || Request->Status == STATUS_IO_DEVICE_ERROR) {
        NvmeScsiFinish(&srb->Scsi, Request->NvmeStatus);
        EndCommand(srb, SetAnswer(srb));
    } else if (srb->Left && HasSmallerParts(srb)) {
        Continue(srb);
    } else {
        FailCommand(srb, SrbStatusOf(Request->Status));
    }
}

/* Submits the NVMe command in Srb->Scsi: a read or write in parts, one after the other. */
static VOID Send(NVME_SRB *Srb, NVME_SCSI_STEP Step)
{
    NVME_REQUEST *request = &Srb->Request;
    PVOID mdl = NULL;

    RtlZeroMemory(request, sizeof(*request));
    request->Command = Srb->Scsi.Command;
    request->Resets = Srb->Resets;
    request->Seconds = Srb->Srb->TimeOutValue;
    Srb->Deadline = request->Seconds ? KeQueryInterruptTime() + request->Seconds * SECOND : 0;
    request->Completion = RequestCompleted;
    request->Context = Srb;
    Srb->Left = 0;
    if (Step == NvmeScsiSendData) {
        if (StorPortGetOriginalMdl(Srb->Group->Adapter, Srb->Srb, &mdl) != STOR_STATUS_SUCCESS || !mdl) {
            FailCommand(Srb, SRB_STATUS_INTERNAL_ERROR);
            return;
        }
        request->Direction = Srb->Scsi.Direction == NvmeScsiDataIn ? NvmeFromController : NvmeToController;
        request->Mdl = mdl;
        Srb->Left = Srb->Scsi.Transferred;
        SendPart(Srb);
        return;
    }
    if (Step == NvmeScsiSendRanges) {
        request->Direction = NvmeToController;
        request->Buffer = Srb->Scsi.Ranges;
        request->Length = Srb->Scsi.RangeCount * sizeof(Srb->Scsi.Ranges[0]);
    }
    NvmeSubmit(Srb->Group->Controller, request);
}

/* Sets the input of NvmeScsiTranslate. Returns FALSE if the data cannot be mapped. */
static BOOLEAN DescribeCommand(NVME_ADAPTER *Adapter, NVME_SRB *Srb, ULONGLONG Luns)
{
    PSCSI_REQUEST_BLOCK srb = Srb->Srb;
    NVME_SCSI_REQUEST *scsi = &Srb->Scsi;
    ULONG direction = srb->SrbFlags & SRB_FLAGS_UNSPECIFIED_DIRECTION;
    PVOID data = NULL;

    scsi->Cdb = (const CDB *)srb->Cdb;
    scsi->CdbLength = srb->CdbLength;
    scsi->Direction = direction == SRB_FLAGS_DATA_IN ? NvmeScsiDataIn
        : direction == SRB_FLAGS_DATA_OUT            ? NvmeScsiDataOut
                                                     : NvmeScsiNoData;
    scsi->DataLength = direction ? srb->DataTransferLength : 0;
    scsi->Luns = Luns;
    if (scsi->DataLength && NvmeScsiTransferDirection(scsi->Cdb) == NvmeScsiNoData &&
        StorPortGetSystemAddress(Adapter, srb, &data) != STOR_STATUS_SUCCESS)
        return FALSE;
    scsi->Data = data;
    return TRUE;
}

static VOID StartCommand(NVME_ADAPTER *Adapter, NVME_SRB *Srb)
{
    NVME_DISK_VIEW view;
    NVME_SCSI_STEP step;
    UCHAR status = NvmeDisksBegin(Adapter, Srb, &view);

    if (status != SRB_STATUS_PENDING) {
        Srb->Srb->DataTransferLength = 0;
        NvmeCompleteSrb(Adapter, Srb->Srb, status);
        return;
    }
    Srb->BlockSize = view.Unit.BlockSize;
    Srb->PartSize = view.Unit.PartTransfer;
    if (!DescribeCommand(Adapter, Srb, view.Luns)) {
        FailCommand(Srb, SRB_STATUS_INTERNAL_ERROR);
        return;
    }
    if (view.Attention)
        step = NvmeScsiFail(&Srb->Scsi, SCSI_SENSE_UNIT_ATTENTION, SCSI_ADSENSE_PARAMETERS_CHANGED,
            SCSI_SENSEQ_CAPACITY_DATA_CHANGED);
    else
        step = NvmeScsiTranslate(view.Present ? &view.Unit : NULL, &Srb->Scsi);
    if (step == NvmeScsiAnswered)
        EndCommand(Srb, SetAnswer(Srb));
    else
        Send(Srb, step);
}

/* ---- Other requests ---------------------------------------------------------------------------------------------- */

static VOID StartReset(NVME_ADAPTER *Adapter, NVME_SRB *Srb)
{
    UCHAR status = NvmeDisksReset(Adapter, Srb, (BOOLEAN)(Srb->Srb->Function == SRB_FUNCTION_RESET_DEVICE));

    if (status != SRB_STATUS_PENDING)
        NvmeCompleteSrb(Adapter, Srb->Srb, status);
}

/*
 * Does not complete the SRBs before it returns, because the targets can access the SRBs' data until the old connections
 * are closed.
 */
BOOLEAN NvmeResetBus(PVOID DeviceExtension, ULONG PathId)
{
    UNREFERENCED_PARAMETER(PathId);
    NvmeDisksResetBus(DeviceExtension);
    return TRUE;
}

/*
 * Answers a PnP request for a unit. A removed unit has nothing to free, and the capabilities of a unit are Storport's
 * defaults.
 */
static UCHAR AnswerPnp(const SCSI_PNP_REQUEST_BLOCK *Srb)
{
    switch (Srb->PnPAction) {
    case StorStartDevice:
    case StorStopDevice:
    case StorRemoveDevice:
    case StorSurpriseRemoval:
        return SRB_STATUS_SUCCESS;
    default:
        return SRB_STATUS_INVALID_REQUEST;
    }
}

BOOLEAN NvmeStartIo(PVOID DeviceExtension, PSCSI_REQUEST_BLOCK Srb)
{
    NVME_ADAPTER *adapter = DeviceExtension;
    NVME_SRB *extension = Srb->SrbExtension;

    switch (Srb->Function) {
    case SRB_FUNCTION_EXECUTE_SCSI:
        extension->Srb = Srb;
        StartCommand(adapter, extension);
        break;
    case SRB_FUNCTION_RESET_LOGICAL_UNIT:
    case SRB_FUNCTION_RESET_DEVICE:
        extension->Srb = Srb;
        StartReset(adapter, extension);
        break;
    case SRB_FUNCTION_RESET_BUS:
        NvmeResetBus(adapter, Srb->PathId);
        NvmeCompleteSrb(adapter, Srb, SRB_STATUS_SUCCESS);
        break;
    case SRB_FUNCTION_PNP:
        NvmeCompleteSrb(adapter, Srb, AnswerPnp((const SCSI_PNP_REQUEST_BLOCK *)Srb));
        break;
    case SRB_FUNCTION_FLUSH:    /* no action: class drivers flush the disks with SYNCHRONIZE CACHE */
    case SRB_FUNCTION_SHUTDOWN: /* no action: the adapter itself stores no data */
    case SRB_FUNCTION_POWER:
        NvmeCompleteSrb(adapter, Srb, SRB_STATUS_SUCCESS);
        break;
    default:
        NvmeCompleteSrb(adapter, Srb, SRB_STATUS_INVALID_REQUEST);
        break;
    }
    return TRUE;
}
