/* SPDX-License-Identifier: MIT */
/* Selects events: see filter.h. An empty list selects everything. */
#include "filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace_reader/value.h"

static bool filter_has_number(const uint32_t *list, size_t n, uint32_t number)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == number)
            return true;
    return n == 0;
}

static bool filter_has_word(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i], word) == 0)
            return true;
    return n == 0;
}

static bool filter_names_object(const struct filter *f, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    struct value v;

    while (value_next(r, &c, &v))
        if (v.field->is_pointer && v.number == f->object)
            return true;
    return false;
}

bool filter_learn(struct filter *f, const struct trace_records *records)
{
    for (size_t i = 0; f->object && i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        struct filter_tied *grown;

        if (!r->id || !filter_names_object(f, r))
            continue;
        grown = reallocarray(f->tied, f->n_tied + 1, sizeof *grown);
        if (!grown)
            return false;
        f->tied = grown;
        grown[f->n_tied++] = (struct filter_tied){ r->file, r->id };
    }
    return true;
}

static bool filter_is_of_object(const struct filter *f, const struct trace_record *r)
{
    for (size_t i = 0; r->id && i < f->n_tied; i++)
        if (f->tied[i].file == r->file && f->tied[i].id == r->id)
            return true;
    return !f->object || filter_names_object(f, r);
}

static bool filter_has_value(const struct filter *f, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    char text[VALUE_MAX_TEXT];
    struct value v;

    if (f->n_values == 0)
        return true;
    while (value_next(r, &c, &v))
        if (filter_has_word(f->values, f->n_values, value_text(&v, text)))
            return true;
    return false;
}

bool filter_has_connection(const struct filter *f, uint32_t id)
{
    return filter_has_number(f->connections, f->n_connections, id);
}

bool filter_accepts(const struct filter *f, const struct trace_record *r, double seconds)
{
    const char *name = r->event ? r->event->name : "";

    return filter_has_number(f->connections, f->n_connections, r->id) &&
           filter_has_number(f->threads, f->n_threads, r->thread) && filter_has_word(f->events, f->n_events, name) &&
           (!f->has_since || seconds >= f->since) && (!f->has_until || seconds <= f->until) &&
           filter_is_of_object(f, r) && filter_has_value(f, r);
}
