/* SPDX-License-Identifier: MIT */
/* The filters by state and address. */
#ifndef NDKSTAT_FILTER_H
#define NDKSTAT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/*
 * Removes what the options' filters exclude. --state removes objects from each adapter's lists. --address removes
 * connections, listeners, shared endpoints, and failures of each process. With --address, an object without an address
 * stays if a connection with the address uses it. Returns false if out of memory.
 */
bool filter_apply(const struct options *o, json_t *processes);

#endif
