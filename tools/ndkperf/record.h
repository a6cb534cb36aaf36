/* SPDX-License-Identifier: MIT */
/*
 * Builds the record of a run, a JSON object. --json writes it, --html draws it, and `ndkperf compare` reads it
 * (docs/ndkperf.md).
 */
#ifndef NDKPERF_RECORD_H
#define NDKPERF_RECORD_H

#include <jansson.h>

#include "result.h"
#include "session.h"

/* The version of the record's format. It increases when a member changes its meaning. */
enum { RECORD_FORMAT = 1 };

/* The properties of the first measured queue pair's connection. */
struct connection {
    char local[128], peer[128];
    ULONG ird, ord;
};
void record_describe(const struct session *s, struct connection *at);

/* Returns an object with quantiles, mean and deviation in microseconds, or NULL if out of memory. */
json_t *record_latency(const struct times *t);

/*
 * Each of these functions adds a part to the record. The first call creates the record. If memory runs out, the part is
 * omitted.
 */
void record_begin(const struct session *s);
void record_interval(const struct session *s, const struct interval *i);
void record_result(const struct session *s, const struct result *r);
void record_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us);
/*
 * Adds the result of the run. Returns the record, which the caller must release with json_decref, or NULL if out of
 * memory.
 */
json_t *record_end(const struct session *s);

#endif
