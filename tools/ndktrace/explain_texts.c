/* SPDX-License-Identifier: MIT */
/* Writes the texts of `ndktrace explain`: see explain_texts.h. */
#include "explain_texts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "words.h"

/* ---- connections ---- */

/*
 * Returns a sentence with the reason's name. Adds the trace's text for the reason, unless the diagnosis is more precise
 * than this text.
 */
static char *explain_reason(const struct story *s, const struct diagnosis *d)
{
    const struct schema_name *words = d->terminate ? d->terminate : d->reason;
    struct words w;

    if (!words_open(&w))
        return NULL;
    fprintf(w.file, "%s's NDK provider (OpenNDK) reports the reason \"%s\"",
            d->side->role == STORY_CLIENT ? "The client" : "The server", story_name(s, d->side->outcome, "why"));
    if (d->terminate)
        fprintf(w.file, ", with the Terminate \"%s\"", d->terminate->name);
    if (!d->is_specific && words && words->text) {
        fputs(": ", w.file);
        words_sides(w.file, d->side, words->text, strlen(words->text));
    } else {
        fputs(".", w.file);
    }
    return words_close(&w);
}

/* Returns the advice of the diagnosis, or the trace's advice for the reason if the diagnosis has none. */
static char *explain_advice(const struct diagnosis *d)
{
    const struct schema_name *words = d->terminate ? d->terminate : d->reason;
    struct words w;

    if (!words_open(&w))
        return NULL;
    fputs(d->advice, w.file);
    if (!*d->advice && words && words->advice) {
        words_sides(w.file, d->side, words->advice, strlen(words->advice));
        fputs("\n", w.file);
    }
    return words_close(&w);
}

/* Removes the first paragraph from the text. Returns the paragraph, or NULL if out of memory. */
static char *explain_remove_first(char *text)
{
    size_t len = text ? strcspn(text, "\n") : 0;
    char *first = text ? strndup(text, len) : NULL;

    if (text)
        memmove(text, text + len + (text[len] != '\0'), strlen(text + len) + (text[len] == '\0'));
    return first;
}

bool explain_texts_make(struct explain_texts *t, const struct story *s)
{
    struct diagnosis d;

    *t = (struct explain_texts){ 0 };
    if (!diagnose(&d, s))
        return false;
    *t = (struct explain_texts){ .side = d.side,
                                 .wrong = d.wrong,
                                 .cause = d.cause,
                                 .headline = strdup(d.headline),
                                 .what = strdup(d.what),
                                 .reason = explain_reason(s, &d),
                                 .consequence = strdup(d.consequence),
                                 .advice = explain_advice(&d),
                                 .missing = strdup(d.missing) };
    diagnose_free(&d);
    t->change = explain_remove_first(t->advice);
    if (t->headline && t->what && t->reason && t->consequence && t->change && t->advice && t->missing)
        return true;
    explain_texts_free(t);
    return false;
}

void explain_texts_free(struct explain_texts *t)
{
    free(t->headline);
    free(t->what);
    free(t->reason);
    free(t->consequence);
    free(t->change);
    free(t->advice);
    free(t->missing);
    *t = (struct explain_texts){ 0 };
}

/* ---- calls that failed ---- */

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

/*
 * Finds the connection that used the queue pair c->object, and stores it in *s. Returns the side that used the queue
 * pair. Returns NULL if no connection used the queue pair.
 */
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

/* An NdkRead that failed because the two sides have agreed on a read limit of 0. */
struct explain_reads {
    struct story story;
    const struct story_side *side, *other; /* `side` called NdkRead; `other` is the other side */
    const struct call *mine, *theirs;      /* the calls in which the two sides passed their read limits, or NULL */
};

static const struct call *explain_limits(const struct story *s, const struct story_side *side)
{
    return side->end ? story_call(s, side->role == STORY_CLIENT ? side->calls.connect : side->calls.accept) : NULL;
}

