/* SPDX-License-Identifier: MIT */
/* Selects the events that `ndktrace show` prints. */
#ifndef NDKTRACE_FILTER_H
#define NDKTRACE_FILTER_H

#include "trace_reader/trace_file.h"

enum { FILTER_MAX = 64 }; /* the most entries of a list */

struct filter {
    size_t n_connections, n_threads, n_events, n_values;
    uint32_t connections[FILTER_MAX], threads[FILTER_MAX];
    const char *events[FILTER_MAX], *values[FILTER_MAX]; /* names */
    uint64_t object;                                     /* 0: every object */
    bool has_since, has_until;
    double since, until; /* seconds since the beginning of the trace */
    /* Set by filter_learn. */
    uint64_t behind; /* if `object` is a verifier's proxy: the object behind the proxy; 0: none */
    /* Sorted: each connection that has an event which names the object. */
    size_t n_tied;
    struct filter_tied {
        const struct trace_file *file;
        uint32_t id;
    } * tied;
};

/*
 * Finds the connections of f->object. If f->object is a proxy, finds the object behind it. Must be called with all
 * records before filter_accepts. Returns false if out of memory.
 */
bool filter_learn(struct filter *f, const struct trace_records *records);
bool filter_has_connection(const struct filter *f, uint32_t id);
/* Returns true if the record is shown. `seconds` is the record's time since the beginning of the trace. */
bool filter_accepts(const struct filter *f, const struct trace_record *r, double seconds);

#endif
