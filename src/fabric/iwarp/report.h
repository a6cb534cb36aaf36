/* SPDX-License-Identifier: MIT */
/* Reports the establishment and the end of connections to the fabric's observer. */
#ifndef FABRIC_IWARP_REPORT_H
#define FABRIC_IWARP_REPORT_H

#include "fabric/iwarp/conn.h"

/* Owner. Reports the step that c has taken from the state `from`, if it established or ended the connection. */
void report_step(struct fabric_conn *c, enum conn_state from, enum conn_event event, enum fabric_reason why);
/* Listener's owner. Reports peers that were refused before they had a connection. `remote`: NULL if not known. */
void report_refused(struct iwarp_fabric *f, const struct addr *local, const struct addr *remote,
                    enum fabric_reason why);

#endif
