/* SPDX-License-Identifier: MIT */
/* Sections of `ndktrace explain`: see explain_rest.h. */
#include "explain_rest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

enum { MAX_KINDS = 32, MAX_PENDING = 20, MAX_OPEN = 20 };

/* Closes *w and prints its text as an item of a list. */
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

struct explain_kind {
    const struct call *first;
    size_t count;
};

static bool explain_belongs_to(const struct call *c, const struct story *failed, size_t n_failed)
{
    for (size_t i = 0; i < n_failed; i++)
        for (int k = 0; k < 2; k++) {
            const struct story_side *side = &failed[i].sides[k];

            if (side->end && side->end->file == c->file && c->object &&
                (c->object == side->connector || c->object == side->qp))
                return true;
        }
    return false;
}

/* Finds the side of the connection whose queue pair this is. Returns NULL if there is none. */
static const struct story_side *explain_find_qp(struct story *s, const struct traces *traces, const struct calls *calls,
                                                const struct call *c)
{
    for (size_t i = 0; i < traces->align.ends.count; i++) {
        const struct end *end = &traces->align.ends.ends[i];

        if (end->file != c->file)
            continue;
        story_collect(s, traces, calls, end);
        for (int k = 0; k < 2; k++)
            if (s->sides[k].end == end && s->sides[k].qp == c->object)
                return &s->sides[k];
    }
    return NULL;
}

/* An NdkRead that is not supported: the two sides have agreed on no reads. */
static bool explain_read_limit(FILE *out, const struct traces *traces, const struct calls *calls, const struct call *c)
{
    struct story s;
    const struct story_side *side, *other;
    const struct call *mine, *theirs;

    if (strcmp(c->routine, "NdkRead") != 0 || !c->status_name || strcmp(c->status_name, "STATUS_NOT_SUPPORTED") != 0)
        return false;
    side = explain_find_qp(&s, traces, calls, c);
    if (!side || side->stream == END_NONE || story_number(&s, side->stream, "ord"))
        return false;
    other = story_other(&s, side);
    mine = story_call(&s, side->role == STORY_CLIENT ? side->calls.connect : side->calls.accept);
    theirs = other->end ? story_call(&s, other->role == STORY_CLIENT ? other->calls.connect : other->calls.accept)
                        : NULL;
    fputs(" This connection allows no reads in this direction: the two sides have agreed on 0 reads in flight.", out);
    if (mine)
        fprintf(out, " The program had asked for an OutboundReadLimit of %" PRIu64 " in its %s.",
                story_number(&s, mine->record, "outbound"), mine->routine);
    if (theirs)
        fprintf(out, " But %s's program allowed an InboundReadLimit of %" PRIu64 " in its %s.", story_who(other),
                story_number(&s, theirs->record, "inbound"), theirs->routine);
    fprintf(out, " Set the InboundReadLimit of %s's program to the number of reads that may be in flight, at least 1.",
            story_who(other));
    return true;
}

static void explain_kind_of_call(FILE *out, const struct traces *traces, const struct calls *calls,
                                 const struct explain_kind *kind)
{
    const struct call *c = kind->first;
    const struct trace_record *r = &traces->records.records[c->completed != END_NONE  ? c->completed
                                                            : c->returned != END_NONE ? c->returned
                                                                                      : c->record];
    struct story s = { .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    const struct schema_name *status = story_explained(&s, (size_t)(r - traces->records.records), "status");
    struct words w;

    if (!words_open(&w))
        return;
    fprintf(w.file, "%.6f s: ", story_seconds_of(&s, c->begin_ns));
    words_process(w.file, c->file);
    fprintf(w.file, ": %s %s ", c->routine, c->completed != END_NONE ? "completed with" : "returned");
    words_status(w.file, c);
    if (kind->count > 1)
        fprintf(w.file, ", the first of %zu times", kind->count);
    fputs(".", w.file);
    if (!explain_read_limit(w.file, traces, calls, c) && status && status->advice)
        fprintf(w.file, " %s", status->advice);
    explain_item(out, &w);
}

bool explain_failed_calls(FILE *out, const struct traces *traces, const struct calls *calls, const struct story *failed,
                          size_t n_failed)
{
    struct explain_kind kinds[MAX_KINDS];
    size_t n = 0;

    for (size_t i = 0; i < calls->count; i++) {
        const struct call *c = &calls->calls[i];
        size_t k = 0;

        if (c->is_callback || !c->has_status || !calls_status_is_failure(c->status) ||
            explain_belongs_to(c, failed, n_failed))
            continue;
        while (k < n && (kinds[k].first->file != c->file || kinds[k].first->status != c->status ||
                         strcmp(kinds[k].first->routine, c->routine) != 0))
            k++;
        if (k == MAX_KINDS)
            continue;
        if (k == n)
            kinds[n++] = (struct explain_kind){ .first = c };
        kinds[k].count++;
    }
    if (n)
        fputs("\nCalls that failed\n", out);
    for (size_t k = 0; k < n; k++)
        explain_kind_of_call(out, traces, calls, &kinds[k]);
    return n > 0;
}

/* ---- listeners that failed, and peers without a connection ---- */

bool explain_refusals(FILE *out, const struct traces *traces, const struct calls *calls)
{
    struct story s = { .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    bool any = false;

    for (size_t i = 0; i < traces->records.count; i++) {
        const struct trace_record *r = &traces->records.records[i];
        bool is_listening = strcmp(ends_event_name(r), "listening") == 0;
        const struct schema_name *why;
        struct words w;

        if ((!is_listening && strcmp(ends_event_name(r), "refused") != 0) || story_name_is(&s, i, "why", "ok") ||
            !words_open(&w))
            continue;
        if (!any)
            fputs("\nListeners\n", out);
        any = true;
        fprintf(w.file, "%.6f s: ", story_seconds(&s, i));
        words_process(w.file, r->file);
        fputs(is_listening ? " could not listen at " : " had to refuse a peer at ", w.file);
        words_address(w.file, &s, i, "local");
        fprintf(w.file, " (%s).", story_name(&s, i, "why"));
        why = story_explained(&s, i, "why");
        if (why && why->text)
            fprintf(w.file, " %s", why->text);
        if (why && why->advice)
            fprintf(w.file, " %s", why->advice);
        explain_item(out, &w);
    }
    return any;
}

/* ---- what is unfinished ---- */

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

/* Processes whose adapters are open: they run, or did not end by themselves. */
static bool explain_open_adapters(FILE *out, const struct traces *traces, bool any)
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
        fputs(" has not closed its adapter: the process still ran when the trace was read, or it was killed or has "
              "crashed.",
              w.file);
        explain_item(out, &w);
    }
    return any;
}

bool explain_unfinished(FILE *out, const struct traces *traces, const struct calls *calls)
{
    bool any = explain_open_connections(out, traces, calls, false);

    any = explain_pending_calls(out, traces, calls, any);
    return explain_open_adapters(out, traces, any);
}
