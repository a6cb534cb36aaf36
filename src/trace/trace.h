/* SPDX-License-Identifier: MIT */
/*
 * Records events into a trace file or into memory, if ONDK_TRACE or `ndktrace attach` asks for it. The invariant: an
 * event takes no lock, and makes no system call except when its thread begins a segment of 64 KiB. The thread's first
 * event may allocate memory. While tracing is off, a hook costs one branch, and its arguments are not evaluated. Any
 * thread may record events, also one that holds a lock, but a signal handler must not.
 *
 * Tracing may begin at any moment, so two calls of trace_is_on in the same function may return different values. It
 * does not end, except in a child of fork.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"
#include "trace/events.h"

extern atomic_bool trace_on PRIVATE_EXPORT(trace_on);

static inline bool trace_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&trace_on, memory_order_relaxed), 0);
}

/*
 * Records an event about the connection with this number (0: none). The other arguments initialise the event's fields:
 *   TRACE(adapter_close, 0, .object = (uintptr_t)adapter);
 */
#define TRACE(event, number, ...)                                                                                      \
    do {                                                                                                               \
        if (trace_is_on()) {                                                                                           \
            const struct trace_fields_##event trace_fields = { __VA_ARGS__ };                                          \
            trace_append(TRACE_TYPE_##event, (number), &trace_fields, sizeof trace_fields);                            \
        }                                                                                                              \
    } while (0)

/*
 * Records an event that happened at `time`, a result of trace_now_ns() in the same thread after the thread's last
 * event.
 */
#define TRACE_AT(time, event, number, ...)                                                                             \
    do {                                                                                                               \
        if (trace_is_on()) {                                                                                           \
            const struct trace_fields_##event trace_fields = { __VA_ARGS__ };                                          \
            trace_append_at((time), TRACE_TYPE_##event, (number), &trace_fields, sizeof trace_fields);                 \
        }                                                                                                              \
    } while (0)

enum { TRACE_MAX_FIELDS = 1024 };

/* The clock of events: CLOCK_MONOTONIC. */
uint64_t trace_now_ns(void) PRIVATE_EXPORT(trace_now_ns);
/* Records an event. `size` is at most TRACE_MAX_FIELDS. Does nothing while tracing is off. */
void trace_append(uint16_t type, uint32_t id, const void *fields, size_t size) PRIVATE_EXPORT(trace_append);
/* Does the same with an event that happened at `time_ns`, as TRACE_AT. */
void trace_append_at(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size);

/*
 * Receives each event, on the thread that records it. That thread may hold locks. `fields` is the struct of the event's
 * type. A sink must not record events, and must not call a function that may record events.
 */
typedef void (*trace_sink)(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields);
/* Passes all events to the sink, also if ONDK_TRACE asks for no file. A child of fork has no sink. */
void trace_set_sink(trace_sink new_sink);

/* Returns which recorders have begun, as bits: those of enum trace_recorder. */
unsigned trace_recorders(void);
enum trace_recorder { TRACE_TO_SINK = 1, TRACE_TO_RING = 2 };

/* Fills a field of the kind text16. */
struct trace_text16 trace_text16(const char *text) PRIVATE_EXPORT(trace_text16);

/*
 * Returns the name with this index, which counts from 0, and sets *value to the value that has the name. Returns NULL
 * after the last name.
 */
typedef const char *(*trace_next_name)(unsigned index, unsigned *value);
/* Registers the names of a list. To be called by a constructor, so that the schema of each trace has the names. */
void trace_set_names(enum trace_names list, trace_next_name next) PRIVATE_EXPORT(trace_set_names);

/* The meaning of a value, and advice: sentences of printable ASCII. */
struct trace_text {
    unsigned value;
    const char *text, *advice; /* NULL: there is none */
};
/* Sets *text to the text with this index, which counts from 0. Returns false after the last one. */
typedef bool (*trace_next_text)(unsigned index, struct trace_text *text);
/* Registers the texts of a list's values, as trace_set_names registers their names. */
void trace_set_texts(enum trace_names list, trace_next_text next);

/* Turns tracing on. A fork turns it off in the child. Called by start.c after ring_start. */
void trace_set_on(void);

enum { TRACE_MAX_PROBLEM = 4500 };
/*
 * Begins to record if ONDK_TRACE asks for it and this process does not record yet. Returns false if that fails, and
 * writes the reason to `problem`. Repeated calls do nothing and return true. A child of fork records nothing until its
 * first call, which begins a file of the child's own.
 */
bool trace_start(char problem[TRACE_MAX_PROBLEM]) PRIVATE_EXPORT(trace_start);

#endif
