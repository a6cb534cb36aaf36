/* SPDX-License-Identifier: MIT */
/*
 * The events and their fields: as tables, and as the text in a trace file that docs/trace-format.md specifies. The
 * lists of trace/events.h are the source of both.
 */
#ifndef TRACE_SCHEMA_H
#define TRACE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

#define SCHEMA_DEFINE_KIND(kind, type) SCHEMA_KIND_##kind,
enum schema_field_kind { TRACE_KINDS(SCHEMA_DEFINE_KIND) };
#undef SCHEMA_DEFINE_KIND

enum { SCHEMA_NO_NAMES = -1 };

struct schema_event_field {
    const char *name;
    enum schema_field_kind kind;
    int names; /* enum trace_names, or SCHEMA_NO_NAMES */
};

struct schema_event_type {
    uint16_t number;
    const char *name;
    const struct schema_event_field *fields;
    size_t n_fields;
};

/* Returns the types of all events. *count receives their number. */
const struct schema_event_type *schema_event_types(size_t *count);
/* Returns the type with this number, or NULL. */
const struct schema_event_type *schema_event_find(uint16_t number);
/* Returns the size of a field in bytes. For the kind bytes, returns the size of the length that precedes the bytes. */
size_t schema_field_size(enum schema_field_kind kind);
/* Returns the function that enumerates the list, or NULL if the names are not set. */
trace_next_name schema_names(enum trace_names list);
/* Returns the value's name, or NULL if it has none. */
const char *schema_value_name(enum trace_names list, uint64_t value);

/* Writes the schema like snprintf: returns its length, and writes at most `room` bytes, including a 0. */
size_t schema_print(char *text, size_t room);

#endif
