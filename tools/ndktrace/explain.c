/* SPDX-License-Identifier: MIT */
/*
 * ndktrace explain: prints for each failed connection what went wrong first, what the usual cause is, and what to do.
 * If several connections failed in the same way, explains only the first of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "diagnose_internal.h"
#include "explain_rest.h"
#include "explain_texts.h"
#include "roles.h"
#include "timeline.h"
#include "traces.h"
#include "trace_reader/print_text.h"
#include "words.h"

enum { MAX_SAME = 64 /* maximum number of connection numbers that are listed */ };

struct explain {
    const struct options *options;
    const struct traces *traces;
    struct calls calls;
    size_t n_stories, n_failed, n_ended, n_connections;
    struct story *stories; /* the connections to explain */
};

/* ---- choice ---- */

static bool explain_is_failed(const struct story *s)
{
    return story_has_failed(s, &s->sides[0]) || story_has_failed(s, &s->sides[1]);
}

/* Returns true if both connections failed in the same way. */
static bool explain_is_same(const struct story *a, const struct story *b)
{
    static const char *const fields[] = { "outcome", "why", "phase", "terminate" };

    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            if (strcmp(story_name(a, a->sides[k].outcome, fields[i]), story_name(b, b->sides[k].outcome, fields[i])) !=
                0)
                return false;
    return true;
}

static bool explain_is_chosen(const struct explain *e, const struct story *s)
{
    const struct filter *f = &e->options->filter;

    if (!f->n_connections)
        return explain_is_failed(s);
    for (int k = 0; k < 2; k++)
        if (s->sides[k].end && filter_has_connection(f, s->sides[k].end->id))
            return true;
    return false;
}

/*
 * Collects a story for each connection in the traces. If the traces contain both ends of a connection (the records of
 * the client and the records of the server), collects one story for both ends. Returns false if out of memory.
 */
static bool explain_collect(struct explain *e)
{
    const struct ends *ends = &e->traces->align.ends;

    e->stories = calloc(ends->count + 1, sizeof *e->stories);
    for (size_t i = 0; e->stories && i < ends->count; i++) {
        struct story *s = &e->stories[e->n_stories];

        if (ends->ends[i].other != END_NONE && ends->ends[i].other < i)
            continue;
        story_collect(s, e->traces, &e->calls, &ends->ends[i]);
        e->n_connections++;
        e->n_failed += explain_is_failed(s);
        e->n_ended += !explain_is_failed(s) && (s->sides[0].outcome != END_NONE || s->sides[1].outcome != END_NONE);
        e->n_stories += explain_is_chosen(e, s);
    }
    return e->stories != NULL;
}

/* ---- one connection ---- */

static void explain_side(const struct story *s, const struct story_side *side)
{
    const struct story_side *other = story_other(s, side);

    printf("  %s: ", side->role == STORY_CLIENT ? "client" : "server");
    if (side->end) {
        words_process(stdout, side->end->file);
        printf(" (connection %" PRIu32 " of %s)\n", side->end->id, side->end->file->path);
    } else if (other->end && listeners_find(s, other).state == LISTENERS_OPEN && side->role == STORY_SERVER) {
        words_process(stdout, story_record(s, listeners_find(s, other).record)->file);
        puts(" (its trace has nothing of this connection)");
    } else {
        puts("not in the traces");
    }
}

/* Prints a section. Each line of `text` becomes a paragraph that begins with `first`. */
static void explain_section(const char *title, const char *first, const char *text)
{
    char *copy = strdup(text), *rest = copy;

    if (copy && *copy)
        printf("\n%s\n", title);
    for (char *line = copy ? strsep(&rest, "\n") : NULL; line; line = rest ? strsep(&rest, "\n") : NULL)
        if (*line)
            words_wrap(stdout, first, (int)strlen(first), line);
    free(copy);
}

/* Prints the title of a connection, and its two sides. `headline` is NULL if the connection has not failed. */
static void explain_title(const struct story *s, const char *headline)
{
    struct words w;
    char *text;

    if (!words_open(&w))
        return;
    explain_connection(w.file, s);
    if (headline)
        fprintf(w.file, " failed: %s", headline);
    else
        fputs(" did not fail", w.file);
    text = words_close(&w);
    if (text) {
        putchar('\n');
        text[0] = 'C';
        words_wrap(stdout, "", 0, text);
    }
    free(text);
    explain_side(s, &s->sides[STORY_CLIENT]);
    explain_side(s, &s->sides[STORY_SERVER]);
}

static bool explain_diagnosed(const struct story *s)
{
    struct explain_texts t;
    struct words w;
    char *what = NULL;
    bool ok;

    if (!explain_texts_make(&t, s))
        return false;
    explain_title(s, t.headline);
    if (*t.change)
        words_wrap(stdout, "\nTo change: ", 2, t.change);
    if (words_open(&w)) {
        fprintf(w.file, "%s\n%s\n%s", t.what, t.reason, t.consequence);
        what = words_close(&w);
    }
    if (what)
        explain_section("What went wrong", "  ", what);
    explain_section("What else to check", "  - ", t.advice);
    explain_section("What these traces do not have", "  - ", t.missing);
    printf("\nWhat happened (in seconds of the trace; > marks the first event that went wrong%s)\n",
           t.cause.record == END_NONE ? "" : ", * what led to it");
    ok = timeline_print(stdout, s, t.wrong, t.cause);
    free(what);
    explain_texts_free(&t);
    return ok;
}

