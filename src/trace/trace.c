/* SPDX-License-Identifier: MIT */
/*
 * Passes each event to the ring, which writes the event to a file, and to the sink, which prints it. The invariant:
 * trace_on is true while the ring or the sink is on.
 */
#include "trace/trace.h"

#include <string.h>
#include <time.h>

#include "base/fork.h"
#include "trace/ring.h"

atomic_bool trace_on;

static _Atomic(trace_sink) sink; /* NULL: none */
static _Atomic uint32_t payload_limit;

uint64_t trace_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void trace_append_bytes_at(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size,
                           const void *bytes, size_t len)
{
    trace_sink print = atomic_load_explicit(&sink, memory_order_acquire);

    if (!trace_is_on() || size > TRACE_MAX_FIELDS || len > TRACE_MAX_PAYLOAD)
        return;
    ring_append(time_ns, type, id, fields, size, bytes, len);
    if (print)
        print(time_ns, type, id, fields);
}

void trace_append_at(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields, size_t size)
{
    trace_append_bytes_at(time_ns, type, id, fields, size, NULL, 0);
}

void trace_append(uint16_t type, uint32_t id, const void *fields, size_t size)
{
    trace_append_at(trace_now_ns(), type, id, fields, size);
}

uint32_t trace_payload_limit(void)
{
    return atomic_load_explicit(&payload_limit, memory_order_relaxed);
}

void trace_set_payload_limit(uint32_t limit)
{
    atomic_store(&payload_limit, limit);
}

unsigned trace_recorders(void)
{
    return (atomic_load(&sink) ? TRACE_TO_SINK : 0) | (ring_is_on() ? TRACE_TO_RING : 0);
}

struct trace_text16 trace_text16(const char *text)
{
    struct trace_text16 field = { { 0 } };

    memcpy(field.bytes, text, strnlen(text, sizeof field.bytes));
    return field;
}

/* Turns tracing off in a child of fork, before fork returns. The file and the sink belong to the parent. */
static void trace_stop_in_child(void)
{
    atomic_store(&trace_on, false);
    atomic_store(&sink, NULL);
}

void trace_set_on(void)
{
    fork_on_child(trace_stop_in_child);
    atomic_store(&trace_on, true);
}

void trace_set_sink(trace_sink new_sink)
{
    atomic_store(&sink, new_sink);
    trace_set_on();
}
