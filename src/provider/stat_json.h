/* SPDX-License-Identifier: MIT */
/* An adapter as JSON, the form in which another process sees it. docs/observe.md has the members. */
#ifndef PROVIDER_STAT_JSON_H
#define PROVIDER_STAT_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "provider/adapter.h"

void stat_json_begin(FILE *out);
/* False: no memory; what has been written is of no use then. */
bool stat_json_adapter(FILE *out, struct adapter *a, bool first);
void stat_json_end(FILE *out);

#endif
