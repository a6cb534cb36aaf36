/* SPDX-License-Identifier: MIT */
/*
 * Records events into a trace file or into memory, if ONDK_TRACE or `ndktrace attach` asks for it. The invariant:
 * recording an event acquires no lock, and makes no system call except when the thread begins a segment of 64 KiB. The
 * first event of a thread may allocate memory. While tracing is off, a TRACE costs one branch, and its arguments are
 * not evaluated. Any thread may record events, even with a lock held. A signal handler must not.
 *
 * Tracing may begin at any moment, so two calls of trace_is_on in the same function may return different values.
 * Tracing does not end, except in a child of fork.
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
 * Records an event about the connection `number`; 0 means no connection. The other arguments initialize the fields:
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
 * Records an event that happened at `time`, a result of trace_now_ns. `time` must not be earlier than the time of the
 * calling thread's last event.
 */
#define TRACE_AT(time, event, number, ...)                                                                             \
    do {                                                                                                               \
        if (trace_is_on()) {                                                                                           \
            const struct trace_fields_##event trace_fields = { __VA_ARGS__ };                                          \
            trace_append_at((time), TRACE_TYPE_##event, (number), &trace_fields, sizeof trace_fields);                 \
        }                                                                                                              \
    } while (0)

/*
 * TRACE_MAX_FIELDS: the most bytes of an event's fields. TRACE_MAX_PAYLOAD: the most bytes that can follow the fields.
 * An event with both fits into a segment and into the 16 bits of trace_event.size.
 */
enum { TRACE_MAX_FIELDS = 1024, TRACE_MAX_PAYLOAD = 64000 };

/* Returns the time for an event, in ns on CLOCK_MONOTONIC. */
uint64_t trace_now_ns(void) PRIVATE_EXPORT(trace_now_ns);
/* Records an event that happens now. `size` is at most TRACE_MAX_FIELDS. Does nothing while tracing is off. */
void trace_append(uint16_t type, uint32_t id, const void *fields, size_t size) PRIVATE_EXPORT(trace_append);
/* Records an event that happened at `time_ns`: see TRACE_AT. */
void trace_append_at(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size);

/*
 * Works like trace_append_at, for an event whose last field has the kind `bytes`. This field must contain `len`. The
 * `len` bytes at `bytes` follow the fields. `len` is at most TRACE_MAX_PAYLOAD.
 */
void trace_append_bytes_at(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size,
                           const void *bytes, size_t len);
/* Returns how many bytes of the payload of each FPDU are recorded: see trace_setting.payload. */
uint32_t trace_payload_limit(void);
/* Sets the result of trace_payload_limit, at most TRACE_MAX_PAYLOAD. start.c calls this before ring_start. */
void trace_set_payload_limit(uint32_t limit);

/*
 * Receives each event on the thread that records it. That thread may hold locks. `fields` is the struct of the
 * event's type, without the bytes that follow the fields. A sink must not record events, and must not call a function
 * that may record events.
 */
typedef void (*trace_sink)(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields);
/* Passes all later events to the sink, even if ONDK_TRACE is not set. A child of fork has no sink. */
void trace_set_sink(trace_sink new_sink);

/* Returns the recorders that are on, as bits of enum trace_recorder. */
unsigned trace_recorders(void);
enum trace_recorder { TRACE_TO_SINK = 1, TRACE_TO_RING = 2 };

/* Returns a field of the kind text16 that contains the first 16 bytes of `text`. */
struct trace_text16 trace_text16(const char *text) PRIVATE_EXPORT(trace_text16);

/*
 * Enumerates the names of a list. `index` counts from 0. Returns the name with this index, and sets *value to the value
 * that has the name. Returns NULL after the last name.
 */
typedef const char *(*trace_next_name)(unsigned index, unsigned *value);
/*
 * Registers the names of a list. Must be called by a constructor, so that the schema of each trace contains the names.
 */
void trace_set_names(enum trace_names list, trace_next_name next) PRIVATE_EXPORT(trace_set_names);

/* A value's meaning, and advice about it, as sentences of printable ASCII. */
struct trace_text {
    unsigned value;
    const char *text, *advice; /* NULL: none */
};
/*
 * Enumerates the texts of a list. `index` counts from 0. Sets *text to the text with this index. Returns false after
 * the last text.
 */
typedef bool (*trace_next_text)(unsigned index, struct trace_text *text);
/* Registers the texts for the values of a list. Must be called by a constructor. */
void trace_set_texts(enum trace_names list, trace_next_text next);

/* Turns tracing on. In a child of fork, tracing is off again. start.c calls this after ring_start. */
void trace_set_on(void);

enum { TRACE_MAX_PROBLEM = 4500 };
/*
 * Begins to record if ONDK_TRACE requests it and this process does not record yet. On failure, writes the reason to
 * `problem` and returns false. Further calls do nothing and return true. A child of fork records nothing until its own
 * first call, which begins a new file or ring. If the parent has called trace_start and the file's name has no %p, the
 * child's call does nothing.
 */
bool trace_start(char problem[TRACE_MAX_PROBLEM]) PRIVATE_EXPORT(trace_start);

#endif
