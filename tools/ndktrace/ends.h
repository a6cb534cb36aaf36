/* SPDX-License-Identifier: MIT */
/*
 * The ends of connections in one or more traces, and the frames of each end. An end begins with the event `connection`.
 * A connector that tries again makes another end with the same number. The invariant: all members that name records
 * are indexes into the sorted records.
 */
#ifndef NDKTRACE_ENDS_H
#define NDKTRACE_ENDS_H

#include "flow.h"
#include "trace_reader/trace_file.h"

#define END_NONE SIZE_MAX

enum end_list_kind { END_MPA_SENT, END_MPA_RECEIVED, END_FPDUS_SENT, END_FPDUS_RECEIVED, END_LISTS };

struct end_list {
    size_t count;
    size_t *records; /* in the order of time */
};

struct end {
    const struct trace_file *file;
    uint32_t id;
    bool has_begin; /* false: the event `connection` was overwritten, and `flow` has no addresses */
    struct flow flow;
    size_t first, last; /* the first and the last record */
    size_t other;       /* the index of the connection's other end in `ends`, or END_NONE */
    struct end_list lists[END_LISTS];
};

struct ends {
    size_t count;
    struct end *ends;
    size_t n_records;
    size_t *of_record;        /* for each record, the index of the end in `ends`, or END_NONE */
    size_t *next;             /* for each record, the next record of the same end, or END_NONE */
    size_t n_frames, *frames; /* the memory that the lists of all ends point into */
};

/* Finds the ends of connections in the records, which must be sorted. Returns false if out of memory. */
bool ends_find(struct ends *e, const struct trace_records *records);
void ends_free(struct ends *e);
/* Renews all indexes of records: record i has become record moved[i]. Returns false if out of memory. */
bool ends_renumber(struct ends *e, const size_t *moved);
/* The greatest time between two records. No sum of a few such times overflows, whatever a file contains. */
#define ENDS_MAX_TIME (INT64_C(1) << 60)
/* Returns the time from `from` to `to` in nanoseconds of the time of day, limited by ends_limit_time. */
int64_t ends_time_between(const struct trace_record *from, const struct trace_record *to);
/* Returns ns, but at most ENDS_MAX_TIME and at least -ENDS_MAX_TIME. */
int64_t ends_limit_time(int64_t ns);
/* Returns the event's name, or "" if the schema does not have it. */
const char *ends_event_name(const struct trace_record *r);

#endif
