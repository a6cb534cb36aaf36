/* SPDX-License-Identifier: MIT */
/* What ndkstat prints of the snapshots. */
#ifndef NDKSTAT_PRINT_H
#define NDKSTAT_PRINT_H

#include <jansson.h>
#include <stdbool.h>

/* As `netstat -xan`. state: with columns for role, state and read limits, and connections that have ended. */
void print_lists(const json_t *processes, bool state);
/* As the RDMA Activity counters, a block for each adapter. before: an earlier reading, for rates; or NULL: totals. */
void print_counters(const json_t *processes, const json_t *before);
void print_json(const json_t *processes);

#endif
