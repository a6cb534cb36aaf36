/* SPDX-License-Identifier: MIT */
/* Filters objects by state and by address. */
#ifndef NDKSTAT_FILTER_H
#define NDKSTAT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"

/*
 * Removes the objects that the options' filters exclude. --state applies to all objects in the lists of each adapter.
 * --address applies to connections, listeners, shared endpoints and failures. Objects of other kinds have no address. A
 * QP is kept if a connection with the address uses it. A PD, CQ or SRQ is kept if such a QP uses it. An MR or MW is
 * kept if its PD is kept. Returns false if out of memory.
 */
bool filter_apply(const struct options *o, json_t *processes);

#endif
