/* SPDX-License-Identifier: MIT */
/* The segments of the mapped trace file, and which thread writes to which of them. */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdbool.h>

#include "trace/format.h"

/*
 * Makes trace_append record into this file. Must be called at most once in a process. A child of fork may call it
 * again once. Returns false if out of memory, or if the process has too many keys of thread-specific data.
 */
bool ring_start(struct trace_file_header *file);

#endif
