/* SPDX-License-Identifier: MIT */
/* Builds SCSI commands for a unit, sends them, repeats them if necessary, and converts their failures to errors. */
#ifndef NBDKIT_UNIT_COMMAND_H
#define NBDKIT_UNIT_COMMAND_H

#include "unit.h"

/* A command, with the names and numbers that the text of an error contains. */
struct unit_command {
    ondk_wdk_scsi_command_t scsi;
    const char *name;
    uint64_t block;
    uint32_t blocks; /* number of blocks; 0: the command has no blocks */
};

/* These functions store and read a number in network byte order, which SCSI commands use. */
void unit_put(uint8_t *at, uint64_t value, int bytes);
uint64_t unit_get(const uint8_t *at, int bytes);

/* Returns a command for the unit. The command transfers `length` bytes to or from `data`. */
struct unit_command unit_command_of(const struct unit *u, const char *name, uint8_t operation, uint8_t cdb_length,
                                    void *data, uint32_t length);

/*
 * Sends the command, and waits until the unit has executed it. Repeats the command if the unit is busy or reports an
 * event, as Windows' disk driver does. Returns true on success, and stores the number of transferred bytes in
 * c->scsi.data_length. After a failure stores the error in *e and returns false.
 */
bool unit_command_send(const struct unit *u, struct unit_command *c, struct unit_error *e);

/* Works like unit_command_send, but also fails if not all bytes were transferred. */
bool unit_command_send_all(const struct unit *u, struct unit_command *c, struct unit_error *e);

#endif
