/* SPDX-License-Identifier: MIT */
/* Prints snapshots. */
#ifndef NDKSTAT_SHOW_H
#define NDKSTAT_SHOW_H

#include <jansson.h>
#include <stdbool.h>

/* Like `netstat -xan`. state: also shows role, state and read limits, and ended connections. */
void show_lists(const json_t *processes, bool state);
/*
 * Like the RDMA Activity counters, a block for each adapter. before: an earlier reading for rates, or NULL for totals.
 */
void show_counters(const json_t *processes, const json_t *before);
void show_json(const json_t *processes);

#endif
