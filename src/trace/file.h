/* SPDX-License-Identifier: MIT */
/* Creates and maps what a process records to: a trace file, or the same layout in memory. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"
#include "trace/setting.h"

struct trace_mapping {
    struct trace_file_header *header; /* never unmapped, except by trace_file_discard */
    size_t size;
    int fd; /* stays open; in the set of base/descriptors.h */
};

/*
 * Creates the file or the memory, and writes header and schema. Returns false if that fails, and writes the reason to
 * `problem`. The reason is empty if another copy of this library in this process already records to the file.
 */
bool trace_file_create(const struct trace_setting *setting, struct trace_mapping *out, char *problem, size_t room);

/* Removes the file or the memory that trace_file_create has made, because nothing can be recorded to it. */
void trace_file_discard(const struct trace_setting *setting, struct trace_mapping *mapping);

#endif
