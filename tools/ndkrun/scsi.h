/* SPDX-License-Identifier: MIT */
/* SCSI commands from the command line. */
#ifndef NDKRUN_SCSI_H
#define NDKRUN_SCSI_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Sends one to the first Storport adapter: "PATH:TARGET:LUN inquiry", "... capacity", "... luns", "... read LBA BLOCKS",
 * "... write LBA HEX", "... cdb HEX [in OCTETS]". Prints its end and what came. False: it is not of that form, or it
 * failed; which of them has been said.
 */
bool scsi_send(const char *words, FILE *out);

#endif
