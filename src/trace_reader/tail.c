/* SPDX-License-Identifier: MIT */
/* Finds the last events of a trace file: see tail.h. */
#include "trace_reader/tail.h"

#include <string.h>

#include "trace_reader/value.h"

/* ---- what is related ---- */

static bool tail_names_address(const struct tail *t, const struct trace_record *r)
{
    struct value_cursor c = { 0 };
    struct value v;

    while (value_next(r, &c, &v))
        for (int i = 0; v.field->is_pointer && i < TAIL_MAX_ADDRESSES; i++)
            if (t->addresses[i] && v.number == t->addresses[i])
                return true;
    return false;
}

static bool tail_has_connection(const struct tail *t, uint32_t id)
{
    for (unsigned i = 0; id && i < t->n_connections; i++)
        if (t->connections[i] == id)
            return true;
    return false;
}

/*
 * Stores the record's connection if the record has one of the addresses. Replaces another connection if there is no
 * room.
 */
static void tail_find_connection(void *context, const struct trace_record *r)
{
    struct tail *t = context;

    if (r->id && !tail_has_connection(t, r->id) && tail_names_address(t, r))
        t->connections[t->n_connections < TAIL_MAX_CONNECTIONS ? t->n_connections++ : r->id % TAIL_MAX_CONNECTIONS] =
            r->id;
}

/* ---- lists ---- */

static bool record_is_later(const struct trace_record *a, const struct trace_record *b)
{
    return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->order > b->order;
}

/*
 * Inserts a copy of the record. If the list is full, replaces the oldest event, or does nothing if the record is older
 * than all events in the list.
 */
static void tail_list_insert(struct tail_list *l, const struct trace_record *r, bool is_related)
{
    unsigned at = l->count, index = l->count;
    struct tail_event *e;

    if (l->max == 0 || (l->count == l->max && !record_is_later(r, &l->events[l->order[0]].record)))
        return;
    if (l->count == l->max) {
        index = l->order[0];
        memmove(l->order, l->order + 1, --at);
    } else {
        l->count++;
    }
    while (at > 0 && record_is_later(&l->events[l->order[at - 1]].record, r)) {
        l->order[at] = l->order[at - 1];
        at--;
    }
    l->order[at] = (uint8_t)index;
    e = &l->events[index];
    e->record = *r;
    e->is_related = is_related;
    if (e->record.size > sizeof e->fields)
        e->record.size = sizeof e->fields;
    memcpy(e->fields, r->fields, e->record.size);
    e->record.fields = e->fields;
}

static void tail_handle_record(void *context, const struct trace_record *r)
{
    struct tail *t = context;
    bool is_related = tail_has_connection(t, r->id) || (t->related.max && tail_names_address(t, r));

    tail_list_insert(&t->latest, r, is_related);
    if (is_related)
        tail_list_insert(&t->related, r, true);
}

/* ---- the result ---- */

static bool tail_has(const struct tail *t, const struct tail_event *e)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->sorted[i]->record.order == e->record.order)
            return true;
    return false;
}

static void tail_add(struct tail *t, struct tail_event *e)
{
    unsigned at = t->count++;

    for (; at > 0 && record_is_later(&t->sorted[at - 1]->record, &e->record); at--)
        t->sorted[at] = t->sorted[at - 1];
    t->sorted[at] = e;
}

/* Adds the last events of the list to the result, while there is room. Skips events that are already in the result. */
static void tail_add_list(struct tail *t, struct tail_list *l)
{
    for (unsigned i = l->count; i > 0 && t->count < t->max; i--) {
        struct tail_event *e = &l->events[l->order[i - 1]];

        if (!tail_has(t, e))
            tail_add(t, e);
    }
}

void tail_read(struct tail *t, struct trace_file *f)
{
    bool has_address = false;

    for (int i = 0; i < TAIL_MAX_ADDRESSES; i++)
        has_address = has_address || t->addresses[i];
    t->count = t->n_connections = 0;
    t->latest.count = t->related.count = 0;
    t->latest.max = t->max;
    t->related.max = has_address ? t->max_related : 0;
    if (has_address)
        trace_file_for_each(f, tail_find_connection, t);
    trace_file_for_each(f, tail_handle_record, t);
    tail_add_list(t, &t->related);
    tail_add_list(t, &t->latest);
}
