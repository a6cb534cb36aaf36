/* SPDX-License-Identifier: MIT */
/* Writes --csv: one table with a row for each interval and for each result (docs/ndkperf.md). */
#ifndef NDKPERF_CSV_H
#define NDKPERF_CSV_H

#include <stdio.h>

#include "result.h"
#include "session.h"

void csv_begin(FILE *out);
void csv_interval(FILE *out, const struct session *s, const struct interval *i);
void csv_result(FILE *out, const struct session *s, const struct result *r);

#endif
