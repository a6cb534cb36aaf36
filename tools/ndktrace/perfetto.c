/* SPDX-License-Identifier: MIT */
/*
 * Writes traces as JSON trace events: see perfetto.h. A thread's track shows the thread's calls and callbacks as
 * slices. The track of a connection's end shows the states as slices, with the frames and other events on them. Arrows
 * lead from a sent frame to the received frame, and from a call to its completion.
 *
 * The invariant: the slices of a track are nested, because each end event in the output ends the innermost open slice.
 */
#include "perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "perfetto_counters.h"
#include "perfetto_json.h"
#include "trace_reader/value.h"
#include "words.h"

/* ---- threads ---- */

struct perfetto_thread {
    struct perfetto *p;
    const struct calls *calls;
    struct perfetto_track track;
    size_t depth;
    uint64_t *ends; /* end times of the open slices; the innermost slice is the last entry */
};

static void perfetto_end_slice(struct perfetto *p, const struct perfetto_track *track, uint64_t time_ns)
{
    perfetto_event(p, 'E', track, time_ns, NULL);
    perfetto_close_event(p);
}

/* Ends the open slices whose end time is until_ns or earlier. */
static void perfetto_end_slices(struct perfetto_thread *t, uint64_t until_ns)
{
    while (t->depth && t->ends[t->depth - 1] <= until_ns)
        perfetto_end_slice(t->p, &t->track, t->ends[--t->depth]);
}

/* Returns true if the output has an arrow from the call to its completion. */
static bool perfetto_has_arrow(const struct perfetto_thread *t, const struct call *c)
{
    return c->completed != END_NONE && t->calls->of_record[c->completed] != END_NONE;
}

/*
 * Adds the start or the end of an arrow to the JSON of `c`. An arrow leads from a call to the callback that reports the
 * call's completion. If `c` is neither of them, adds nothing.
 */
static void perfetto_call_arrow(const struct perfetto_thread *t, const struct call *c, const size_t *call_of_completion)
{
    size_t index = (size_t)(c - t->calls->calls);

    if (perfetto_has_arrow(t, c))
        fprintf(t->p->out, ",\"bind_id\":\"0xc%zx\",\"flow_out\":true", index);
    else if (c->is_callback && call_of_completion[index] != END_NONE)
        fprintf(t->p->out, ",\"bind_id\":\"0xc%zx\",\"flow_in\":true", call_of_completion[index]);
}

static void perfetto_call(struct perfetto_thread *t, const struct call *c, const size_t *call_of_completion)
{
    const struct trace_record *r = &t->p->traces->records.records[c->record];
    uint64_t end_ns = c->end_ns;
    char name[160];
    struct value routine;

    perfetto_end_slices(t, c->begin_ns);
    if (t->depth && end_ns > t->ends[t->depth - 1])
        end_ns = t->ends[t->depth - 1];
    snprintf(name, sizeof name, "%s", c->routine);
    if (strcmp(c->routine, "completed") == 0 && value_find(r, "routine", &routine) && routine.name)
        snprintf(name, sizeof name, "completion of %s", routine.name);
    perfetto_event(t->p, 'B', &t->track, c->begin_ns, name);
    fprintf(t->p->out, ",\"cat\":\"%s\"", c->is_kernel ? "kernel" : c->is_callback ? "callback" : "call");
    perfetto_call_arrow(t, c, call_of_completion);
    perfetto_args(t->p, r);
    perfetto_close_event(t->p);
    t->ends[t->depth++] = end_ns;
}

/*
 * Writes an event as an instant on a track: the track of the connection's end to which the event belongs, or, if the
 * event belongs to no connection and no call, the track of the thread that recorded it.
 */
static void perfetto_thread_instant(struct perfetto *p, const struct perfetto_track *track,
                                    const struct trace_record *r)
{
    perfetto_event(p, 'i', track, trace_record_realtime(r), ends_event_name(r));
    fputs(",\"s\":\"t\",\"cat\":\"event\"", p->out);
    perfetto_args(p, r);
    perfetto_close_event(p);
}

struct perfetto_span {
    const struct trace_file *file;
    uint32_t thread;
    uint64_t begin_ns, end_ns;
    const struct call *call;           /* NULL: an instant, not a slice */
    const struct trace_record *record; /* the record of an instant */
};

/*
 * Compares by thread and then by begin. If two slices begin at the same time, the longer slice is first, because it
 * contains the other slice.
 */
