/* SPDX-License-Identifier: MIT */
/*
 * Records how connections and listeners begin and end: each failure in the list of failures, and a line in the log, if
 * its level is on.
 */
#ifndef PROVIDER_CONNECTION_LOG_H
#define PROVIDER_CONNECTION_LOG_H

#include "fabric/fabric.h"

struct adapter;

/* Makes the adapter the observer of its fabric. */
void connection_log_observe(struct adapter *a);
/* PASSIVE_LEVEL, at the close of an adapter: reports lines that were left out and that no line has reported yet. */
void connection_log_end(void);
/* Owner context. local: the address, or the one that was requested if why is not FABRIC_OK. */
void connection_log_listening(enum fabric_reason why, const struct addr *local);
void connection_log_stopped(const struct addr *local);

#endif
