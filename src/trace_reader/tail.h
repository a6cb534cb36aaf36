/* SPDX-License-Identifier: MIT */
/*
 * Finds the last events of a trace file. The invariant: no function allocates memory or acquires a lock, so the
 * functions can be used while a process crashes.
 */
#ifndef TRACE_READER_TAIL_H
#define TRACE_READER_TAIL_H

#include "trace_reader/trace_file.h"

enum { TAIL_MAX_EVENTS = 32, TAIL_MAX_FIELDS = 1032, TAIL_MAX_ADDRESSES = 2, TAIL_MAX_CONNECTIONS = 16 };

struct tail_event {
    struct trace_record record;
    bool is_related; /* the event is related to tail.addresses: see tail_read */
    uint8_t fields[TAIL_MAX_FIELDS];
};

struct tail {
    /* The caller sets the members below. */
    unsigned max;                           /* number of wanted events, at most TAIL_MAX_EVENTS */
    unsigned max_related;                   /* maximum number of events that are chosen only because they are related */
    uint64_t addresses[TAIL_MAX_ADDRESSES]; /* all addresses of one object: its own, and its proxy's; 0: none */
    /* The result, sorted by time. */
    unsigned count;
    struct tail_event *sorted[TAIL_MAX_EVENTS];
    /* The members below are internal. */
    unsigned n_connections;
    uint32_t connections[TAIL_MAX_CONNECTIONS];
    struct tail_list {
        unsigned count, max;
        uint8_t order[TAIL_MAX_EVENTS]; /* indices of `events`, the oldest event first */
        struct tail_event events[TAIL_MAX_EVENTS];
    } latest, related;
};

/*
 * Finds the last events of the file, and the last events that are related to t->addresses. Sets t->count and t->sorted.
 * An event with one of the addresses is related. All other events of the same connection are related, too.
 */
void tail_read(struct tail *t, struct trace_file *f);

#endif
