/* SPDX-License-Identifier: MIT */
/* The filters by state and address. */
#ifndef NDKSTAT_FILTER_H
#define NDKSTAT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/*
 * Removes what the filters of the options exclude: from each adapter's lists, objects by their state, and connections,
 * listeners and shared endpoints by their addresses; from each process, failures by their addresses. An object without
 * an address stays if a connection with the address uses it. Returns false if out of memory.
 */
bool filter_apply(const struct options *o, json_t *processes);

#endif
