/* SPDX-License-Identifier: MIT */
/* Decodes SCSI statuses and sense data. */
#ifndef NDKRUN_SENSE_H
#define NDKRUN_SENSE_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/wdk.h"

/* Values of ondk_wdk_scsi_command_t.scsi_status. */
enum {
    SCSI_STATUS_GOOD = 0x00,
    SCSI_STATUS_CHECK_CONDITION = 0x02,
    SCSI_STATUS_BUSY = 0x08,
    SCSI_STATUS_TASK_SET_FULL = 0x28,
};

enum sense_key {
    SENSE_NOT_READY = 0x2,
    SENSE_ILLEGAL_REQUEST = 0x5,
    SENSE_UNIT_ATTENTION = 0x6,
    SENSE_DATA_PROTECT = 0x7,
    SENSE_ABORTED_COMMAND = 0xb,
    SENSE_VOLUME_OVERFLOW = 0xd,
};

/* A sense key, an additional sense code, and its qualifier. */
struct sense {
    uint8_t key, code, qualifier;
};

/*
 * Decodes the command's sense data, which may have the fixed or the descriptor format. Returns false if the command has
 * no sense data.
 */
bool sense_get(const ondk_wdk_scsi_command_t *c, struct sense *s);

const char *sense_status_name(uint8_t scsi_status);
const char *sense_key_name(uint8_t key);

#endif
