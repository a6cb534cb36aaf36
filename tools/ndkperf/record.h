/* SPDX-License-Identifier: MIT */
/* The record of a run: the object that --json writes, --html draws and `ndkperf compare` reads (docs/ndkperf.md). */
#ifndef NDKPERF_RECORD_H
#define NDKPERF_RECORD_H

#include <jansson.h>

#include "result.h"
#include "session.h"

/* The version of the record's format, which grows if a member changes its meaning. */
enum { RECORD_FORMAT = 1 };

/* Describes the connection of the first measured queue pair. */
struct connection {
    char local[128], peer[128];
    ULONG ird, ord;
};
void record_describe(const struct session *s, struct connection *at);

/* Returns an object with quantiles, mean and deviation in microseconds. NULL: out of memory. */
json_t *record_latency(const struct times *t);

/*
 * Each of these functions adds a part to the record. The first call creates the record. If out of memory, the part is
 * missing.
 */
void record_begin(const struct session *s);
void record_interval(const struct session *s, const struct interval *i);
void record_result(const struct session *s, const struct result *r);
void record_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us);
/* Adds how the run ended, and returns the record, which the caller must json_decref. NULL: out of memory. */
json_t *record_end(const struct session *s);

#endif
