/* SPDX-License-Identifier: MIT */
/*
 * Finds the last events that this process has recorded, for its reports and while it crashes. The invariant: trace_last
 * allocates nothing, waits at most a second, and reads only with pread.
 */
#ifndef TRACE_LAST_H
#define TRACE_LAST_H

#include <stdint.h>

#include "base/last_event.h"

enum { TRACE_MAX_LAST_EVENTS = 32 };

/*
 * Writes the last events of this process to `events`, at most `max`, the oldest first. If one of `addresses` is not 0,
 * up to half of `events` holds the last events that are related to the addresses, even if there are newer events that
 * are not. An event is related if it, or another event of its connection, contains one of the addresses. Returns the
 * number of events, which is 0 if the process does not record. May be called in a signal handler.
 */
unsigned trace_last(const uint64_t addresses[2], struct last_event *events, unsigned max);

/*
 * Prepares trace_last for the file or ring of the descriptor `fd`. Must run before tracing is on. If memory runs out,
 * trace_last returns no events. In a child of fork, replaces what the parent has prepared.
 */
void trace_last_prepare(int fd);

#endif
