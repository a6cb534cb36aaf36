/* SPDX-License-Identifier: MIT */
/* Fills tables: see rows.h. table.c replaces bytes that a terminal might interpret. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- members ---- */

const char *member_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_null(value))
        return "-";
    return json_is_string(value) ? json_string_value(value) : "?";
}

unsigned long long member_number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (unsigned long long)value : 0;
}

static int entries_by_number(const void *a, const void *b)
{
    const struct member_entry *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

bool member_index_init(struct member_index *index, const json_t *array, const char *key)
{
    size_t count = json_array_size(array), i;
    json_t *object;

    *index = (struct member_index){ .entries = count ? malloc(count * sizeof *index->entries) : NULL };
    if (!index->entries)
        return count == 0;
    json_array_foreach(array, i, object)
        index->entries[i] = (struct member_entry){ member_number(object, key), object };
    index->count = count;
    qsort(index->entries, count, sizeof *index->entries, entries_by_number);
    return true;
}

void member_index_fini(struct member_index *index)
{
    free(index->entries);
    *index = (struct member_index){ .entries = NULL };
}

const json_t *member_index_find(struct member_index *index, unsigned long long number)
{
    struct member_entry wanted = { .number = number }, *found;
    const json_t *object;

    if (!index->count)
        return NULL;
    found = bsearch(&wanted, index->entries, index->count, sizeof wanted, entries_by_number);
    object = found ? found->object : NULL;
    if (found)
        found->object = NULL;
    return object;
}

/* ---- cells ---- */

static const json_t *row_source(const struct row *r, enum column_source source, bool is_old)
{
    switch (source) {
    case IN_ADAPTER:
        return is_old ? r->old_adapter : r->adapter;
    case IN_ADAPTER_COUNTERS:
        return json_object_get(is_old ? r->old_adapter : r->adapter, "counters");
    case IN_ADAPTER_LIMITS:
        return json_object_get(r->adapter, "limits");
    case IN_OBJECT:
        return is_old ? r->old_object : r->object;
    case IN_OBJECT_COUNTERS:
        return json_object_get(is_old ? r->old_object : r->object, "counters");
    default:
        return r->process;
    }
}

static void row_add_pid(const struct row *r, struct table *t)
{
    bool is_marked = json_is_true(json_object_get(r->process, "foreign")) && !t->is_csv;
    char text[64];

    if (is_marked)
        snprintf(text, sizeof text, "%llu (uid %llu)", member_number(r->process, "pid"),
                 member_number(r->process, "uid"));
    else
        snprintf(text, sizeof text, "%llu", member_number(r->process, "pid"));
    table_add(t, text);
}

static void row_add_netns(const struct row *r, struct table *t)
{
    const char *name = json_string_value(json_object_get(r->process, "netns_name"));

    if (name && *name && !t->is_csv)
        table_add(t, name);
    else
        table_add_number(t, member_number(r->process, "netns"));
}

/*
 * Adds a time of CLOCK_REALTIME. In CSV the cell contains the seconds since 1970, otherwise the date and time in UTC,
 * for example 2026-01-31T12:00:00Z.
 */
static void table_add_time(struct table *t, unsigned long long ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    char text[64];
    struct tm tm;

    if (t->is_csv)
        snprintf(text, sizeof text, "%llu.%03llu", ns / 1000000000, ns % 1000000000 / 1000000);
    else if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
        snprintf(text, sizeof text, "?");
    table_add(t, text);
}

unsigned long long row_number(const struct row *r, const struct column *c, bool is_csv)
{
    unsigned long long now = member_number(row_source(r, c->source, false), c->member), before;

    if (!c->is_rate || is_csv || !r->ns)
        return now;
    before = member_number(row_source(r, c->source, true), c->member);
    return now > before ? (unsigned long long)((double)(now - before) * 1e9 / (double)r->ns + 0.5) : 0;
}

/* Adds a cell with the value of the column's member. Adds an empty cell if the object does not have the member. */
static void row_add_value(const struct row *r, const struct column *c, struct table *t)
{
    const json_t *value = json_object_get(row_source(r, c->source, false), c->member);

    if (!value) {
        table_add_empty(t);
    } else if (c->kind == TEXT && (json_is_boolean(value) || json_is_integer(value))) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        table_add(t, json_is_true(value) ? "yes" : json_is_false(value) ? "no" : text);
    } else if (c->kind == TEXT || c->kind == NOTE) {
        table_add(t, json_is_null(value)     ? (t->is_csv ? "" : "-")
                     : json_is_string(value) ? json_string_value(value)
                                             : "?");
    } else if (c->kind == BYTES) {
        table_add_bytes(t, row_number(r, c, t->is_csv));
    } else if (c->kind == AGE) {
        table_add_age(t, row_number(r, c, t->is_csv));
    } else if (c->kind == TIME) {
        table_add_time(t, row_number(r, c, t->is_csv));
    } else {
        table_add_number(t, row_number(r, c, t->is_csv));
    }
}

