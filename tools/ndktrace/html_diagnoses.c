/* SPDX-License-Identifier: MIT */
/* Writes diagnoses into pages: see html_diagnoses.h. explain_texts.c writes all the texts. */
#include "html_diagnoses.h"

#include <stdlib.h>
#include <string.h>

#include "explain_rest.h"
#include "explain_texts.h"
#include "html_json.h"
#include "html_links.h"
#include "words.h"

/* Maximum number of failed connections for which the page contains texts. */
enum { MAX_DIAGNOSES = 1000 };

struct html_diagnoses {
    FILE *out;
    const struct traces *traces;
    const size_t *event_of;
    struct calls calls;
    struct story *failed; /* the connections that failed at one side or at both */
    size_t n_failed, n_listeners;
    bool is_out_of_memory;
};

/* Writes the member `name`: the index of the record's event in the page, or -1 if the page lacks the event. */
static void html_diagnoses_event(const struct html_diagnoses *h, const char *name, size_t record)
{
    if (record >= h->traces->records.count || h->event_of[record] == HTML_NO_EVENT)
        fprintf(h->out, "\"%s\":-1", name);
    else
        fprintf(h->out, "\"%s\":%zu", name, h->event_of[record]);
}

/* Writes the event that led to a failure, and the sentence about this event. */
static bool html_diagnoses_cause(const struct html_diagnoses *h, struct story_cause cause)
{
    fputs(",", h->out);
    html_diagnoses_event(h, "cause", cause.record);
    fputs(",\"causeNote\":", h->out);
    return html_json_string(h->out, cause.record != END_NONE && cause.note ? cause.note : "");
}

/* Writes the paragraphs of `text` as an array of strings. Modifies `text`. */
static bool html_diagnoses_paragraphs(const struct html_diagnoses *h, const char *name, char *text)
{
    const char *separator = "";
    bool ok = true;

    for (char *c = strpbrk(text, WORDS_SPACE); c; c = strpbrk(c, WORDS_SPACE))
        *c = ' ';
    fprintf(h->out, ",\"%s\":[", name);
    for (char *line = strsep(&text, "\n"); ok && line; line = strsep(&text, "\n")) {
        if (!*line)
            continue;
        fputs(separator, h->out);
        ok = html_json_string(h->out, line);
        separator = ",";
    }
    fputs("]", h->out);
    return ok;
}

static bool html_diagnoses_connection(const struct html_diagnoses *h, const struct story *s)
{
    struct explain_texts t;
    const struct story_side *other;
    bool ok;

    if (!explain_texts_make(&t, s))
        return false;
    other = story_other(s, t.side);
    fprintf(h->out, "{\"end\":%td,", t.side->end - h->traces->align.ends.ends);
    if (t.wrong == STORY_END_OF_TRACE && other->end)
        fprintf(h->out, "\"endOfTrace\":%td,", other->end - h->traces->align.ends.ends);
    html_diagnoses_event(h, "wrong", t.wrong);
    ok = html_diagnoses_cause(h, t.cause) && html_diagnoses_paragraphs(h, "headline", t.headline) &&
         html_diagnoses_paragraphs(h, "what", t.what) && html_diagnoses_paragraphs(h, "reason", t.reason) &&
         html_diagnoses_paragraphs(h, "consequence", t.consequence) &&
         html_diagnoses_paragraphs(h, "change", t.change) && html_diagnoses_paragraphs(h, "advice", t.advice) &&
         html_diagnoses_paragraphs(h, "missing", t.missing);
    fputs("}", h->out);
    explain_texts_free(&t);
    return ok;
}

/* Collects the connections that failed. Each connection is collected once, with both sides. */
static bool html_diagnoses_collect(struct html_diagnoses *h)
{
    const struct ends *ends = &h->traces->align.ends;

    h->failed = calloc(ends->count + 1, sizeof *h->failed);
    for (size_t i = 0; h->failed && i < ends->count; i++) {
        struct story *s = &h->failed[h->n_failed];

        if (ends->ends[i].other != END_NONE && ends->ends[i].other < i)
            continue;
        story_collect(s, h->traces, &h->calls, &ends->ends[i]);
        h->n_failed += story_has_failed(s, &s->sides[0]) || story_has_failed(s, &s->sides[1]);
    }
    return h->failed != NULL;
}

static bool html_diagnoses_call(const struct html_diagnoses *h, const struct explain_kind *kind)
{
    enum { HEADLINE, WHAT, CHANGE, N_TEXTS };
    static const char *const names[] = { "headline", "what", "change" };
    struct words texts[N_TEXTS];
    size_t opened = 0;
    bool ok = true;

    while (opened < N_TEXTS && words_open(&texts[opened]))
        opened++;
    if (opened == N_TEXTS) {
        explain_kind_headline(texts[HEADLINE].file, kind);
        explain_kind_texts(texts[WHAT].file, texts[CHANGE].file, h->traces, &h->calls, kind);
        fputs("{", h->out);
        html_diagnoses_event(h, "wrong", explain_kind_record(kind));
        ok = html_diagnoses_cause(h, explain_kind_cause(h->traces, &h->calls, kind));
    }
    for (size_t i = 0; i < opened; i++) {
        char *text = words_close(&texts[i]);

        ok = ok && opened == N_TEXTS && text && html_diagnoses_paragraphs(h, names[i], text);
        free(text);
    }
    fputs("}", h->out);
    return ok;
}

static void html_diagnoses_listener(void *to, const char *text)
{
    struct html_diagnoses *h = to;

    fputs(h->n_listeners++ ? "," : "", h->out);
    h->is_out_of_memory = !html_json_string(h->out, text) || h->is_out_of_memory;
}

static bool html_diagnoses_all(struct html_diagnoses *h)
{
    struct explain_kind kinds[EXPLAIN_MAX_KINDS];
    size_t n_kinds = explain_find_kinds(kinds, &h->calls, h->failed, h->n_failed);
    bool ok = true;

    fputs("\"diagnoses\":[", h->out);
    for (size_t i = 0; ok && i < h->n_failed && i < MAX_DIAGNOSES; i++) {
        fputs(i ? ",\n" : "\n", h->out);
        ok = html_diagnoses_connection(h, &h->failed[i]);
    }
    fputs("],\n\"failedCalls\":[", h->out);
    for (size_t i = 0; ok && i < n_kinds; i++) {
        fputs(i ? ",\n" : "\n", h->out);
        ok = html_diagnoses_call(h, &kinds[i]);
    }
    fputs("],\n\"listeners\":[", h->out);
    (void)explain_each_refusal(h->traces, &h->calls, html_diagnoses_listener, h);
    fputs("]", h->out);
    return ok && !h->is_out_of_memory;
}

bool html_diagnoses_write(FILE *out, const struct traces *t, const size_t *event_of)
{
    struct html_diagnoses h = { .out = out, .traces = t, .event_of = event_of };
    bool ok = calls_find(&h.calls, &t->records) && html_diagnoses_collect(&h) && html_diagnoses_all(&h);

    calls_free(&h.calls);
    free(h.failed);
    return ok;
}
