/* SPDX-License-Identifier: MIT */
/*
 * Sends SCSI commands to a unit: see unit_command.h. The action depends on the kind of failure:
 *
 *   BUSY, TASK SET FULL, NOT READY (becoming ready)   again after a pause, until the time limit has passed
 *   UNIT ATTENTION, ABORTED COMMAND                   again at once, a few times
 *   all others                                        the request fails
 */
#include "unit_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "openndk/adapter.h"
#include "sense.h"

enum { MAX_REPEATS = 8, PAUSE_MS = 100, BECOMING_READY = 0x04, LOG_UNIT_BECOMING_READY = 0x01 };
enum { CODE_INVALID_COMMAND = 0x20, CODE_OUT_OF_RANGE = 0x21, CODE_INVALID_FIELD = 0x24 };
enum { CODE_WRITE_PROTECTED = 0x27, QUALIFIER_SPACE_FAILED = 0x07 };

void unit_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

uint64_t unit_get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

struct unit_command unit_command_of(const struct unit *u, const char *name, uint8_t operation, uint8_t cdb_length,
                                    void *data, uint32_t length)
{
    return (struct unit_command){
        .scsi = { .path = u->path,
                  .target = u->target,
                  .lun = u->lun,
                  .cdb_length = cdb_length,
                  .cdb = { operation },
                  .data = data,
                  .data_length = length,
                  .timeout = u->timeout },
        .name = name,
    };
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static int unit_command_sense_errno(const struct unit_command *c, const struct sense *s)
{
    switch (s->key) {
    case SENSE_DATA_PROTECT:
        return s->code == CODE_WRITE_PROTECTED && s->qualifier == QUALIFIER_SPACE_FAILED ? ENOSPC : EROFS;
    case SENSE_VOLUME_OVERFLOW:
        return ENOSPC;
    case SENSE_ILLEGAL_REQUEST:
        if (s->code == CODE_OUT_OF_RANGE)
            return c->scsi.out ? ENOSPC : EINVAL;
        return s->code == CODE_INVALID_COMMAND || s->code == CODE_INVALID_FIELD ? EOPNOTSUPP : EIO;
    default:
        return EIO;
    }
}

/* Returns a text for the status with which the port driver has completed the command. */
static const char *unit_command_status_text(uint32_t status)
{
    static const struct {
        uint32_t status;
        const char *text;
    } texts[] = {
        { 0x80000011, "STATUS_DEVICE_BUSY, the miniport was busy until the time limit" },
        { 0xc00000b5, "STATUS_IO_TIMEOUT, the miniport has not completed it, and the unit and the bus were reset" },
        { 0xc00000c0, "STATUS_DEVICE_DOES_NOT_EXIST, the miniport has removed the unit" },
        { 0xc0000185, "STATUS_IO_DEVICE_ERROR, the miniport has failed it without sense data" },
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status)
            return texts[i].text;
    return ondk_status_name((NTSTATUS)status);
}

/* Writes "unit 0:0:0: READ(10) of 8 blocks at block 64: " to e->text, and returns the text's length. */
static size_t unit_command_describe(const struct unit_command *c, struct unit_error *e)
{
    const ondk_wdk_scsi_command_t *s = &c->scsi;
    int length = snprintf(e->text, sizeof e->text, "unit %u:%u:%u: %s", s->path, s->target, s->lun, c->name);

    if (c->blocks)
        length += snprintf(e->text + length, sizeof e->text - (size_t)length, " of %u block%s at block %" PRIu64,
                           c->blocks, c->blocks == 1 ? "" : "s", c->block);
    return (size_t)length + (size_t)snprintf(e->text + length, sizeof e->text - (size_t)length, ": ");
}

static void unit_command_store_error(const struct unit_command *c, uint32_t status, struct unit_error *e)
{
    size_t length = unit_command_describe(c, e), room = sizeof e->text - length;
    char *text = e->text + length;
    struct sense sense;

    e->number = EIO;
    if (!NT_SUCCESS((NTSTATUS)status)) {
        snprintf(text, room, "%s", unit_command_status_text(status));
    } else if (sense_get(&c->scsi, &sense)) {
        e->number = unit_command_sense_errno(c, &sense);
        snprintf(text, room, "%s, %s, additional code 0x%02X, 0x%02X", sense_status_name(c->scsi.scsi_status),
                 sense_key_name(sense.key), sense.code, sense.qualifier);
    } else {
        snprintf(text, room, "%s", sense_status_name(c->scsi.scsi_status));
    }
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

enum unit_action { UNIT_FAIL, UNIT_REPEAT, UNIT_WAIT };

static enum unit_action unit_command_action(const ondk_wdk_scsi_command_t *c)
{
    struct sense s;

    if (c->scsi_status == SCSI_STATUS_BUSY || c->scsi_status == SCSI_STATUS_TASK_SET_FULL)
        return UNIT_WAIT;
    if (!sense_get(c, &s))
        return UNIT_FAIL;
    if (s.key == SENSE_UNIT_ATTENTION || s.key == SENSE_ABORTED_COMMAND)
        return UNIT_REPEAT;
    return s.key == SENSE_NOT_READY && s.code == BECOMING_READY && s.qualifier == LOG_UNIT_BECOMING_READY ? UNIT_WAIT
                                                                                                          : UNIT_FAIL;
}

static bool unit_command_may_repeat(const struct unit *u, const ondk_wdk_scsi_command_t *c, uint32_t *repeats,
                                    uint32_t *waited_ms)
{
    static const struct timespec pause = { 0, PAUSE_MS * 1000000 };

    switch (unit_command_action(c)) {
    case UNIT_REPEAT:
        return ++*repeats <= MAX_REPEATS;
    case UNIT_WAIT:
        if (*waited_ms >= u->timeout * 1000)
            return false;
        *waited_ms += PAUSE_MS;
        (void)nanosleep(&pause, NULL);
        return true;
    default:
        return false;
    }
}

bool unit_command_send(const struct unit *u, struct unit_command *c, struct unit_error *e)
{
    uint32_t length = c->scsi.data_length, repeats = 0, waited_ms = 0, status;

    do {
        c->scsi.data_length = length;
        if (ondk_wdk_scsi(u->adapter, &c->scsi, &status)) {
            e->number = EIO;
            snprintf(e->text, sizeof e->text, "%s", ondk_wdk_error());
            return false;
        }
        if (NT_SUCCESS((NTSTATUS)status) && c->scsi.scsi_status == SCSI_STATUS_GOOD)
            return true;
    } while (NT_SUCCESS((NTSTATUS)status) && unit_command_may_repeat(u, &c->scsi, &repeats, &waited_ms));
    unit_command_store_error(c, status, e);
    return false;
}

bool unit_command_send_all(const struct unit *u, struct unit_command *c, struct unit_error *e)
{
    uint32_t length = c->scsi.data_length;
    size_t described;

    if (!unit_command_send(u, c, e))
        return false;
    if (c->scsi.data_length == length)
        return true;
    e->number = EIO;
    described = unit_command_describe(c, e);
    snprintf(e->text + described, sizeof e->text - described, "%u of %u bytes were transferred", c->scsi.data_length,
             length);
    return false;
}
