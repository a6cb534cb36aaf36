/* SPDX-License-Identifier: MIT */
/* The segments of the mapped trace file, and which thread writes to which of them. */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/*
 * Makes ring_append record into this file. Must be called at most once in a process. A child of fork may call it
 * again once. Returns false if out of memory, or if the process has too many keys of thread-specific data.
 */
bool ring_start(struct trace_file_header *file);

/* Returns whether events are recorded into a file. Acquires what was written before ring_start. */
bool ring_is_on(void);

/* Records an event: see trace_append_at. Does nothing before ring_start. A child of fork must call ring_start, too. */
void ring_append(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size);

#endif
