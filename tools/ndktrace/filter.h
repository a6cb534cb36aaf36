/* SPDX-License-Identifier: MIT */
/* Selects the events that ndktrace shows. */
#ifndef NDKTRACE_FILTER_H
#define NDKTRACE_FILTER_H

#include "trace_reader/trace_file.h"

enum { FILTER_MAX_ENTRIES = 64 }; /* maximum number of entries in each list of the command line */

struct filter {
    size_t n_connections, n_threads, n_events, n_values;
    uint32_t connections[FILTER_MAX_ENTRIES], threads[FILTER_MAX_ENTRIES];
    const char *events[FILTER_MAX_ENTRIES], *values[FILTER_MAX_ENTRIES]; /* names of events and of values */
    uint64_t object;                                                     /* 0: every object */
    bool has_since, has_until;
    double since, until; /* in seconds since the beginning of the trace */
    /* Set by filter_learn. */
    uint64_t behind; /* if `object` is a proxy of the verifier, the object behind the proxy; otherwise 0 */
    /* The connections with an event that contains `object`, sorted. */
    size_t n_tied;
    struct filter_tied {
        const struct trace_file *file;
        uint32_t id;
    } * tied;
};

/*
 * Finds the connections of f->object, and the object behind f->object if f->object is a proxy. The caller must pass all
 * records to this function before it calls filter_accepts. Returns false if out of memory.
 */
bool filter_learn(struct filter *f, const struct trace_records *records);
bool filter_has_connection(const struct filter *f, uint32_t id);
/* Returns true if the record must be shown. `seconds` is the record's time since the beginning of the trace. */
bool filter_accepts(const struct filter *f, const struct trace_record *r, double seconds);

#endif
