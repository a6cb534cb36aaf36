/* SPDX-License-Identifier: MIT */
/* Makes the schema from the lists in trace/events.h: see schema.h. */
#include "trace/schema.h"

#include <stdarg.h>
#include <stdio.h>

#include "trace/trace.h"

#define SCHEMA_FIELD(kind_, name_) { .name = #name_, .kind = SCHEMA_KIND_##kind_, .names = SCHEMA_NO_NAMES },
#define SCHEMA_NAMED(kind_, name_, names_)                                                                             \
    { .name = #name_, .kind = SCHEMA_KIND_##kind_, .names = TRACE_NAMES_##names_ },
#define SCHEMA_FIELDS(number, name)                                                                                    \
    static const struct schema_event_field name##_fields[] = { TRACE_FIELDS_##name(SCHEMA_FIELD, SCHEMA_NAMED) };
#define SCHEMA_NAMES(name) #name,
#define SCHEMA_EVENT(number, name) { number, #name, name##_fields, sizeof name##_fields / sizeof name##_fields[0] },
#define SCHEMA_KIND(kind, type) { #kind, sizeof(type) },
#define SCHEMA_ORDINAL(number, name) SCHEMA_ORDINAL_##name,
#define SCHEMA_INDEX(number, name) [number] = SCHEMA_ORDINAL_##name + 1,

/* clang-format off */
TRACE_EVENTS(SCHEMA_FIELDS)
static const struct schema_event_type schema_types[] = { TRACE_EVENTS(SCHEMA_EVENT) };
static const char *const schema_lists[TRACE_NAMES_COUNT] = { TRACE_NAMES(SCHEMA_NAMES) };
static const struct {
    const char *name;
    size_t size;
} schema_kinds[] = { TRACE_KINDS(SCHEMA_KIND) };
enum { TRACE_EVENTS(SCHEMA_ORDINAL) };
/* schema_indexes[number] is 1 + the index in schema_types of the event with this number. 0: there is no such event. */
static const uint16_t schema_indexes[] = { TRACE_EVENTS(SCHEMA_INDEX) };
/* clang-format on */

static trace_next_name schema_next_names[TRACE_NAMES_COUNT];
static trace_next_text schema_next_texts[TRACE_NAMES_COUNT];

void trace_set_names(enum trace_names list, trace_next_name next)
{
    schema_next_names[list] = next;
}

void trace_set_texts(enum trace_names list, trace_next_text next)
{
    schema_next_texts[list] = next;
}

const struct schema_event_type *schema_event_types(size_t *count)
{
    *count = sizeof schema_types / sizeof schema_types[0];
    return schema_types;
}

const struct schema_event_type *schema_event_find(uint16_t number)
{
    unsigned index = number < sizeof schema_indexes / sizeof schema_indexes[0] ? schema_indexes[number] : 0;

    return index ? &schema_types[index - 1] : NULL;
}

size_t schema_field_size(enum schema_field_kind kind)
{
    return schema_kinds[kind].size;
}

trace_next_name schema_names(enum trace_names list)
{
    return schema_next_names[list];
}

const char *schema_value_name(enum trace_names list, uint64_t value)
{
    trace_next_name next = schema_next_names[list];
    const char *name;
    unsigned named;

    for (unsigned i = 0; next && (name = next(i, &named)) != NULL; i++)
        if (named == value)
            return name;
    return NULL;
}

/* ---- the text ---- */

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

static void schema_add_event(struct schema_text *t, const struct schema_event_type *e)
{
    schema_add(t, "event %u %s", e->number, e->name);
    for (size_t i = 0; i < e->n_fields; i++) {
        const struct schema_event_field *f = &e->fields[i];

        schema_add(t, " %s:%s", f->name, schema_kinds[f->kind].name);
        if (f->names != SCHEMA_NO_NAMES)
            schema_add(t, ":%s", schema_lists[f->names]);
    }
    schema_add(t, "\n");
}

/* Adds a name to the line. Replaces each space by a hyphen, because spaces separate the words of a line. */
static void schema_add_name(struct schema_text *t, unsigned value, const char *name)
{
    schema_add(t, " %u=", value);
    for (; *name; name++)
        schema_add(t, "%c", *name == ' ' ? '-' : *name);
}

static void schema_add_names(struct schema_text *t, enum trace_names list)
{
    trace_next_name next = schema_next_names[list];
    const char *name;
    unsigned value;

    if (!next)
        return;
    schema_add(t, "names %s", schema_lists[list]);
    for (unsigned i = 0; (name = next(i, &value)) != NULL; i++)
        schema_add_name(t, value, name);
    schema_add(t, "\n");
}

static void schema_add_texts(struct schema_text *t, enum trace_names list)
{
    struct trace_text text;

    for (unsigned i = 0; schema_next_texts[list] && schema_next_texts[list](i, &text); i++) {
        if (text.text)
            schema_add(t, "text %s %u %s\n", schema_lists[list], text.value, text.text);
        if (text.advice)
            schema_add(t, "advice %s %u %s\n", schema_lists[list], text.value, text.advice);
    }
}

size_t schema_print(char *text, size_t room)
{
    struct schema_text t = { text, room, 0 };

    for (unsigned i = 0; i < TRACE_NAMES_COUNT; i++)
        schema_add_names(&t, (enum trace_names)i);
    for (size_t i = 0; i < sizeof schema_types / sizeof schema_types[0]; i++)
        schema_add_event(&t, &schema_types[i]);
    for (unsigned i = 0; i < TRACE_NAMES_COUNT; i++)
        schema_add_texts(&t, (enum trace_names)i);
    return t.used;
}
