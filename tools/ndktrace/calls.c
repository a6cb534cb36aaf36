/* SPDX-License-Identifier: MIT */
/*
 * Finds calls: see calls.h. The calls and callbacks of a thread are nested. So the events `returned` and
 * `callback_returned` end the innermost open call or callback with the same object and routine. The event `completed`
 * contains the object and the routine of its call, and usually the call's context.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* tdestroy */
#endif
#include "calls.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "trace_reader/value.h"

enum { CALLS_MAX_DEPTH = 64, STATUS_PENDING_CODE = 0x103 };

/* The calls and callbacks of one thread that have not returned yet. */
struct calls_thread {
    const struct trace_file *file;
    uint32_t thread;
    size_t depth;
    size_t open[CALLS_MAX_DEPTH];
};

/* The calls of one routine on one object. Contains only calls for which a completion may follow. */
struct calls_waiting {
    const struct trace_file *file;
    uint64_t object;
    const char *routine;
    size_t count, room;
    size_t *calls;
};

struct calls_search {
    struct calls *calls;
    const struct trace_records *records;
    size_t room;
    void *threads, *waiting; /* trees */
};

static const char *const calls_callbacks[] = { "completed", "cq_notification", "srq_notification", "connect_event",
                                               "disconnect_event" };

bool calls_is_call(const struct trace_record *r)
{
    const char *name = ends_event_name(r);

    return strncmp(name, "Ndk", 3) == 0;
}

bool calls_is_callback(const struct trace_record *r)
{
    const char *name = ends_event_name(r);

    for (size_t i = 0; i < sizeof calls_callbacks / sizeof calls_callbacks[0]; i++)
        if (strcmp(name, calls_callbacks[i]) == 0)
            return true;
    return false;
}

bool calls_is_kernel(const struct trace_record *r)
{
    const struct schema *schema = &r->file->schema;

    for (size_t i = 0; r->event && i < schema->n_lists; i++)
        if (strcmp(schema->lists[i].list, "kernel_routine") == 0)
            return schema_name_of(&schema->lists[i], r->number) != NULL;
    return false;
}

bool calls_status_is_failure(uint64_t status)
{
    return status >> 31 & 1;
}

static uint64_t calls_number(const struct trace_record *r, const char *field)
{
    struct value v;

    return value_find(r, field, &v) ? v.number : 0;
}

/* ---- trees ---- */

