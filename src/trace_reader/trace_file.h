/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace file (docs/trace-format.md), also while a process writes to the file. The invariant: the file is read
 * only with pread, so neither its content nor its truncation can crash the reader. All offsets are checked.
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
    char name[TRACE_FILE_THREAD_NAME]; /* as in the file, so it may contain any bytes */
};

struct trace_record {
    const struct trace_file *file;
    const struct schema_event *event; /* NULL: the schema has no such event */
    uint64_t time_ns;                 /* time on CLOCK_MONOTONIC of the file's host */
    uint32_t id, thread, number;
    uint32_t size; /* size of `fields` in bytes, including padding */
    const uint8_t *fields;
    uint64_t order; /* position in the order of reading; sorts records that have the same time */
};

struct trace_records {
    size_t count, room;
    struct trace_record *records;
    size_t n_copies;
    uint8_t **copies; /* memory to which the records' `fields` point */
};

struct trace_segment_state {
    uint64_t sequence; /* sequence number of the segment; 0: nothing has been read */
    uint32_t used;     /* number of bytes of events that have been read */
    uint32_t thread;
    bool is_damaged; /* the rest of the segment is skipped; counted in trace_file.damaged */
};

struct trace_file {
    int fd;
    bool is_borrowed; /* trace_file_close does not close fd */
    const char *path;
    char program[65], host[65], library[33];
    uint32_t pid, segment_size, segment_count, header_size;
    uint64_t realtime_ns, monotonic_ns, lost;
    int64_t offset_ns; /* subtracted from the time of day to align it with other files; set by the caller */
    struct schema schema;
    struct trace_segment_state *states; /* one element for each segment */
    uint8_t *copy;                      /* buffer for the events of one segment */
    struct trace_thread *threads;       /* threads that have a name, at most TRACE_FILE_MAX_THREADS */
    size_t n_threads;
    size_t damaged; /* number of segments whose rest was skipped */
    size_t missing; /* number of segments for which the file is too short */
};

/*
 * Opens a trace file and reads its header. If this fails, or the file is no trace file, writes the reason to `error`
 * and returns false.
 */
bool trace_file_open(struct trace_file *f, const char *path, char *error, size_t room);
/* Reads the header of an open file, as trace_file_open does. trace_file_close closes fd. */
bool trace_file_open_fd(struct trace_file *f, int fd, char *error, size_t room);
/* Reads the header of an open file, as trace_file_open does. trace_file_close does not close fd. */
bool trace_file_borrow_fd(struct trace_file *f, int fd, char *error, size_t room);
void trace_file_close(struct trace_file *f);
/*
 * Appends the events that were recorded since the last call, in no particular order. The fields of these events are
 * valid until trace_records_free. Returns false if out of memory.
 */
bool trace_file_read(struct trace_file *f, struct trace_records *out);
/*
 * Calls `visit` for each event of the file: segment by segment, and in the order of time in each segment. The record is
 * valid only during the call. Does not affect trace_file_read, and allocates nothing.
 */
typedef void (*trace_visit)(void *context, const struct trace_record *r);
void trace_file_for_each(struct trace_file *f, trace_visit visit, void *context);
/*
 * Writes the current content of the file to `out`, as a trace file. Meanwhile a process may write to the file. Omits a
 * segment that is overwritten again and again. Returns false, with errno set, if a write failed.
 */
bool trace_file_save(struct trace_file *f, int out);
/* Sorts the records by the time of day. */
void trace_records_sort(struct trace_records *r);
void trace_records_free(struct trace_records *r);

/* Returns the time of day at which the trace began, in ns. */
static inline uint64_t trace_file_begin(const struct trace_file *f)
{
    return f->realtime_ns - (uint64_t)f->offset_ns;
}

/* Returns the time of day of the record, in ns. The clocks of two hosts may differ, unless offset_ns corrects them. */
static inline uint64_t trace_record_realtime(const struct trace_record *r)
{
    return r->time_ns - r->file->monotonic_ns + trace_file_begin(r->file);
}

#endif
