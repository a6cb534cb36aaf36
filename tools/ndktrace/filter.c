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

static bool filter_is_object(const struct filter *f, uint64_t address)
{
    return address && (address == f->object || address == f->behind);
}

static bool filter_names_object(const struct filter *f, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    struct value v;

    while (value_next(r, &c, &v))
        if (v.field->is_pointer && filter_is_object(f, v.number))
            return true;
    return false;
}

/* Stores the object behind the proxy, if the record shows that f->object is a proxy. */
static void filter_learn_proxy(struct filter *f, const struct trace_record *r)
{
    struct value proxy, object;

    if (r->event && strcmp(r->event->name, "proxy") == 0 && value_find(r, "proxy", &proxy) &&
        value_find(r, "object", &object) && proxy.number == f->object)
        f->behind = object.number;
}

/* Returns the index of the record's connection in f->tied, or the index at which it must be inserted. */
static size_t filter_find_tied(const struct filter *f, const struct trace_record *r, bool *is_found)
{
    size_t low = 0, high = f->n_tied;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct filter_tied *t = &f->tied[middle];

        if (t->file < r->file || (t->file == r->file && t->id < r->id))
            low = middle + 1;
        else
            high = middle;
    }
    *is_found = low < f->n_tied && f->tied[low].file == r->file && f->tied[low].id == r->id;
    return low;
}

/* Adds the record's connection to f->tied. Returns false if out of memory. */
static bool filter_tie(struct filter *f, const struct trace_record *r)
{
    struct filter_tied *grown;
    bool is_found;
    size_t at = filter_find_tied(f, r, &is_found);

    if (is_found)
        return true;
    grown = reallocarray(f->tied, f->n_tied + 1, sizeof *grown);
    if (!grown)
        return false;
    f->tied = grown;
    memmove(grown + at + 1, grown + at, (f->n_tied - at) * sizeof *grown);
    grown[at] = (struct filter_tied){ r->file, r->id };
    f->n_tied++;
    return true;
}

bool filter_learn(struct filter *f, const struct trace_records *records)
{
    for (size_t i = 0; f->object && i < records->count; i++)
        filter_learn_proxy(f, &records->records[i]);
    for (size_t i = 0; f->object && i < records->count; i++) {
        const struct trace_record *r = &records->records[i];

        if (r->id && filter_names_object(f, r) && !filter_tie(f, r))
            return false;
    }
    return true;
}

static bool filter_is_of_object(const struct filter *f, const struct trace_record *r)
{
    bool is_tied = false;

    if (!f->object)
        return true;
    if (r->id)
        (void)filter_find_tied(f, r, &is_tied);
    return is_tied || filter_names_object(f, r);
}

/*
 * Returns true if the list of event names selects the record. A call's name also selects its return and its completion.
 */
static bool filter_has_name(const struct filter *f, const struct trace_record *r)
{
    struct value routine;

    if (filter_has_word(f->events, f->n_events, r->event ? r->event->name : ""))
        return true;
    return value_find(r, "routine", &routine) && routine.name && filter_has_word(f->events, f->n_events, routine.name);
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
    return filter_has_number(f->connections, f->n_connections, r->id) &&
           filter_has_number(f->threads, f->n_threads, r->thread) && filter_has_name(f, r) &&
           (!f->has_since || seconds >= f->since) && (!f->has_until || seconds <= f->until) &&
           filter_is_of_object(f, r) && filter_has_value(f, r);
}