static int calls_compare_threads(const void *left, const void *right)
{
    const struct calls_thread *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int calls_compare_waiting(const void *left, const void *right)
{
    const struct calls_waiting *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return strcmp(a->routine, b->routine);
}

/*
 * Returns the tree's element that equals *wanted. If there is none, inserts a copy of *wanted and returns the copy.
 * Returns NULL if out of memory.
 */
static void *calls_find_or_insert(void **tree, const void *wanted, size_t size,
                                  int (*compare)(const void *, const void *))
{
    void *found = tfind(wanted, tree, compare), *copy;

    if (found)
        return *(void **)found;
    copy = malloc(size);
    if (!copy)
        return NULL;
    memcpy(copy, wanted, size);
    if (tsearch(copy, tree, compare))
        return copy;
    free(copy);
    return NULL;
}

static struct calls_thread *calls_find_thread(struct calls_search *s, const struct trace_record *r)
{
    struct calls_thread wanted = { .file = r->file, .thread = r->thread };

    return calls_find_or_insert(&s->threads, &wanted, sizeof wanted, calls_compare_threads);
}

static struct calls_waiting *calls_find_waiting(struct calls_search *s, const struct trace_file *file, uint64_t object,
                                                const char *routine)
{
    struct calls_waiting wanted = { .file = file, .object = object, .routine = routine };

    return calls_find_or_insert(&s->waiting, &wanted, sizeof wanted, calls_compare_waiting);
}

static void calls_free_waiting(void *waiting)
{
    free(((struct calls_waiting *)waiting)->calls);
    free(waiting);
}

/* ---- events ---- */

static struct call *calls_append(struct calls_search *s, const struct trace_record *r, size_t record)
{
    struct calls *c = s->calls;
    size_t room = s->room ? 2 * s->room : 256;
    struct call *grown;

    if (c->count == s->room) {
        grown = reallocarray(c->calls, room, sizeof *grown);
        if (!grown)
            return NULL;
        c->calls = grown;
        s->room = room;
    }
    c->of_record[record] = c->count;
    c->calls[c->count] = (struct call){ .file = r->file,
                                        .thread = r->thread,
                                        .routine = ends_event_name(r),
                                        .object = calls_number(r, "object"),
                                        .record = record,
                                        .returned = END_NONE,
                                        .completed = END_NONE,
                                        .begin_ns = trace_record_realtime(r) };
    return &c->calls[c->count++];
}

static void calls_set_status(struct call *c, const struct trace_record *r)
{
    struct value v;

    if (!value_find(r, "status", &v))
        return;
    c->has_status = true;
    c->status = v.number;
    c->status_name = v.name;
}

static bool calls_push(struct calls_search *s, const struct trace_record *r, size_t call)
{
    struct calls_thread *t = calls_find_thread(s, r);

    if (!t)
        return false;
    if (t->depth == CALLS_MAX_DEPTH) { /* drops the outermost call, because the trace lacks "returned" events */
        memmove(t->open, t->open + 1, (CALLS_MAX_DEPTH - 1) * sizeof t->open[0]);
        t->depth--;
    }
    t->open[t->depth++] = call;
    return true;
}

static bool calls_begin_callback(struct calls_search *s, const struct trace_record *r, size_t record)
{
    struct call *c = calls_append(s, r, record);

    if (!c)
        return false;
    c->is_callback = true;
    c->created = calls_number(r, "connector"); /* only a connect event has this field */
    calls_set_status(c, r);
    return calls_push(s, r, s->calls->count - 1);
}

static bool calls_begin_kernel(struct calls_search *s, const struct trace_record *r, size_t record)
{
    struct call *c = calls_append(s, r, record);

    if (!c)
        return false;
    c->is_kernel = true;
    return calls_push(s, r, s->calls->count - 1);
}

static bool calls_wait(struct calls_search *s, const struct call *c, size_t index)
{
    struct calls_waiting *w = calls_find_waiting(s, c->file, c->object, c->routine);
    size_t *grown;

    if (!w)
        return false;
    if (w->count == w->room) {
        grown = reallocarray(w->calls, w->room + 8, sizeof *grown);
        if (!grown)
            return false;
        w->calls = grown;
        w->room += 8;
    }
    w->calls[w->count++] = index;
    return true;
}

static bool calls_begin_call(struct calls_search *s, const struct trace_record *r, size_t record)
{
    struct call *c = calls_append(s, r, record);
    struct value duration;

    if (!c)
        return false;
    /* A call with a duration has only this event, which was recorded when the call returned. */
    if (value_find(r, "duration", &duration)) {
        c->returned = record;
        c->end_ns = c->begin_ns;
        c->begin_ns -= duration.number < c->begin_ns ? duration.number : 0;
        calls_set_status(c, r);
        return true;
    }
    c->is_pending = true;
    return calls_push(s, r, s->calls->count - 1) && calls_wait(s, c, s->calls->count - 1);
}

enum calls_type { CALLS_NDK, CALLS_CALLBACK, CALLS_KERNEL };

static enum calls_type calls_type_of(const struct call *c)
{
    return c->is_kernel ? CALLS_KERNEL : c->is_callback ? CALLS_CALLBACK : CALLS_NDK;
}

/*
 * Returns the thread's innermost open call with the object and the routine of the record, or NULL if there is none.
 * Removes this call and all calls inside it from the open calls. The record of a callback's return has no routine, so
 * only its object is compared.
 */
static struct call *calls_pop(struct calls_search *s, const struct trace_record *r, enum calls_type type)
{
    struct calls_thread wanted = { .file = r->file, .thread = r->thread }, **found, *t;
    uint64_t object = calls_number(r, "object");
    struct value routine;
    bool has_routine = value_find(r, "routine", &routine) && routine.name;

    found = (struct calls_thread **)tfind(&wanted, &s->threads, calls_compare_threads);
    if (!found || (type != CALLS_CALLBACK && !has_routine))
        return NULL;
    t = *found;
    for (size_t i = t->depth; i > 0; i--) {
        struct call *c = &s->calls->calls[t->open[i - 1]];

        if (calls_type_of(c) != type || c->object != object ||
            (type != CALLS_CALLBACK && strcmp(c->routine, routine.name) != 0))
            continue;
        t->depth = i - 1;
        return c;
    }
    return NULL;
}

static void calls_remove_waiting(struct calls_waiting *w, size_t at)
{
    memmove(w->calls + at, w->calls + at + 1, (w->count - at - 1) * sizeof w->calls[0]);
    w->count--;
}

static void calls_return(struct calls_search *s, const struct trace_record *r, size_t record, enum calls_type type)
{
    struct call *c = calls_pop(s, r, type);

    if (!c)
        return;
    c->returned = record;
    c->end_ns = trace_record_realtime(r);
    s->calls->of_record[record] = (size_t)(c - s->calls->calls);
    if (type == CALLS_KERNEL)
        calls_set_status(c, r);
    if (type != CALLS_NDK)
        return;
    /* Another thread may have recorded the completion before the return. Then calls_complete has set the status. */
    if (c->completed == END_NONE) {
        calls_set_status(c, r);
        c->is_pending = c->has_status && c->status == STATUS_PENDING_CODE;
        c->created = calls_number(r, "created");
    }
    if (!c->is_pending) {
        struct calls_waiting *w = calls_find_waiting(s, c->file, c->object, c->routine);

        for (size_t i = 0; w && i < w->count; i++)
            if (w->calls[i] == (size_t)(c - s->calls->calls))
                calls_remove_waiting(w, i--);
    }
}

/*
 * Returns the position of the waiting call that the record completes. Prefers the first call with the record's context,
 * then the first call that has not returned, then the first call.
 */
static size_t calls_choose_waiting(const struct calls_search *s, const struct calls_waiting *w,
                                   const struct trace_record *r)
{
    uint64_t context = calls_number(r, "context");

    for (size_t i = 0; i < w->count; i++) {
        const struct call *c = &s->calls->calls[w->calls[i]];

        if (c->returned != END_NONE && calls_number(&s->records->records[c->returned], "context") == context)
            return i;
    }
    for (size_t i = 0; i < w->count; i++)
        if (s->calls->calls[w->calls[i]].returned == END_NONE)
            return i;
    return 0;
}

static void calls_complete(struct calls_search *s, const struct trace_record *r, size_t record)
{
    struct value routine;
    struct calls_waiting *w;
    struct call *c;
    size_t at;

    if (!value_find(r, "routine", &routine) || !routine.name)
        return;
    w = calls_find_waiting(s, r->file, calls_number(r, "object"), routine.name);
    if (!w || !w->count)
        return;
    at = calls_choose_waiting(s, w, r);
    c = &s->calls->calls[w->calls[at]];
    calls_remove_waiting(w, at);
    c->completed = record;
    c->is_pending = false;
    c->created = calls_number(r, "created");
    calls_set_status(c, r);
}

static bool calls_handle(struct calls_search *s, size_t record)
{
    const struct trace_record *r = &s->records->records[record];
    const char *name = ends_event_name(r);

    if (calls_is_call(r))
        return calls_begin_call(s, r, record);
    if (strcmp(name, "completed") == 0)
        calls_complete(s, r, record);
    if (calls_is_callback(r))
        return calls_begin_callback(s, r, record);
    if (strcmp(name, "returned") == 0)
        calls_return(s, r, record, CALLS_NDK);
    if (strcmp(name, "callback_returned") == 0)
        calls_return(s, r, record, CALLS_CALLBACK);
    if (strcmp(name, "kernel_returned") == 0 || strcmp(name, "kernel_done") == 0)
        calls_return(s, r, record, CALLS_KERNEL);
    return !calls_is_kernel(r) || calls_begin_kernel(s, r, record);
}

/* Sets the end time of each call that has not returned to the time of the last record of all traces. */
static void calls_end_open(struct calls *c, const struct trace_records *records)
{
    uint64_t end_ns = records->count ? trace_record_realtime(&records->records[records->count - 1]) : 0;

    for (size_t i = 0; i < c->count; i++)
        if (c->calls[i].returned == END_NONE)
            c->calls[i].end_ns = end_ns;
}

/* ---- indexes ---- */

struct calls_key {
    const struct trace_file *file;
    uint64_t object;
    size_t call;
};

static int calls_compare_keys(const void *left, const void *right)
{
    const struct calls_key *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* Returns a sorted array with the indexes of all calls, or NULL if out of memory. */
static size_t *calls_sort(const struct calls *c, bool by_created)
{
    struct calls_key *keys = calloc(c->count + 1, sizeof *keys);
    size_t *sorted = calloc(c->count + 1, sizeof *sorted);

    for (size_t i = 0; keys && i < c->count; i++)
        keys[i] = (struct calls_key){ c->calls[i].file, by_created ? c->calls[i].created : c->calls[i].object, i };
    if (keys && c->count)
        qsort(keys, c->count, sizeof *keys, calls_compare_keys);
    for (size_t i = 0; keys && sorted && i < c->count; i++)
        sorted[i] = keys[i].call;
    if (!keys) {
        free(sorted);
        sorted = NULL;
    }
    free(keys);
    return sorted;
}

static int calls_compare_to(const struct call *c, uint64_t object_of_call, const struct trace_file *file,
                            uint64_t object)
{
    struct calls_key a = { c->file, object_of_call, 0 }, b = { file, object, 0 };

    return calls_compare_keys(&a, &b);
}

static size_t calls_range(const struct calls *c, const size_t *sorted, bool by_created, const struct trace_file *file,
                          uint64_t object, size_t *first)
{
    size_t low = 0, high = c->count, n = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct call *call = &c->calls[sorted[middle]];

        if (calls_compare_to(call, by_created ? call->created : call->object, file, object) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    for (; low + n < c->count; n++) {
        const struct call *call = &c->calls[sorted[low + n]];

        if (calls_compare_to(call, by_created ? call->created : call->object, file, object) != 0)
            break;
    }
    return n;
}

size_t calls_of_object(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first)
{
    return calls_range(c, c->by_object, false, file, object, first);
}

size_t calls_that_created(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first)
{
    return calls_range(c, c->by_created, true, file, object, first);
}

/* ---- the whole search ---- */

bool calls_find(struct calls *c, const struct trace_records *records)
{
    struct calls_search s = { .calls = c, .records = records };
    bool ok;

    *c = (struct calls){ 0 };
    c->of_record = malloc((records->count + 1) * sizeof *c->of_record);
    ok = c->of_record != NULL;
    for (size_t i = 0; ok && i < records->count; i++)
        c->of_record[i] = END_NONE;
    for (size_t i = 0; ok && i < records->count; i++)
        ok = calls_handle(&s, i);
    tdestroy(s.threads, free);
    tdestroy(s.waiting, calls_free_waiting);
    if (ok) {
        calls_end_open(c, records);
        c->by_object = calls_sort(c, false);
        c->by_created = calls_sort(c, true);
        ok = c->by_object && c->by_created;
    }
    if (!ok)
        calls_free(c);
    return ok;
}

void calls_free(struct calls *c)
{
    free(c->calls);
    free(c->of_record);
    free(c->by_object);
    free(c->by_created);
    *c = (struct calls){ 0 };
}
