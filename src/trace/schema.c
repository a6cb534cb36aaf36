/* SPDX-License-Identifier: MIT */
/* Prints the schema from the lists of trace/events.h. */
#include "trace/schema.h"

#include <stdarg.h>
#include <stdio.h>

#include "trace/events.h"

struct schema_field {
    const char *kind, *name;
};

struct schema_event {
    unsigned number;
    const char *name;
    const struct schema_field *fields;
    size_t n_fields;
};

#define SCHEMA_FIELD(kind, name) { #kind, #name },
#define SCHEMA_FIELDS(number, name)                                                                                    \
    static const struct schema_field name##_fields[] = { TRACE_FIELDS_##name(SCHEMA_FIELD) };
#define SCHEMA_EVENT(number, name) { number, #name, name##_fields, sizeof name##_fields / sizeof name##_fields[0] },

/* clang-format off */
TRACE_EVENTS(SCHEMA_FIELDS)
static const struct schema_event schema_events[] = { TRACE_EVENTS(SCHEMA_EVENT) };
/* clang-format on */

struct schema_text {
    char *text;
    size_t room, used;
};

__attribute__((format(printf, 2, 3))) static void schema_add(struct schema_text *t, const char *format, ...)
{
    size_t left = t->used < t->room ? t->room - t->used : 0;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(left ? t->text + t->used : NULL, left, format, arguments);
    va_end(arguments);
    t->used += n > 0 ? (size_t)n : 0;
}

static void schema_add_event(struct schema_text *t, const struct schema_event *e)
{
    schema_add(t, "event %u %s", e->number, e->name);
    for (size_t i = 0; i < e->n_fields; i++)
        schema_add(t, " %s:%s", e->fields[i].name, e->fields[i].kind);
    schema_add(t, "\n");
}

size_t schema_print(char *text, size_t room)
{
    struct schema_text t = { text, room, 0 };

    for (size_t i = 0; i < sizeof schema_events / sizeof schema_events[0]; i++)
        schema_add_event(&t, &schema_events[i]);
    return t.used;
}
