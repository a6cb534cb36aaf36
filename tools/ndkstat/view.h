/* SPDX-License-Identifier: MIT */
/* Prints what reader_read has read, as tables, counters or JSON. */
#ifndef NDKSTAT_VIEW_H
#define NDKSTAT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/* The names of the types for --objects; NULL at the end. */
extern const char *const view_object_types[];

/*
 * Prints the view that the options select. `before` is an earlier reading, from which rates of traffic are computed.
 * If `before` is NULL, prints totals. Returns false if out of memory.
 */
bool view_print(FILE *out, const struct options *o, const json_t *processes, const json_t *before);
/*
 * Prints one JSON object on a line. Removes from `processes` what the options do not select. Returns false if out of
 * memory, or if the output cannot be written.
 */
bool view_print_json(FILE *out, const struct options *o, json_t *processes);

#endif