static int perfetto_compare_spans(const void *left, const void *right)
{
    const struct perfetto_span *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* Returns true if the event is written as an instant on its thread's track. */
static bool perfetto_is_instant(const struct calls *calls, const struct trace_record *r, size_t index)
{
    const char *name = ends_event_name(r);

    return r->event && !r->id && calls->of_record[index] == END_NONE && strcmp(name, "callback_returned") != 0 &&
           strcmp(name, "returned") != 0 && strcmp(name, "kernel_returned") != 0 && strcmp(name, "kernel_done") != 0;
}

/* Returns a sorted array with the slices and instants of all threads, or NULL if out of memory. */
static struct perfetto_span *perfetto_list_spans(const struct perfetto *p, const struct calls *calls, size_t *n)
{
    const struct trace_records *records = &p->traces->records;
    struct perfetto_span *spans = calloc(calls->count + records->count + 1, sizeof *spans);

    *n = 0;
    for (size_t i = 0; spans && i < calls->count; i++) {
        const struct call *c = &calls->calls[i];
        bool is_slice = !c->is_kernel || c->returned != END_NONE;

        spans[(*n)++] = (struct perfetto_span){ c->file,
                                                c->thread,
                                                c->begin_ns,
                                                is_slice ? c->end_ns : c->begin_ns,
                                                is_slice ? c : NULL,
                                                &records->records[c->record] };
    }
    for (size_t i = 0; spans && i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        uint64_t ns = trace_record_realtime(r);

        if (perfetto_is_instant(calls, r, i))
            spans[(*n)++] = (struct perfetto_span){ r->file, r->thread, ns, ns, NULL, r };
    }
    if (*n)
        qsort(spans, *n, sizeof *spans, perfetto_compare_spans);
    return spans;
}

/*
 * Returns an array with one entry for each call. The entry of a callback that reports a completion is the index of the
 * completed call. Every other entry is END_NONE. Returns NULL if out of memory.
 */
static size_t *perfetto_find_completed_calls(const struct calls *calls)
{
    size_t *call_of = malloc((calls->count + 1) * sizeof *call_of);

    for (size_t i = 0; call_of && i < calls->count; i++)
        call_of[i] = END_NONE;
    for (size_t i = 0; call_of && i < calls->count; i++)
        if (calls->calls[i].completed != END_NONE && calls->of_record[calls->calls[i].completed] != END_NONE)
            call_of[calls->of_record[calls->calls[i].completed]] = i;
    return call_of;
}

static void perfetto_name_thread(struct perfetto *p, const struct perfetto_track *track, const struct trace_file *file,
                                 uint32_t thread)
{
    char name[4 * TRACE_FILE_THREAD_NAME + 32] = "";

    for (size_t i = 0; i < file->n_threads && !*name; i++)
        if (file->threads[i].id == thread)
            snprintf(name, sizeof name, "%s", file->threads[i].name);
    if (!*name)
        snprintf(name, sizeof name, "thread %" PRIu32, thread);
    perfetto_name(p, "thread_name", track, name);
}

static bool perfetto_write_threads(struct perfetto *p, const struct calls *calls)
{
    size_t n;
    struct perfetto_span *spans = perfetto_list_spans(p, calls, &n);
    size_t *call_of_completion = perfetto_find_completed_calls(calls);
    struct perfetto_thread t = { .p = p, .calls = calls, .ends = malloc((n + 1) * sizeof *t.ends) };
    bool ok = spans && call_of_completion && t.ends;

    for (size_t i = 0; ok && i < n; i++) {
        const struct perfetto_span *s = &spans[i];

        if (i == 0 || s->file != spans[i - 1].file || s->thread != spans[i - 1].thread) {
            perfetto_end_slices(&t, UINT64_MAX);
            t.track = perfetto_find_track(p, s->file, s->thread);
            perfetto_name_thread(p, &t.track, s->file, s->thread);
        }
        if (s->call) {
            perfetto_call(&t, s->call, call_of_completion);
        } else {
            perfetto_end_slices(&t, s->begin_ns);
            perfetto_thread_instant(p, &t.track, s->record);
        }
    }
    if (ok)
        perfetto_end_slices(&t, UINT64_MAX);
    free(spans);
    free(call_of_completion);
    free(t.ends);
    return ok;
}

/* ---- connections ---- */

/* Writes a frame as a slice without duration, because arrows can only connect slices. */
static void perfetto_frame(struct perfetto *p, const struct perfetto_track *track, size_t index)
{
    const struct trace_record *r = &p->traces->records.records[index];
    size_t partner = p->traces->align.partner[index];
    const char *event = ends_event_name(r), *kind = event;
    struct value v;
    char name[64];
    bool is_sent = strcmp(event, "mpa_sent") == 0;

    if (value_find(r, "opcode", &v) && v.name)
        kind = v.name;
    else if (value_find(r, "frame", &v) && v.name)
        kind = v.name;
    if (value_find(r, "direction", &v))
        is_sent = v.number == 1;
    snprintf(name, sizeof name, "%s %s", is_sent ? "sent:" : "received:", kind);
    perfetto_event(p, 'X', track, trace_record_realtime(r), name);
    fputs(",\"dur\":0,\"cat\":\"frame\"", p->out);
    if (partner != END_NONE)
        fprintf(p->out, ",\"bind_id\":\"0xf%zx\",\"%s\":true", is_sent ? index : partner,
                is_sent ? "flow_out" : "flow_in");
    perfetto_args(p, r);
    perfetto_close_event(p);
}

/*
 * Writes the change to the state `to`: ends the slice of the previous state if *is_open is true, and begins a slice
 * unless `to` is NULL or CLOSED. Sets *is_open to true if a slice is open afterwards.
 */
static void perfetto_state(struct perfetto *p, const struct perfetto_track *track, uint64_t time_ns, const char *to,
                           const struct trace_record *r, bool *is_open)
{
    if (*is_open)
        perfetto_end_slice(p, track, time_ns);
    *is_open = to && strcmp(to, "CLOSED") != 0;
    if (!*is_open)
        return;
    perfetto_event(p, 'B', track, time_ns, to);
    fputs(",\"cat\":\"state\"", p->out);
    if (r)
        perfetto_args(p, r);
    perfetto_close_event(p);
}

static bool perfetto_is_frame(const struct end *end, size_t index, size_t *at)
{
    for (int kind = 0; kind < END_LISTS; kind++)
        if (at[kind] < end->lists[kind].count && end->lists[kind].records[at[kind]] == index) {
            at[kind]++;
            return true;
        }
    return false;
}

static void perfetto_name_end(struct perfetto *p, const struct perfetto_track *track, const struct end *end)
{
    const struct trace_record *first = &p->traces->records.records[end->first];
    char local[VALUE_MAX_TEXT] = "?", remote[VALUE_MAX_TEXT] = "?", name[2 * VALUE_MAX_TEXT + 64];
    bool is_client = end->has_begin && end->flow.is_initiator;
    struct value v;

    if (end->has_begin && value_find(first, "local", &v))
        (void)value_text(&v, local);
    if (end->has_begin && value_find(first, "remote", &v))
        (void)value_text(&v, remote);
    snprintf(name, sizeof name, "connection %" PRIu32 " (%s): %s -> %s", end->id, is_client ? "client" : "server",
             is_client ? local : remote, is_client ? remote : local);
    perfetto_name(p, "thread_name", track, name);
}

/* Returns the name of the first state of the connection's end, or NULL if it is not known. */
static const char *perfetto_first_state(const struct perfetto *p, const struct end *end)
{
    const size_t *next = p->traces->align.ends.next;
    struct value v;

    for (size_t i = end->first; i != END_NONE; i = next[i])
        if (strcmp(ends_event_name(&p->traces->records.records[i]), "state") == 0)
            return value_find(&p->traces->records.records[i], "from", &v) ? v.name : NULL;
    return NULL;
}

static void perfetto_write_end(struct perfetto *p, size_t index, const uint64_t *file_ends)
{
    const struct trace_records *records = &p->traces->records;
    const struct ends *e = &p->traces->align.ends;
    const struct end *end = &e->ends[index];
    struct perfetto_track track = perfetto_find_track(p, end->file, PERFETTO_END + index);
    size_t at[END_LISTS] = { 0 };
    bool is_open = false;
    struct value to;

    perfetto_name_end(p, &track, end);
    perfetto_state(p, &track, trace_record_realtime(&records->records[end->first]), perfetto_first_state(p, end), NULL,
                   &is_open);
    for (size_t i = end->first; i != END_NONE; i = e->next[i]) {
        const struct trace_record *r = &records->records[i];

        if (strcmp(ends_event_name(r), "state") == 0 && value_find(r, "to", &to) && to.name)
            perfetto_state(p, &track, trace_record_realtime(r), to.name, r, &is_open);
        else if (perfetto_is_frame(end, i, at))
            perfetto_frame(p, &track, i);
        else
            perfetto_thread_instant(p, &track, r);
    }
    if (is_open)
        perfetto_end_slice(p, &track, file_ends[end->file - p->traces->files]);
}

/* ---- the whole output ---- */

static void perfetto_name_process(struct perfetto *p, const struct trace_file *f)
{
    const struct perfetto_track *track = &p->processes[f - p->traces->files];
    struct words w;
    char *name;

    if (!words_open(&w)) {
        p->is_out_of_memory = true;
        return;
    }
    words_process(w.file, f);
    name = words_close(&w);
    if (name)
        perfetto_name(p, "process_name", track, name);
    free(name);
}

bool perfetto_write(FILE *out, const struct traces *traces, size_t *n_events)
{
    uint64_t file_ends[TRACES_MAX_FILES] = { 0 };
    struct perfetto p;
    struct calls calls;
    bool ok;

    if (!calls_find(&calls, &traces->records))
        return false;
    for (size_t i = 0; i < traces->records.count; i++)
        file_ends[traces->records.records[i].file - traces->files] = trace_record_realtime(&traces->records.records[i]);
    perfetto_begin(&p, out, traces);
    for (size_t i = 0; i < traces->n_files; i++)
        perfetto_name_process(&p, &traces->files[i]);
    ok = perfetto_write_threads(&p, &calls);
    for (size_t i = 0; i < traces->align.ends.count; i++)
        perfetto_write_end(&p, i, file_ends);
    ok = ok && perfetto_write_counters(&p, &calls);
    *n_events = p.n_events;
    calls_free(&calls);
    return perfetto_end(&p) && ok;
}
