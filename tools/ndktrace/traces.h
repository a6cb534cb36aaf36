/* SPDX-License-Identifier: MIT */
/* Opens the trace files of a command line, reads them completely, and aligns their clocks. */
#ifndef NDKTRACE_TRACES_H
#define NDKTRACE_TRACES_H

#include "align.h"
#include "trace_reader/trace_file.h"

enum { TRACES_MAX_FILES = 64 };

struct traces {
    size_t n_files;
    struct trace_file files[TRACES_MAX_FILES];
    struct trace_records records; /* sorted by the aligned time */
    struct align align;
    bool is_aligned; /* `align` is valid */
};

/* Opens the files. If a file cannot be opened, prints the reason, closes all files, and returns false. */
bool traces_open(struct traces *t, size_t n, char *const *paths);
/* Reads all events and aligns the clocks. If out of memory, prints a message and returns false. */
bool traces_read(struct traces *t);
/* Returns the time of day when the first trace began. */
uint64_t traces_begin(const struct traces *t);
void traces_close(struct traces *t);

#endif