static bool explain_story(const struct story *s)
{
    if (explain_is_failed(s))
        return explain_diagnosed(s);
    explain_title(s, NULL);
    puts("\nWhat happened (in seconds of the trace)");
    return timeline_print(stdout, s, END_NONE, (struct story_cause){ .record = END_NONE });
}

/* ---- the whole explanation ---- */

/* Lists the later connections that failed in the same way as connection `i`, and sets is_done for each of them. */
static void explain_list_same(const struct explain *e, size_t i, bool *is_done)
{
    size_t n = 0;

    for (size_t k = i + 1; k < e->n_stories; k++) {
        const struct story *s = &e->stories[k];

        if (is_done[k] || !explain_is_failed(s) || !explain_is_same(&e->stories[i], s))
            continue;
        is_done[k] = true;
        if (n == 0)
            fputs("\nIn the same way failed the connections", stdout);
        if (++n <= MAX_SAME)
            printf("%s %" PRIu32, n > 1 ? "," : "", (s->sides[0].end ? s->sides[0].end : s->sides[1].end)->id);
    }
    if (n > MAX_SAME)
        printf(" and %zu more", n - MAX_SAME);
    if (n)
        puts(".");
}

static bool explain_stories(const struct explain *e)
{
    bool *is_done = calloc(e->n_stories + 1, sizeof *is_done), ok = is_done != NULL;

    for (size_t i = 0; ok && i < e->n_stories; i++) {
        if (is_done[i])
            continue;
        ok = explain_story(&e->stories[i]);
        if (!e->options->filter.n_connections && ok)
            explain_list_same(e, i, is_done);
    }
    free(is_done);
    return ok;
}

/* Prints that no connection failed, and whether calls failed. */
static void explain_good_summary(const struct explain *e)
{
    struct explain_kind kinds[EXPLAIN_MAX_KINDS];
    size_t n = explain_find_kinds(kinds, &e->calls, NULL, 0), failed = 0;

    for (size_t i = 0; i < n; i++)
        failed += kinds[i].count;
    fputs("\nNo connection failed", stdout);
    if (failed)
        printf(", but %zu call%s did (below)", failed, failed == 1 ? "" : "s");
    printf(". %zu of %zu connections ended normally.\n", e->n_ended, e->n_connections);
}

static void explain_summary(const struct explain *e)
{
    for (size_t i = 0; i < e->traces->n_files; i++)
        print_file(stdout, &e->traces->files[i]);
    align_print(stdout, &e->traces->align, e->traces->files);
    if (e->options->filter.n_connections) {
        if (!e->n_stories)
            puts("\nThere is no such connection.");
        return;
    }
    if (e->n_failed)
        printf("\n%zu of %zu connections failed.\n", e->n_failed, e->n_connections);
    else if (e->n_connections)
        explain_good_summary(e);
    else
        words_wrap(
            stdout, "\n", 0,
            "There is no connection in the trace: the program has not called NdkConnect, and no client has reached "
            "its listener.");
}

/*
 * Prints what happened on the connection, if the traces contain exactly one and it has not failed. Called if calls have
 * failed. Returns false if out of memory.
 */
static bool explain_only_connection(const struct explain *e)
{
    struct story_cause cause = { .record = END_NONE };
    struct explain_kind kinds[EXPLAIN_MAX_KINDS];
    size_t wrong = END_NONE;

    if (e->n_failed || e->n_connections != 1)
        return true;
    if (explain_find_kinds(kinds, &e->calls, NULL, 0)) {
        wrong = kinds[0].first->record;
        cause = explain_kind_cause(e->traces, &e->calls, &kinds[0]);
    }
    printf("\nWhat happened on the connection (> marks the first call that failed%s)\n",
           cause.record == END_NONE ? "" : ", * what led to it");
    if (!timeline_print(stdout, &e->stories[0], wrong, cause))
        return false;
    putchar('\n');
    return true;
}

static bool explain_print(struct explain *e)
{
    explain_summary(e);
    if (!explain_stories(e))
        return false;
    if (!e->options->filter.n_connections) {
        explain_refusals(stdout, e->traces, &e->calls);
        if (explain_failed_calls(stdout, e->traces, &e->calls, e->stories, e->n_stories) && !explain_only_connection(e))
            return false;
        if (!explain_unfinished(stdout, e->traces, &e->calls) && !e->n_failed)
            puts("Nothing was unfinished when the trace ends.");
    }
    for (size_t i = 0; i < e->traces->n_files; i++)
        print_skipped(stdout, &e->traces->files[i]);
    return true;
}

int explain_files(const struct options *o)
{
    static struct traces traces;
    struct explain e = { .options = o, .traces = &traces };
    int code = COMMAND_FAILED;

    if (!traces_open(&traces, o->n_arguments, o->arguments))
        return COMMAND_FAILED;
    if (traces_read(&traces)) {
        if (calls_find(&e.calls, &traces.records) && explain_collect(&e) && explain_print(&e))
            code = COMMAND_OK;
        else
            fprintf(stderr, "ndktrace: out of memory\n");
        if (fflush(stdout) != 0 || ferror(stdout))
            code = COMMAND_LOST;
        calls_free(&e.calls);
        free(e.stories);
    }
    traces_close(&traces);
    return code;
}
