/* SPDX-License-Identifier: MIT */
/* Creates and maps the memory to which a process records: a trace file, or memory with the layout of one. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"
#include "trace/setting.h"

struct trace_mapping {
    struct trace_file_header *header; /* never unmapped, except by trace_file_discard */
    size_t size;
    int fd; /* stays open; in a child of fork, fd no longer refers to the file: see base/descriptors.h */
};

/*
 * Creates the file or the memory that `setting` describes, and writes the header and the schema. On failure, writes the
 * reason to `problem` and returns false. The reason is empty if another copy of this library in this process already
 * records to the file.
 */
bool trace_file_create(const struct trace_setting *setting, struct trace_mapping *out, char *problem, size_t room);

/* Removes the file or the memory that trace_file_create has made. Called if nothing can be recorded to it. */
void trace_file_discard(const struct trace_setting *setting, struct trace_mapping *mapping);

#endif
