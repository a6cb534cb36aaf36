/* SPDX-License-Identifier: MIT */
/* Finds the ends of connections: see ends.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* tdestroy */
#endif
#include "ends.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "trace_reader/value.h"

/*
 * The latest end, that is, side of a connection, with the connection number `id`. New events with this number belong to
 * this end.
 */
struct end_key {
    const struct trace_file *file;
    uint32_t id;
    size_t end;
};

struct ends_search {
    struct ends *ends;
    size_t room;
    void *keys; /* a tree of struct end_key */
};

const char *ends_event_name(const struct trace_record *r)
{
    return r->event ? r->event->name : "";
}

int64_t ends_limit_time(int64_t ns)
{
    return ns > ENDS_MAX_TIME ? ENDS_MAX_TIME : ns < -ENDS_MAX_TIME ? -ENDS_MAX_TIME : ns;
}

int64_t ends_time_between(const struct trace_record *from, const struct trace_record *to)
{
    return ends_limit_time((int64_t)(trace_record_realtime(to) - trace_record_realtime(from)));
}

static int end_key_compare(const void *left, const void *right)
{
    const struct end_key *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Returns the key of the record's connection number. If there is none, creates it. Returns NULL if out of memory. */
static struct end_key *ends_find_key(struct ends_search *s, const struct trace_record *r)
{
    struct end_key wanted = { r->file, r->id, END_NONE }, **found = tfind(&wanted, &s->keys, end_key_compare), *key;

    if (found)
        return *found;
    key = malloc(sizeof *key);
    if (!key)
        return NULL;
    *key = wanted;
    if (tsearch(key, &s->keys, end_key_compare))
        return key;
    free(key);
    return NULL;
}

/* Adds a new end of a connection, whose first record is `r`. Returns false if out of memory. */
static bool ends_begin(struct ends_search *s, const struct trace_record *r, size_t index, struct end_key *key)
{
    struct ends *e = s->ends;
    size_t room = s->room ? 2 * s->room : 64;
    struct end *grown;

    if (e->count == s->room) {
        grown = reallocarray(e->ends, room, sizeof *grown);
        if (!grown)
            return false;
        e->ends = grown;
        s->room = room;
    }
    key->end = e->count;
    e->ends[e->count++] = (struct end){
        .file = r->file, .id = r->id, .first = index, .last = index, .other = END_NONE
    };
    return true;
}

static bool ends_add(struct ends_search *s, const struct trace_record *r, size_t index)
{
    bool is_begin = strcmp(ends_event_name(r), "connection") == 0;
    struct end_key *key = ends_find_key(s, r);
    struct end *end;

    if (!key || ((is_begin || key->end == END_NONE) && !ends_begin(s, r, index, key)))
        return false;
    end = &s->ends->ends[key->end];
    if (end->last != index)
        s->ends->next[end->last] = index;
    if (is_begin)
        end->has_begin = flow_begin(&end->flow, r);
    end->last = index;
    s->ends->of_record[index] = key->end;
    return true;
}

/* ---- frames ---- */

/* Returns the kind of list to which the record belongs, or END_LISTS if the record is no frame. */
static enum end_list_kind ends_list_of(const struct trace_record *r)
{
    const char *name = ends_event_name(r);
    struct value direction;

    if (strcmp(name, "mpa_sent") == 0)
        return END_MPA_SENT;
    if (strcmp(name, "mpa_received") == 0)
        return END_MPA_RECEIVED;
    if ((strcmp(name, "tagged") == 0 || strcmp(name, "untagged") == 0 || strcmp(name, "no_segment") == 0) &&
        value_find(r, "direction", &direction))
        return direction.number == 1 ? END_FPDUS_SENT : END_FPDUS_RECEIVED;
    return END_LISTS;
}

/*
 * Fills the lists of frames in all ends: counts the frames, allocates the memory, and stores the indexes. Returns false
 * if out of memory.
 */
static bool ends_list_frames(struct ends *e, const struct trace_records *records)
{
    uint8_t *kinds = malloc(records->count + 1);
    size_t total = 0;

    for (size_t i = 0; kinds && i < records->count; i++) {
        kinds[i] = e->of_record[i] == END_NONE ? END_LISTS : (uint8_t)ends_list_of(&records->records[i]);
        if (kinds[i] < END_LISTS) {
            e->ends[e->of_record[i]].lists[kinds[i]].count++;
            total++;
        }
    }
    e->n_frames = total;
    e->frames = kinds ? calloc(total + 1, sizeof *e->frames) : NULL;
    if (!e->frames) {
        free(kinds);
        return false;
    }
    total = 0;
    for (size_t i = 0; i < e->count; i++) {
        for (int kind = 0; kind < END_LISTS; kind++) {
            struct end_list *list = &e->ends[i].lists[kind];

            list->records = e->frames + total;
            total += list->count;
            list->count = 0;
        }
    }
    for (size_t i = 0; i < records->count; i++) {
        if (kinds[i] < END_LISTS) {
            struct end_list *list = &e->ends[e->of_record[i]].lists[kinds[i]];

            list->records[list->count++] = i;
        }
    }
    free(kinds);
    return true;
}

bool ends_find(struct ends *e, const struct trace_records *records)
{
    struct ends_search s = { .ends = e };
    bool ok;

    *e = (struct ends){ .n_records = records->count };
    e->of_record = malloc((records->count + 1) * sizeof *e->of_record);
    e->next = malloc((records->count + 1) * sizeof *e->next);
    ok = e->of_record && e->next;
    for (size_t i = 0; ok && i < records->count; i++) {
        e->of_record[i] = e->next[i] = END_NONE;
        if (records->records[i].id)
            ok = ends_add(&s, &records->records[i], i);
    }
    tdestroy(s.keys, free);
    ok = ok && ends_list_frames(e, records);
    if (!ok)
        ends_free(e);
    return ok;
}

void ends_free(struct ends *e)
{
    free(e->ends);
    free(e->of_record);
    free(e->next);
    free(e->frames);
    *e = (struct ends){ 0 };
}

bool ends_renumber(struct ends *e, const size_t *moved)
{
    size_t *of_record = malloc((e->n_records + 1) * sizeof *of_record);
    size_t *next = malloc((e->n_records + 1) * sizeof *next);

    if (!of_record || !next) {
        free(of_record);
        free(next);
        return false;
    }
    for (size_t i = 0; i < e->n_records; i++) {
        of_record[moved[i]] = e->of_record[i];
        next[moved[i]] = e->next[i] == END_NONE ? END_NONE : moved[e->next[i]];
    }
    free(e->of_record);
    free(e->next);
    e->of_record = of_record;
    e->next = next;
    for (size_t i = 0; i < e->n_frames; i++)
        e->frames[i] = moved[e->frames[i]];
    for (size_t i = 0; i < e->count; i++) {
        e->ends[i].first = moved[e->ends[i].first];
        e->ends[i].last = moved[e->ends[i].last];
    }
    return true;
}
