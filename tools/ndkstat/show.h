/* SPDX-License-Identifier: MIT */
/* Prints what reader_read has read. */
#ifndef NDKSTAT_SHOW_H
#define NDKSTAT_SHOW_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Prints a list like that of `netstat -xan`. state: also prints role, state and read limits, and connections that have
 * ended.
 */
void show_lists(const json_t *processes, bool state);
/*
 * Prints counters like those of RDMA Activity, a block for each adapter. before: an earlier reading, to print rates;
 * NULL prints totals.
 */
void show_counters(const json_t *processes, const json_t *before);
void show_json(const json_t *processes);

#endif
