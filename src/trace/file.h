/* SPDX-License-Identifier: MIT */
/* Creates and maps a trace file. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

#include <stddef.h>

#include "trace/format.h"
#include "trace/setting.h"

/*
 * Creates the file and writes its header and schema. Returns the mapping, which is never unmapped. Returns NULL if that
 * fails, and writes the reason to `problem`. The reason is empty if another copy of this library in this process already
 * records to the file.
 */
struct trace_file_header *trace_file_create(const struct trace_setting *setting, char *problem, size_t room);

#endif