void rows_add(const struct row *r, const struct view *v, struct table *t)
{
    for (size_t i = 0; i < v->n_columns; i++) {
        switch (v->columns[i].source) {
        case CELL_MODE:
            table_add(t, "User");
            break;
        case CELL_TYPE:
            table_add(t, r->type);
            break;
        case CELL_PID:
            row_add_pid(r, t);
            break;
        case CELL_NETNS:
            row_add_netns(r, t);
            break;
        default:
            row_add_value(r, &v->columns[i], t);
        }
    }
}

/* ---- rows ---- */

static bool row_is_shown(const struct row *r, const struct options *o)
{
    const char *state = json_string_value(json_object_get(r->object, "state"));

    if (o->objects || o->failures || o->counters)
        return true;
    if (json_is_null(json_object_get(r->object, "local")))
        return false; /* a listener has no address until NdkListen has succeeded */
    return o->state || o->connections || !state || strcmp(state, "ended") != 0;
}

/* Adds a row for each object in one of the adapter's lists. */
static void list_add_rows(struct row *r, const struct list *l, const struct view *v, const struct options *o,
                          struct table *t)
{
    struct member_index before;
    json_t *object;
    size_t i;

    if (!member_index_init(&before, json_object_get(r->old_adapter, l->member), "id"))
        t->has_failed = true;
    r->type = l->type;
    json_array_foreach(json_object_get(r->adapter, l->member), i, object)
    {
        r->object = object;
        r->old_object = member_index_find(&before, member_number(object, "id"));
        if (row_is_shown(r, o))
            rows_add(r, v, t);
    }
    member_index_fini(&before);
}

static void adapter_add_rows(struct row *r, const struct view *v, const struct options *o, struct table *t)
{
    if (!v->lists[0].member) { /* the row shows the adapter itself */
        r->type = v->lists[0].type;
        r->object = r->adapter;
        rows_add(r, v, t);
        return;
    }
    for (const struct list *l = v->lists; l->type; l++)
        list_add_rows(r, l, v, o, t);
}

unsigned long long rows_time_between(const json_t *process, const json_t *before)
{
    unsigned long long now = member_number(process, "time_ns"), then = member_number(before, "time_ns");

    return before && now > then ? now - then : 0;
}

/* Adds the rows of one process. `before` is the same process in the earlier reading, or NULL. */
static void process_add_rows(const json_t *process, const json_t *before, const struct view *v, const struct options *o,
                             struct table *t)
{
    struct row r = { .process = process };
    struct member_index adapters;
    json_t *adapter;
    size_t i;

    if (!member_index_init(&adapters, json_object_get(before, "adapters"), "adapter"))
        t->has_failed = true;
    r.ns = rows_time_between(process, before);
    json_array_foreach(json_object_get(process, "adapters"), i, adapter)
    {
        r.adapter = adapter;
        r.old_adapter = member_index_find(&adapters, member_number(adapter, "adapter"));
        adapter_add_rows(&r, v, o, t);
    }
    member_index_fini(&adapters);
}

/* ---- tables ---- */

static bool column_is_hidden(const struct column *c, const struct options *o, bool has_others)
{
    switch (c->group) {
    case WITH_STATE:
        return !o->state && !o->connections;
    case WITH_COUNTERS:
        return !o->connections;
    case VERBOSE:
        return !o->verbose;
    case OTHER_NETNS:
        return !has_others;
    case ALWAYS:
        break;
    }
    return false;
}

/* Returns true if a process is in a different network namespace than ndkstat. */
static bool processes_have_others(const json_t *processes)
{
    json_t *process;
    size_t i;

    json_array_foreach(processes, i, process) if (json_is_true(json_object_get(process, "netns_other"))) return true;
    return false;
}

void rows_begin(const struct view *v, const struct options *o, const json_t *processes, struct table *t,
                struct table_column *heads)
{
    bool has_others = processes_have_others(processes);

    for (size_t i = 0; i < v->n_columns; i++)
        heads[i] = (struct table_column){
            .title = v->columns[i].title,
            .key = v->columns[i].key,
            .is_right = v->columns[i].kind != TEXT,
            .is_note = v->columns[i].kind == NOTE,
        };
    table_init(t, heads, v->n_columns, o->csv);
    for (size_t i = 0; i < v->n_columns; i++)
        t->is_hidden[i] = column_is_hidden(&v->columns[i], o, has_others);
}

bool rows_print(FILE *out, const struct view *v, const struct options *o, const json_t *processes, const json_t *before)
{
    struct table_column heads[TABLE_MAX_COLUMNS];
    struct member_index earlier;
    json_t *process;
    struct table t;
    size_t i;
    bool ok;

    rows_begin(v, o, processes, &t, heads);
    if (!member_index_init(&earlier, before, "pid"))
        t.has_failed = true;
    json_array_foreach(processes, i, process)
        process_add_rows(process, member_index_find(&earlier, member_number(process, "pid")), v, o, &t);
    member_index_fini(&earlier);
    ok = table_print(&t, out);
    table_fini(&t);
    return ok;
}
