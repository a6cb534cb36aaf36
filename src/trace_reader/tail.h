/* SPDX-License-Identifier: MIT */
/*
 * The last events of a trace file. The invariant: no function allocates memory or takes a lock, so the functions can be
 * used while a process crashes.
 */
#ifndef TRACE_READER_TAIL_H
#define TRACE_READER_TAIL_H

#include "trace_reader/trace_file.h"

enum { TAIL_MAX = 32, TAIL_MAX_FIELDS = 1032, TAIL_MAX_ADDRESSES = 2, TAIL_MAX_CONNECTIONS = 16 };

struct tail_event {
    struct trace_record record;
    bool is_related; /* it is an event of tail.addresses */
    uint8_t fields[TAIL_MAX_FIELDS];
};

struct tail {
    /* Set by the caller. */
    unsigned max;                           /* how many events are wanted; at most TAIL_MAX */
    unsigned max_related;                   /* the most events that are chosen only because they are related */
    uint64_t addresses[TAIL_MAX_ADDRESSES]; /* addresses of an object; 0: none */
    /* The result, in the order of time. */
    unsigned count;
    struct tail_event *sorted[TAIL_MAX];
    /* Internal. */
    unsigned n_connections;
    uint32_t connections[TAIL_MAX_CONNECTIONS];
    struct tail_list {
        unsigned count, max;
        uint8_t order[TAIL_MAX]; /* indices of `events`, the oldest first */
        struct tail_event events[TAIL_MAX];
    } latest, related;
};

/*
 * Finds the last events of the file, including the last events that are related to the addresses. An event is related
 * if it names one of the addresses, or if its connection has an event that does.
 */
void tail_read(struct tail *t, struct trace_file *f);

#endif
