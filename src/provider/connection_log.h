/* SPDX-License-Identifier: MIT */
/*
 * Records how connections and listeners begin and end. If the log level allows, writes one line for each beginning and
 * for each end. Also adds each failed connection to the list of failures.
 */
#ifndef PROVIDER_CONNECTION_LOG_H
#define PROVIDER_CONNECTION_LOG_H

#include "fabric/fabric.h"

struct adapter;

/* Makes the adapter the observer of its fabric. */
void connection_log_observe(struct adapter *a);
/*
 * Logs how many lines were left out since this number was last logged. Called at PASSIVE_LEVEL, when an adapter
 * closes.
 */
void connection_log_end(void);
/*
 * Logs that a listener listens at `local`. If `why` is not FABRIC_OK, logs that the listener has failed. Called in an
 * event of the fabric.
 */
void connection_log_listening(enum fabric_reason why, const struct addr *local);
void connection_log_stopped(const struct addr *local);

#endif
