/* SPDX-License-Identifier: MIT */
/* The filters by state and address. */
#ifndef NDKSTAT_FILTER_H
#define NDKSTAT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/*
 * Removes from each adapter's lists the objects in another state than those of the options, and the connections,
 * listeners and shared endpoints with other addresses; from each process the failures with other addresses. Returns
 * false if out of memory.
 */
bool filter_apply(const struct options *o, json_t *processes);

#endif
