/* SPDX-License-Identifier: MIT */
/*
 * Finds the ends of connections in one or more traces, and the frames of each end. An end is one side of a connection,
 * as one trace has recorded it. It begins with the event `connection`. If a connector connects again, a new end with
 * the same number begins. The invariant: all members that refer to records are indexes into the sorted records.
 */
#ifndef NDKTRACE_ENDS_H
#define NDKTRACE_ENDS_H

#include "flow.h"
#include "trace_reader/trace_file.h"

#define END_NONE SIZE_MAX

enum end_list_kind { END_MPA_SENT, END_MPA_RECEIVED, END_FPDUS_SENT, END_FPDUS_RECEIVED, END_LISTS };

struct end_list {
    size_t count;
    size_t *records; /* indexes of records, in the order of time */
};

struct end {
    const struct trace_file *file;
    uint32_t id;
    bool has_begin; /* false: newer events have overwritten the event `connection`, so `flow` has no addresses */
    struct flow flow;
    size_t first, last; /* indexes of the end's first and last records */
    size_t other;       /* index in `ends` of the same connection's other end, or END_NONE */
    struct end_list lists[END_LISTS];
};

struct ends {
    size_t count;
    struct end *ends;
    size_t n_records;
    size_t *of_record;        /* for each record, the index in `ends` of the end to which it belongs, or END_NONE */
    size_t *next;             /* for each record, the index of the next record of the same end, or END_NONE */
    size_t n_frames, *frames; /* the records of all lists; the lists point into this array */
};

/* Finds the ends in `records`, which must be sorted. Returns false if out of memory. */
bool ends_find(struct ends *e, const struct trace_records *records);
void ends_free(struct ends *e);
/*
 * Updates all indexes of records after a sort. moved[i] is the new index of the record that had the index i. Returns
 * false if out of memory.
 */
bool ends_renumber(struct ends *e, const size_t *moved);
/*
 * Limit for times between records, in nanoseconds. A sum of a few such times cannot overflow, whatever a file contains.
 */
#define ENDS_MAX_TIME (INT64_C(1) << 60)
/* Returns the time of day at `to` minus the time of day at `from` in nanoseconds, limited by ends_limit_time. */
int64_t ends_time_between(const struct trace_record *from, const struct trace_record *to);
/* Returns ns, limited to the range from -ENDS_MAX_TIME to ENDS_MAX_TIME. */
int64_t ends_limit_time(int64_t ns);
/* Returns the event's name, or "" if the schema does not have it. */
const char *ends_event_name(const struct trace_record *r);

#endif
