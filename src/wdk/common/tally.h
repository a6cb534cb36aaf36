/* SPDX-License-Identifier: MIT */
/*
 * Counts what drivers do: IRPs, sockets, SCSI commands. A count belongs to a group, a code and a status. The invariant:
 * counting takes no lock and allocates nothing, so any thread may count at any IRQL, and a signal handler may read.
 */
#ifndef WDK_TALLY_H
#define WDK_TALLY_H

#include <stdint.h>

#include "base/private_export.h"

enum tally_group {
    TALLY_IRP,  /* completed IRPs; code: the major function; status: NTSTATUS */
    TALLY_WSK,  /* code: enum tally_wsk; status: NTSTATUS of a connect, otherwise 0 */
    TALLY_SCSI, /* code: enum tally_scsi; status: SRB_STATUS_ without flags */
};
enum tally_wsk { TALLY_WSK_CONNECT, TALLY_WSK_ACCEPT, TALLY_WSK_SEND, TALLY_WSK_RECEIVE };
enum tally_scsi { TALLY_SCSI_READ, TALLY_SCSI_WRITE, TALLY_SCSI_OTHER };

/* Adds one event with this number of bytes. If more than 256 different counts are needed, drops the event. */
void tally_add(enum tally_group group, uint8_t code, uint32_t status, uint64_t bytes) PRIVATE_EXPORT(tally_add);

struct tally {
    enum tally_group group;
    uint8_t code;
    uint32_t status;
    uint64_t count, bytes;
};

enum { TALLY_MAX_ENTRIES = 256 };
/* Copies all counts, ordered by group, code and status. Returns their number. */
unsigned tally_copy(struct tally all[TALLY_MAX_ENTRIES]);

#endif