/* Fills *r. Returns false if the call is not an NdkRead that failed because of the read limits. */
static bool explain_find_reads(struct explain_reads *r, const struct traces *traces, const struct calls *calls,
                               const struct call *c)
{
    if (strcmp(c->routine, "NdkRead") != 0 || !c->status_name || strcmp(c->status_name, "STATUS_NOT_SUPPORTED") != 0)
        return false;
    r->side = explain_find_qp(&r->story, traces, calls, c);
    if (!r->side || r->side->stream == END_NONE || story_number(&r->story, r->side->stream, "ord"))
        return false;
    r->other = story_other(&r->story, r->side);
    r->mine = explain_limits(&r->story, r->side);
    r->theirs = explain_limits(&r->story, r->other);
    return true;
}

static void explain_write_reads(FILE *what, FILE *change, const struct explain_reads *r)
{
    fprintf(what, "This connection allows no reads by %s from %s: the two sides have agreed on 0 reads in flight.",
            story_who(r->side), story_who(r->other));
    if (r->mine)
        fprintf(what, " %s's program had asked for an OutboundReadLimit of %" PRIu64 " in its %s.",
                r->side->role == STORY_CLIENT ? "The client" : "The server",
                story_number(&r->story, r->mine->record, "outbound"), r->mine->routine);
    if (r->theirs)
        fprintf(what, " But %s's program allowed an InboundReadLimit of %" PRIu64 " in its %s.", story_who(r->other),
                story_number(&r->story, r->theirs->record, "inbound"), r->theirs->routine);
    fprintf(change, "Set the InboundReadLimit of %s's program", story_who(r->other));
    if (r->theirs)
        fprintf(change, " (in its %s)", r->theirs->routine);
    fputs(" to the number of reads that may be in flight, at least 1.", change);
}

/*
 * Splits the trace's text for a status at the first semicolon. Writes the first part, the cause, to `what`, and the
 * second part, if there is one, to `change`.
 */
static void explain_status(FILE *what, FILE *change, const char *words)
{
    const char *behind = strstr(words, "; ");

    if (!behind) {
        fputs(words, what);
        return;
    }
    fprintf(what, "%.*s.", (int)(behind - words), words);
    fprintf(change, "%c%s", toupper((unsigned char)behind[2]), behind + 3);
}

size_t explain_find_kinds(struct explain_kind *kinds, const struct calls *calls, const struct story *failed,
                          size_t n_failed)
{
    size_t n = 0;

    for (size_t i = 0; i < calls->count; i++) {
        const struct call *c = &calls->calls[i];
        size_t k = 0;

        if (c->is_callback || c->is_kernel || !c->has_status || !calls_status_is_failure(c->status) ||
            explain_belongs_to(c, failed, n_failed))
            continue;
        while (k < n && (kinds[k].first->file != c->file || kinds[k].first->status != c->status ||
                         strcmp(kinds[k].first->routine, c->routine) != 0))
            k++;
        if (k == EXPLAIN_MAX_KINDS)
            continue;
        if (k == n)
            kinds[n++] = (struct explain_kind){ .first = c };
        kinds[k].count++;
    }
    return n;
}

size_t explain_kind_record(const struct explain_kind *kind)
{
    const struct call *c = kind->first;

    return c->completed != END_NONE ? c->completed : c->returned != END_NONE ? c->returned : c->record;
}

void explain_kind_headline(FILE *out, const struct explain_kind *kind)
{
    fprintf(out, "%s %s ", kind->first->routine, kind->first->completed != END_NONE ? "completed with" : "returned");
    words_status(out, kind->first);
    if (kind->count > 1)
        fprintf(out, ", the first of %zu times", kind->count);
}

void explain_kind_texts(FILE *what, FILE *change, const struct traces *traces, const struct calls *calls,
                        const struct explain_kind *kind)
{
    struct story s = { .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    const struct schema_name *status = story_explained(&s, explain_kind_record(kind), "status");
    struct explain_reads reads;

    if (explain_find_reads(&reads, traces, calls, kind->first))
        explain_write_reads(what, change, &reads);
    else if (status && status->advice)
        explain_status(what, change, status->advice);
}

struct story_cause explain_kind_cause(const struct traces *traces, const struct calls *calls,
                                      const struct explain_kind *kind)
{
    struct explain_reads r;

    if (!explain_find_reads(&r, traces, calls, kind->first) || !r.theirs)
        return (struct story_cause){ .record = END_NONE };
    return (struct story_cause){ r.theirs->record, r.other->role, "Its inbound limit allows no reads." };
}
