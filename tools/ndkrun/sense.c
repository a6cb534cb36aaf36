/* SPDX-License-Identifier: MIT */
/* Decodes SCSI statuses and sense data: see sense.h. */
#include "sense.h"

#include <stddef.h>

/* RESPONSE_CODE_BITS omits the bit that marks deferred errors */
enum { FIXED = 0x70, DESCRIPTOR = 0x72, RESPONSE_CODE_BITS = 0x7e };
enum { FIXED_SIZE = 14, DESCRIPTOR_SIZE = 4 };

bool sense_get(const ondk_wdk_scsi_command_t *c, struct sense *s)
{
    const uint8_t *data = c->sense;

    *s = (struct sense){ 0 };
    if (c->sense_length >= FIXED_SIZE && (data[0] & RESPONSE_CODE_BITS) == FIXED)
        *s = (struct sense){ data[2] & 0xf, data[12], data[13] };
    else if (c->sense_length >= DESCRIPTOR_SIZE && (data[0] & RESPONSE_CODE_BITS) == DESCRIPTOR)
        *s = (struct sense){ data[1] & 0xf, data[2], data[3] };
    else
        return false;
    return true;
}

const char *sense_status_name(uint8_t scsi_status)
{
    static const struct {
        uint8_t status;
        const char *name;
    } names[] = {
        { SCSI_STATUS_GOOD, "GOOD" },     { SCSI_STATUS_CHECK_CONDITION, "CHECK CONDITION" },
        { 0x04, "CONDITION MET" },        { SCSI_STATUS_BUSY, "BUSY" },
        { 0x18, "RESERVATION CONFLICT" }, { SCSI_STATUS_TASK_SET_FULL, "TASK SET FULL" },
        { 0x30, "ACA ACTIVE" },           { 0x40, "TASK ABORTED" },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == scsi_status)
            return names[i].name;
    return "unknown";
}

const char *sense_key_name(uint8_t key)
{
    static const char *const names[] = {
        "NO SENSE",       "RECOVERED ERROR", "NOT READY",   "MEDIUM ERROR",    "HARDWARE ERROR", "ILLEGAL REQUEST",
        "UNIT ATTENTION", "DATA PROTECT",    "BLANK CHECK", "VENDOR SPECIFIC", "COPY ABORTED",   "ABORTED COMMAND",
        "reserved",       "VOLUME OVERFLOW", "MISCOMPARE",  "COMPLETED",
    };

    return names[key & 0xf];
}
