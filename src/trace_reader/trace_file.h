/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace file (docs/trace-format.md), also while a process writes to it. The invariant: the file is only read
 * with pread, so no content and no truncation of the file can end the reader. All offsets are checked.
 */
#ifndef TRACE_READER_TRACE_FILE_H
#define TRACE_READER_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_reader/schema.h"

enum { TRACE_FILE_THREAD_NAME = 17, TRACE_FILE_MAX_THREADS = 1024 };

struct trace_thread {
    uint32_t id;
    char name[TRACE_FILE_THREAD_NAME]; /* not escaped */
};

struct trace_record {
    const struct trace_file *file;
    const struct schema_event *event; /* NULL: the schema does not have the event */
    uint64_t time_ns;                 /* CLOCK_MONOTONIC of the file's host */
    uint32_t id, thread, number;
    uint32_t size; /* of `fields`, including padding */
    const uint8_t *fields;
    uint64_t order; /* sorts records that have the same time: the order in which they were read */
};

struct trace_records {
    size_t count, room;
    struct trace_record *records;
    size_t n_copies;
    uint8_t **copies; /* memory that the records' `fields` point into */
};

struct trace_segment_state {
    uint64_t sequence; /* 0: nothing has been read */
    uint32_t used;     /* the size of the events that have been read */
    uint32_t thread;
    bool is_damaged; /* the rest of the segment is skipped; counted in trace_file.damaged */
};

struct trace_file {
    int fd;
    bool is_borrowed; /* trace_file_close leaves fd open */
    const char *path;
    char program[65], host[65], library[33];
    uint32_t pid, segment_size, segment_count, header_size;
    uint64_t realtime_ns, monotonic_ns, lost;
    int64_t offset_ns; /* is subtracted from the time of day, to align it with other files; 0 unless the user sets it */
    struct schema schema;
    struct trace_segment_state *states; /* one for each segment */
    uint8_t *copy;                      /* room for a segment's events */
    struct trace_thread *threads;       /* that have a name; more than TRACE_FILE_MAX_THREADS are ignored */
    size_t n_threads;
    size_t damaged; /* segments whose rest was skipped */
    size_t missing; /* segments that the file is too short for */
};

/* Opens a file and reads its header. Returns false, and writes the reason to `error`, if it is no trace file. */
bool trace_file_open(struct trace_file *f, const char *path, char *error, size_t room);
/* Does the same with an open file, which trace_file_close closes. */
bool trace_file_open_fd(struct trace_file *f, int fd, char *error, size_t room);
/* Does the same, but trace_file_close does not close fd. */
bool trace_file_borrow_fd(struct trace_file *f, int fd, char *error, size_t room);
void trace_file_close(struct trace_file *f);
/*
 * Appends the events that were recorded since the last call, in no order. The fields of the events are valid until
 * trace_records_free. Returns false if out of memory.
 */
bool trace_file_read(struct trace_file *f, struct trace_records *out);
/*
 * Calls `visit` for each event of the file, segment by segment, in the order of time in each segment. The record is
 * valid during the call. Changes nothing that trace_file_read uses, and allocates nothing.
 */
typedef void (*trace_visit)(void *context, const struct trace_record *r);
void trace_file_for_each(struct trace_file *f, trace_visit visit, void *context);
/*
 * Writes what the file has now to `out`, as a trace file. The file may be written meanwhile; a segment that is
 * overwritten again and again is left out. Returns false, with errno, if a write failed.
 */
bool trace_file_save(struct trace_file *f, int out);
/* Sorts by the time of day. */
void trace_records_sort(struct trace_records *r);
void trace_records_free(struct trace_records *r);

/* Returns the time of day in nanoseconds when the trace began. */
static inline uint64_t trace_file_begin(const struct trace_file *f)
{
    return f->realtime_ns - (uint64_t)f->offset_ns;
}

/*
 * Returns the record's time of day in nanoseconds. The clocks of two hosts may differ, unless offset_ns corrects them.
 */
static inline uint64_t trace_record_realtime(const struct trace_record *r)
{
    return r->time_ns - r->file->monotonic_ns + trace_file_begin(r->file);
}

#endif
