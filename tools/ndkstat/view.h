/* SPDX-License-Identifier: MIT */
/* Prints a reading as tables, counters or JSON. */
#ifndef NDKSTAT_VIEW_H
#define NDKSTAT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/* The names of the object types that --objects accepts. The last entry is NULL. */
extern const char *const view_object_types[];

/*
 * Prints the view that the options select. `before` is an earlier reading, from which rates are computed. If `before`
 * is NULL, prints totals. Returns false if out of memory.
 */
bool view_print(FILE *out, const struct options *o, const json_t *processes, const json_t *before);
/*
 * Prints `processes` as one JSON object on one line. First removes the members that the options do not select. Returns
 * false if out of memory, or if the output cannot be written.
 */
bool view_print_json(FILE *out, const struct options *o, json_t *processes);

#endif
