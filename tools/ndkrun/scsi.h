/* SPDX-License-Identifier: MIT */
/* Sends SCSI commands from the command line. */
#ifndef NDKRUN_SCSI_H
#define NDKRUN_SCSI_H

#include <stdbool.h>
#include <stdio.h>

#include "openndk/wdk.h"

#define SCSI_ADAPTER "\\Device\\RaidPort0" /* the device of the first Storport adapter */

/* Parses "PATH:TARGET:LUN" into *c. Modifies `word`. Returns false if the form is wrong. */
bool scsi_parse_address(char *word, ondk_wdk_scsi_command_t *c);

/* Returns true if the command has one of the forms that scsi_send accepts. Sends nothing. */
bool scsi_check(const char *words);

/*
 * Sends a command to the first Storport adapter: "PATH:TARGET:LUN inquiry", "... capacity", "... luns", "... read LBA
 * BLOCKS", "... write LBA HEX", "... cdb HEX [in BYTES]". Prints the result and the data. If the form is wrong or the
 * command failed, prints a message and returns false.
 */
bool scsi_send(const char *words, FILE *out);

#endif
