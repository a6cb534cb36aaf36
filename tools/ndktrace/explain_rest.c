/* SPDX-License-Identifier: MIT */
/* Prints sections of `ndktrace explain`: see explain_rest.h. */
#include "explain_rest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain_texts.h"
#include "words.h"

enum { MAX_PENDING = 20, MAX_OPEN = 20, EXPLAIN_MAX_REFUSALS = 20 };

/* A section of the output. `count` is the number of items printed so far. */
struct explain_list {
    FILE *out;
    size_t count;
};

/* Closes *w and prints its text as a list item. */
static void explain_item(FILE *out, struct words *w)
{
    char *text = words_close(w);

    if (text)
        words_wrap(out, "  - ", 4, text);
    free(text);
}

void explain_connection(FILE *out, const struct story *s)
{
    const struct story_side *client = &s->sides[STORY_CLIENT], *server = &s->sides[STORY_SERVER];
    const struct story_side *known = client->end ? client : server;

    fprintf(out, "connection %" PRIu32 " (", known->end->id);
    words_address(out, s, known->begin, known == client ? "local" : "remote");
    fputs(" -> ", out);
    words_address(out, s, known->begin, known == client ? "remote" : "local");
    fputs(")", out);
}

/* ---- calls that failed ---- */

static void explain_kind_of_call(FILE *out, const struct traces *traces, const struct calls *calls,
                                 const struct explain_kind *kind)
{
    struct story s = { .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    struct words what, change;
    char *text;

    if (!words_open(&what))
        return;
    fprintf(what.file, "%.6f s: ", story_seconds_of(&s, kind->first->begin_ns));
    words_process(what.file, kind->first->file);
    fputs(": ", what.file);
    explain_kind_headline(what.file, kind);
    fputs(". ", what.file);
    if (!words_open(&change)) {
        free(words_close(&what));
        return;
    }
    explain_kind_texts(what.file, change.file, traces, calls, kind);
    explain_item(out, &what);
    text = words_close(&change);
    if (text && *text)
        words_wrap(out, "    To change: ", 4, text);
    free(text);
}

bool explain_failed_calls(FILE *out, const struct traces *traces, const struct calls *calls, const struct story *failed,
                          size_t n_failed)
{
    struct explain_kind kinds[EXPLAIN_MAX_KINDS];
    size_t n = explain_find_kinds(kinds, calls, failed, n_failed);

    if (n)
        fputs("\nCalls that failed\n", out);
    for (size_t k = 0; k < n; k++)
        explain_kind_of_call(out, traces, calls, &kinds[k]);
    return n > 0;
}

/* ---- listeners that failed, and peers without a connection ---- */

/*
 * Returns a text about a listener that failed or a peer that was refused, if the record is such an event. The caller
 * must free the text. Returns NULL for any other record, and if out of memory.
 */
static char *explain_refusal(const struct story *s, size_t record)
{
    const struct trace_record *r = story_record(s, record);
    bool is_listening = strcmp(ends_event_name(r), "listening") == 0;
    const struct schema_name *why;
    struct words w;

    if ((!is_listening && strcmp(ends_event_name(r), "refused") != 0) || story_name_is(s, record, "why", "ok") ||
        !words_open(&w))
        return NULL;
    fprintf(w.file, "%.6f s: ", story_seconds(s, record));
    words_process(w.file, r->file);
    fputs(is_listening ? " could not listen at " : " had to refuse a peer at ", w.file);
    words_address(w.file, s, record, "local");
    fprintf(w.file, " (%s).", story_name(s, record, "why"));
    why = story_explained(s, record, "why");
    if (why && why->text)
        fprintf(w.file, " %s", why->text);
    if (why && why->advice)
        fprintf(w.file, " To change: %s", why->advice);
    return words_close(&w);
}

size_t explain_each_refusal(const struct traces *traces, const struct calls *calls,
                            void (*write)(void *to, const char *text), void *to)
{
    struct story s = { .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    size_t n = 0;

    for (size_t i = 0; i < traces->records.count; i++) {
        char *text = explain_refusal(&s, i);

        if (text && ++n <= EXPLAIN_MAX_REFUSALS)
            write(to, text);
        free(text);
    }
    return n;
}

/* Prints an item. Before the first item, prints the section's title. */
static void explain_write_refusal(void *to, const char *text)
{
    struct explain_list *list = to;

    if (!list->count++)
        fputs("\nListeners\n", list->out);
    words_wrap(list->out, "  - ", 4, text);
}

void explain_refusals(FILE *out, const struct traces *traces, const struct calls *calls)
{
    struct explain_list list = { .out = out };
    size_t n = explain_each_refusal(traces, calls, explain_write_refusal, &list);

    if (n > list.count)
        fprintf(out, "  - and %zu more\n", n - list.count);
}

/* ---- open connections and adapters ---- */

static void explain_open_side(FILE *out, const struct story *s, const struct story_side *side)
{
    const char *awaited = words_awaited(side->state), *call = words_call_awaited(side->state);
    struct words w;

    if (!words_open(&w))
        return;
    explain_connection(w.file, s);
    fprintf(w.file, ", for %s ", story_who(side));
    if (strcmp(side->state, "ESTABLISHED") == 0)
        fputs("established and open", w.file);
    else if (awaited)
        fprintf(w.file, "in the state %s: %s %s", side->state, call, awaited);
    else
        fprintf(w.file, "in the state %s", *side->state ? side->state : "unknown, because the trace begins too late");
    fprintf(w.file, ". Its last event is at %.6f" WORDS_SPACE "s.", story_seconds(s, side->end->last));
    explain_item(out, &w);
}

static bool explain_open_connections(FILE *out, const struct traces *traces, const struct calls *calls, bool any)
{
    size_t n = 0;

    for (size_t i = 0; i < traces->align.ends.count; i++) {
        struct story s;
        const struct story_side *side;

        story_collect(&s, traces, calls, &traces->align.ends.ends[i]);
        side = s.sides[0].end == &traces->align.ends.ends[i] ? &s.sides[0] : &s.sides[1];
        if (side->outcome != END_NONE || story_other(&s, side)->outcome != END_NONE ||
            strcmp(side->state, "CLOSED") == 0 || strcmp(side->state, "DEAD") == 0)
            continue;
        if (!any)
            fputs("\nNot finished when the trace ends\n", out);
        any = true;
        if (++n <= MAX_OPEN)
            explain_open_side(out, &s, side);
    }
    if (n > MAX_OPEN)
        fprintf(out, "  - and %zu more connections\n", n - MAX_OPEN);
    return any;
}

static bool explain_pending_calls(FILE *out, const struct traces *traces, const struct calls *calls, bool any)
{
    uint64_t begin_ns = traces_begin(traces);
    size_t n = 0;

    for (size_t i = 0; i < calls->count; i++) {
        const struct call *c = &calls->calls[i];
        struct words w;

        if (c->is_callback || !c->is_pending)
            continue;
        if (!any)
            fputs("\nNot finished when the trace ends\n", out);
        any = true;
        if (++n > MAX_PENDING || !words_open(&w))
            continue;
        fprintf(w.file, "%s of object 0x%" PRIx64 ", called at %.6f" WORDS_SPACE "s by thread %" PRIu32 " of ",
                c->routine, c->object, (double)(int64_t)(c->begin_ns - begin_ns) / 1e9, c->thread);
        words_process(w.file, c->file);
        fputs(c->returned == END_NONE ? ": it has not returned." : ": it is pending (STATUS_PENDING).", w.file);
        if (strncmp(c->routine, "NdkClose", 8) == 0)
            fputs(" A close waits until everything that uses the object is closed.", w.file);
        explain_item(out, &w);
    }
    if (n > MAX_PENDING)
        fprintf(out, "  - and %zu more calls\n", n - MAX_PENDING);
    return any;
}

/*
 * Returns true if the other side of one of the process's connections reports a reset, and the process's trace does not
 * contain how that connection ended. The process was probably killed.
 */
static bool explain_was_killed(const struct traces *traces, const struct calls *calls, const struct trace_file *file)
{
    for (size_t i = 0; i < traces->align.ends.count; i++) {
        const struct end *end = &traces->align.ends.ends[i];
        struct story s;

        if (end->file != file || end->other == END_NONE)
            continue;
        story_collect(&s, traces, calls, end);
        for (int k = 0; k < 2; k++)
            if (s.sides[k].end == end && s.sides[k].outcome == END_NONE &&
                story_name_is(&s, story_other(&s, &s.sides[k])->outcome, "why", "peer-reset"))
                return true;
    }
    return false;
}

/* Prints the processes whose adapters are still open. Such a process still runs, or did not end properly. */
static bool explain_open_adapters(FILE *out, const struct traces *traces, const struct calls *calls, bool any)
{
    for (size_t i = 0; i < traces->n_files; i++) {
        size_t open = 0, closed = 0;
        struct words w;

        for (size_t k = 0; k < traces->records.count; k++) {
            const struct trace_record *r = &traces->records.records[k];

            open += r->file == &traces->files[i] && strcmp(ends_event_name(r), "adapter") == 0;
            closed += r->file == &traces->files[i] && strcmp(ends_event_name(r), "adapter_close") == 0;
        }
        if (open <= closed || !words_open(&w))
            continue;
        if (!any)
            fputs("\nNot finished when the trace ends\n", out);
        any = true;
        words_process(w.file, &traces->files[i]);
        fputs(explain_was_killed(traces, calls, &traces->files[i])
                  ? " has not closed its adapter: the process was killed, has crashed, or called exit without that."
                  : " has not closed its adapter: the process still ran when the trace was read, or it was killed, has "
                    "crashed, or called exit without that.",
              w.file);
        explain_item(out, &w);
    }
    return any;
}

bool explain_unfinished(FILE *out, const struct traces *traces, const struct calls *calls)
{
    bool any = explain_open_connections(out, traces, calls, false);

    any = explain_pending_calls(out, traces, calls, any);
    return explain_open_adapters(out, traces, calls, any);
}
