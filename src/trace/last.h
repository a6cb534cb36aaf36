/* SPDX-License-Identifier: MIT */
/*
 * The last events that this process has recorded, for its reports and while it crashes. The invariant: trace_last
 * allocates nothing, waits at most a second, and reads only with pread.
 */
#ifndef TRACE_LAST_H
#define TRACE_LAST_H

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_LAST_MAX = 32 };

/* An event as `ndktrace show` prints it. */
struct trace_last_event {
    double seconds; /* since the beginning of the trace */
    uint32_t thread, connection;
    bool is_related;
    char name[32];
    char fields[208];
};

/*
 * Writes up to `max` of the process's last events, the oldest first. If one of `addresses` is not 0, up to half of the
 * events written are the last related ones. An event is related if it names one of the addresses, or if its connection
 * has an event that does. Returns the number of events, 0 if the process records nothing. May be called in a signal
 * handler.
 */
unsigned trace_last(const uint64_t addresses[2], struct trace_last_event *events, unsigned max);

/*
 * Prepares trace_last for the file or ring that `fd` refers to. To be called before tracing is on. If memory runs out,
 * trace_last returns no events. In a child of fork, replaces what the parent has prepared.
 */
void trace_last_prepare(int fd);

#endif
