/* SPDX-License-Identifier: MIT */
/* SCSI commands to a unit: how they are built, sent, repeated, and how their failures become errors. */
#ifndef NBDKIT_UNIT_COMMAND_H
#define NBDKIT_UNIT_COMMAND_H

#include "unit.h"

/* A command, and its description for the text of an error. */
struct unit_command {
    ondk_wdk_scsi_command_t scsi;
    const char *name;
    uint64_t block;
    uint32_t blocks; /* 0: the command has no blocks */
};

/* Stores a number in network byte order, as commands have it. */
void unit_put(uint8_t *at, uint64_t value, int bytes);
uint64_t unit_get(const uint8_t *at, int bytes);

/* Returns a command to the unit that transfers `length` bytes to or from `data`. */
struct unit_command unit_command_of(const struct unit *u, const char *name, uint8_t operation, uint8_t cdb_length,
                                    void *data, uint32_t length);

/*
 * Sends the command until the unit has executed it. Like Windows' disk driver, repeats the command if the unit is busy
 * or reports an event. Returns true, or stores why the command failed and returns false. c->scsi.data_length receives
 * the number of transferred bytes.
 */
bool unit_command_send(const struct unit *u, struct unit_command *c, struct unit_error *e);

/* Does what unit_command_send does. Also fails if not all bytes were transferred. */
bool unit_command_send_all(const struct unit *u, struct unit_command *c, struct unit_error *e);

#endif
