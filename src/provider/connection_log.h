/* SPDX-License-Identifier: MIT */
/*
 * Records how connections and listeners begin and end. Each beginning and each end is a line in the log, if the line's
 * level is on. Each failed connection is also added to the list of failures.
 */
#ifndef PROVIDER_CONNECTION_LOG_H
#define PROVIDER_CONNECTION_LOG_H

#include "fabric/fabric.h"

struct adapter;

/* Makes the adapter the observer of its fabric. */
void connection_log_observe(struct adapter *a);
/* Called at the close of an adapter. Logs how many lines were left out and not yet reported. PASSIVE_LEVEL. */
void connection_log_end(void);
/*
 * Logs that a listener listens at `local`. If `why` is not FABRIC_OK, logs instead that listening at `local` failed.
 * Called in an event of the fabric.
 */
void connection_log_listening(enum fabric_reason why, const struct addr *local);
void connection_log_stopped(const struct addr *local);

#endif
