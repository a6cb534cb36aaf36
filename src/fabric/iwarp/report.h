/* SPDX-License-Identifier: MIT */
/* Reports the establishment and the end of connections to the fabric's observer. */
#ifndef FABRIC_IWARP_REPORT_H
#define FABRIC_IWARP_REPORT_H

#include "fabric/iwarp/conn.h"

/*
 * Reports that c has been established or has ended. The owner of c calls this function when `event`, which occurred in
 * the state `from`, has changed the state, and before the effects of the step. Does nothing if `event` has neither
 * established nor ended c.
 */
void report_step(struct fabric_conn *c, enum conn_state from, enum conn_event event, enum fabric_reason why);
/* Reports a peer that was refused before it had a connection. `remote` is NULL if the peer's address is not known. */
void report_refused(struct iwarp_fabric *f, const struct addr *local, const struct addr *remote,
                    enum fabric_reason why);

#endif
