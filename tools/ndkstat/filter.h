/* SPDX-License-Identifier: MIT */
/* Filters objects by state and by address. */
#ifndef NDKSTAT_FILTER_H
#define NDKSTAT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/*
 * Removes the objects that the options' filters exclude. --state applies to all objects in the lists of each adapter.
 * --address applies to connections, listeners, shared endpoints and failures. Objects of other kinds have no address.
 * They are kept only if a connection with the address uses them, directly or through another object. Returns false if
 * out of memory.
 */
bool filter_apply(const struct options *o, json_t *processes);

#endif
