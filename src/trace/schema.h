/* SPDX-License-Identifier: MIT */
/*
 * Makes the schema of events and fields: as tables, and as the text in a trace file, which docs/trace-format.md
 * specifies. Both are made from the lists in trace/events.h.
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
    int names; /* enum trace_names: the list with the values' names; SCHEMA_NO_NAMES: they have none */
};

struct schema_event_type {
    uint16_t number;
    const char *name;
    const struct schema_event_field *fields;
    size_t n_fields;
};

/* Returns the types of all events, and sets *count to their number. */
const struct schema_event_type *schema_event_types(size_t *count);
/* Returns the event type with this number, or NULL if there is none. */
const struct schema_event_type *schema_event_find(uint16_t number);
/*
 * Returns the size of a field of this kind in bytes. A field of the kind `bytes` is only a count. The result does not
 * include the counted bytes, which follow the fields.
 */
size_t schema_field_size(enum schema_field_kind kind);
/* Returns the function that enumerates the names in the list. Returns NULL if the names were not registered. */
trace_next_name schema_names(enum trace_names list);
/* Returns the name of the value in the list, or NULL if the value has none. */
const char *schema_value_name(enum trace_names list, uint64_t value);

/*
 * Writes the schema as text. Works like snprintf: writes at most `room` bytes including a final 0, and returns the
 * length of the whole text.
 */
size_t schema_print(char *text, size_t room);

#endif
