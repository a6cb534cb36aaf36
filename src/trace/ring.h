/* SPDX-License-Identifier: MIT */
/* Writes events to the segments of a mapped trace file, and decides which thread writes to which segment. */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/*
 * Makes ring_append record into the file. Must be called at most once in a process; a child of fork may call it once
 * again. Returns false if memory ran out, or if the process has too many keys of thread-specific data.
 */
bool ring_start(struct trace_file_header *file);

/* Returns true if events are recorded into a file. All stores before ring_start are then visible to the caller. */
bool ring_is_on(void);

/*
 * Records an event: see trace_append_bytes_at. Does nothing before ring_start. A child of fork must also call
 * ring_start.
 */
void ring_append(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size, const void *bytes,
                 size_t len);

#endif
