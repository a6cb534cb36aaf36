/* SPDX-License-Identifier: MIT */
/* Sends SCSI commands of the host program: see openndk/wdk.h. */
#include <string.h>

#include "ntddscsi.h"

#include "openndk/wdk.h"

#include "base/sized.h"
#include "wdk/common/host_error.h"

/* The input and output of the control code, with the sense data behind the structure. */
struct pass_through {
    SCSI_PASS_THROUGH_DIRECT direct;
    UCHAR sense[sizeof((ondk_wdk_scsi_command_t *)NULL)->sense];
};

static int host_scsi_send(ondk_wdk_device_t *adapter, ondk_wdk_scsi_command_t *command, uint32_t *status)
{
    struct pass_through p = { .direct = { .Length = sizeof p.direct } };

    p.direct.PathId = command->path;
    p.direct.TargetId = command->target;
    p.direct.Lun = command->lun;
    p.direct.CdbLength = command->cdb_length;
    memcpy(p.direct.Cdb, command->cdb, sizeof p.direct.Cdb);
    p.direct.DataIn = command->out ? SCSI_IOCTL_DATA_OUT : SCSI_IOCTL_DATA_IN;
    p.direct.DataBuffer = command->data;
    p.direct.DataTransferLength = command->data_length;
    p.direct.TimeOutValue = command->timeout;
    p.direct.SenseInfoOffset = offsetof(struct pass_through, sense);
    p.direct.SenseInfoLength = sizeof p.sense;
    if (ondk_wdk_device_control(adapter, IOCTL_SCSI_PASS_THROUGH_DIRECT, &p, sizeof p, &p, sizeof p, NULL, status))
        return -1;
    if (NT_ERROR((NTSTATUS)*status)) { /* in this case the output was not copied */
        p.direct.ScsiStatus = 0;
        p.direct.DataTransferLength = 0;
        p.direct.SenseInfoLength = 0;
    }
    command->scsi_status = p.direct.ScsiStatus;
    command->data_length = p.direct.DataTransferLength;
    command->sense_length = p.direct.SenseInfoLength < sizeof p.sense ? p.direct.SenseInfoLength : sizeof p.sense;
    memcpy(command->sense, p.sense, sizeof command->sense);
    return 0;
}

int ondk_wdk_scsi_sized(ondk_wdk_device_t *adapter, ondk_wdk_scsi_command_t *command, size_t size, uint32_t *status)
{
    ondk_wdk_scsi_command_t ours = { 0 };

    if (!sized_read(&ours, sizeof ours, command, size) || ours.reserved) {
        *status = (uint32_t)STATUS_INVALID_PARAMETER;
        return host_error("the command has a field that this library does not have");
    }
    if (host_scsi_send(adapter, &ours, status))
        return -1;
    sized_write(command, size, &ours, sizeof ours);
    return 0;
}
