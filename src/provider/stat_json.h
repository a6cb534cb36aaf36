/* SPDX-License-Identifier: MIT */
/* Writes adapters as JSON for other processes. docs/observe.md describes the members. */
#ifndef PROVIDER_STAT_JSON_H
#define PROVIDER_STAT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "provider/adapter.h"

void stat_json_begin(FILE *out);
/*
 * Writes an adapter as a JSON object. `first` is true for the first adapter of the text. If out of memory, returns
 * false, and the text is incomplete.
 */
bool stat_json_adapter(FILE *out, struct adapter *a, bool first);
void stat_json_end(FILE *out);

#endif
