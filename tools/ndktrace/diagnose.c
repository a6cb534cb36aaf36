/* SPDX-License-Identifier: MIT */
/*
 * Diagnoses failed connections: see diagnose.h. If both sides report a reason, one of the two reasons is usually the
 * effect of the other. A side that reports that its peer has reset or rejected the connection did not cause the
 * failure.
 */
#include "diagnose.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose_internal.h"

/* ---- helpers ---- */

void diagnose_at(FILE *out, const struct story *s, size_t record)
{
    fprintf(out, "at" WORDS_SPACE "%.6f" WORDS_SPACE "s", story_seconds(s, record));
}

void diagnose_set_cause(struct diagnose_work *w, const struct story_side *side, size_t record, const char *note)
{
    if (record != END_NONE)
        w->cause = (struct story_cause){ record, side->role, note };
}

const char *diagnose_who(const struct story_side *side, bool is_first)
{
    if (side->role == STORY_CLIENT)
        return is_first ? "The client" : "the client";
    return is_first ? "The server" : "the server";
}

static const char *diagnose_noun(const struct story_side *side)
{
    return side->role == STORY_CLIENT ? "client" : "server";
}

static void diagnose_write_missing(const struct diagnose_work *w, const char *why)
{
    fprintf(w->missing, "The traces do not have the %s's side of this connection, which would show %s. ",
            diagnose_noun(w->other), why);
}

static void diagnose_write_recording(const struct diagnose_work *w)
{
    fprintf(
        w->missing,
        "start it with \"ndktrace run -o %s.trace -- PROGRAM\", or with ONDK_TRACE=FILE in its environment, and give "
        "both files to ndktrace explain. A program that does not use OpenNDK cannot be recorded in this way; tcpdump "
        "records its packets.\n",
        diagnose_noun(w->other));
}

void diagnose_request_other(const struct diagnose_work *w, const char *why)
{
    diagnose_write_missing(w, why);
    fprintf(w->missing, "Record the %s, too: ", diagnose_noun(w->other));
    diagnose_write_recording(w);
}

void diagnose_request_listener(const struct diagnose_work *w, const char *why)
{
    diagnose_write_missing(w, why);
    fprintf(w->missing, "If a %s does run there, record it, too: ", diagnose_noun(w->other));
    diagnose_write_recording(w);
}

void diagnose_request_packets(const struct diagnose_work *w, const char *why)
{
    diagnose_write_missing(w, why);
    fprintf(w->missing,
            "Record the packets of the %s with tcpdump, because ndktrace records only programs that use "
            "OpenNDK.\n",
            diagnose_noun(w->other));
}

/* Returns true if programs call this routine repeatedly while they wait. */
static bool diagnose_is_polling(const char *routine)
{
    return strcmp(routine, "NdkArmCq") == 0 || strncmp(routine, "NdkGet", 6) == 0 ||
           strncmp(routine, "NdkQuery", 8) == 0;
}

enum { MAX_ROUTINES = 6 };

bool diagnose_list_calls(FILE *out, const struct story *s, const struct story_side *side, uint64_t from_ns,
                         uint64_t until_ns)
{
    const char *routines[MAX_ROUTINES];
    size_t counts[MAX_ROUTINES], n = 0;

    for (size_t i = 0; i < s->calls->count; i++) {
        const struct call *c = &s->calls->calls[i];
        size_t k = 0;

        if (c->file != side->end->file || c->is_callback || c->is_kernel || c->begin_ns < from_ns ||
            c->begin_ns > until_ns || diagnose_is_polling(c->routine))
            continue;
        while (k < n && strcmp(routines[k], c->routine) != 0)
            k++;
        if (k == MAX_ROUTINES)
            continue;
        if (k == n) {
            routines[n] = c->routine;
            counts[n++] = 0;
        }
        counts[k]++;
    }
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s (%zu times)", i ? ", " : "", routines[i], counts[i]);
    return n > 0;
}

/* ---- the side ---- */

/* Returns true if the reason only means that the other side has ended the connection. */
static bool diagnose_is_effect(const char *why)
{
    static const char *const effects[] = { "peer-reset",  "peer-gave-up", "peer-terminate",
                                           "peer-closed", "rejected",     "unanswered" };

    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++)
        if (strcmp(effects[i], why) == 0)
            return true;
    return false;
}

static const struct story_side *diagnose_choose_side(const struct story *s)
{
    const struct story_side *client = &s->sides[STORY_CLIENT], *server = &s->sides[STORY_SERVER];
    bool is_client_effect, is_server_effect;

    if (!story_has_failed(s, server))
        return client;
    if (!story_has_failed(s, client))
        return server;
    is_client_effect = diagnose_is_effect(story_name(s, client->outcome, "why"));
    is_server_effect = diagnose_is_effect(story_name(s, server->outcome, "why"));
    if (is_client_effect != is_server_effect)
        return is_client_effect ? server : client;
    return client->outcome < server->outcome ? client : server;
}

/* ---- reasons ---- */

/*
 * Writes the first sentence of the trace's text for the reason, without the full stop. If the trace has no text, writes
 * the reason's name.
 */
static void diagnose_headline(const struct diagnose_work *w)
{
    const struct schema_name *reason = story_explained(w->s, w->side->outcome, "why");
    size_t len = reason && reason->text ? strcspn(reason->text, ".") : 0;

    if (len)
        words_sides(w->headline, w->side, reason->text, len);
    else
        fputs(w->why, w->headline);
}

/* Writes the diagnosis for a reason that neither diagnose_connect nor diagnose_stream handles. */
static void diagnose_other(struct diagnose_work *w)
{
    const char *awaited = words_awaited(story_name(w->s, w->side->limit_expired, "state"));

    w->is_vague = true;
    w->wrong = w->side->limit_expired != END_NONE   ? w->side->limit_expired
               : w->side->stall_expired != END_NONE ? w->side->stall_expired
                                                    : w->side->outcome;
    diagnose_headline(w);
    fprintf(w->what, "The connection failed for %s ", diagnose_who(w->side, false));
    diagnose_at(w->what, w->s, w->wrong);
    fprintf(w->what, " (%s), in the phase \"%s\".", w->why, w->phase);
    if (awaited)
        fprintf(w->what, " Until then it had waited for %s.", awaited);
    if (!w->other->end && strcmp(w->phase, "connecting") != 0)
        diagnose_request_other(w, "what happened there at that time");
}

/* ---- the other side ---- */

/* Writes which call or callback of the other side's program returned or indicated the failure. */
static void diagnose_report(const struct diagnose_work *w)
{
    const struct story_calls *calls = &w->other->calls;
    const size_t pending[] = { calls->connect, calls->accept, calls->complete };
    const struct call *event = story_call(w->s, calls->disconnect_event);

    for (size_t i = 0; i < sizeof pending / sizeof pending[0]; i++) {
        const struct call *c = story_call(w->s, pending[i]);

        if (!c || !c->has_status || !calls_status_is_failure(c->status))
            continue;
        fprintf(w->consequence, " %s's %s completed with ", diagnose_who(w->other, true), c->routine);
        words_status(w->consequence, c);
        fputs(".", w->consequence);
        return;
    }
    if (event) {
        fputs(" The program's disconnect callback was called ", w->consequence);
        diagnose_at(w->consequence, w->s, event->record);
        fputs(".", w->consequence);
    } else if (w->other->has_calls) {
        fputs(" No callback reported this to the program.", w->consequence);
    }
}

/* Writes what the other side reported, if its connection has failed, too. */
static void diagnose_consequence(const struct diagnose_work *w)
{
    static const struct {
        const char *why, *found;
    } known[] = {
        { "peer-reset", "a TCP reset of %s arrived" },      { "peer-terminate", "the Terminate of %s arrived" },
        { "rejected", "the reject of %s arrived" },         { "peer-closed", "%s closed the TCP connection" },
        { "peer-gave-up", "%s closed the TCP connection" }, { "unanswered", "%s closed the TCP connection" },
    };
    const char *why = story_name(w->s, w->other->outcome, "why"), *found = NULL;

    if (!w->other->end || !story_has_failed(w->s, w->other))
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].why, why) == 0)
            found = known[i].found;
    fprintf(w->consequence, "Consequence at %s: ", diagnose_who(w->other, false));
    diagnose_at(w->consequence, w->s, w->other->outcome);
    if (found) {
        fputs(" ", w->consequence);
        fprintf(w->consequence, found, diagnose_who(w->side, false));
        fputs(", and", w->consequence);
    }
    fprintf(w->consequence, " the connection failed there%s (%s).", found ? "" : ", too", why);
    diagnose_report(w);
}

/* ---- the whole diagnosis ---- */

/*
 * Sets d->reason and d->terminate to the trace's texts for the side's reason and for the Terminate. A Terminate's text
 * is more precise than the reason's.
 */
static void diagnose_explain(struct diagnosis *d, const struct story *s)
{
    size_t terminate = d->side->outcome;

    d->reason = story_explained(s, d->side->outcome, "why");
    if (!story_name_is(s, terminate, "terminate", "none"))
        d->terminate = story_explained(s, terminate, "terminate");
    if (d->terminate && !d->terminate->text)
        d->terminate = NULL;
}

static void diagnose_run(struct diagnosis *d, const struct story *s, struct words *texts)
{
    struct diagnose_work w = { .s = s,
                               .side = d->side,
                               .other = story_other(s, d->side),
                               .why = story_name(s, d->side->outcome, "why"),
                               .phase = story_name(s, d->side->outcome, "phase"),
                               .wrong = d->side->outcome,
                               .cause = { .record = END_NONE },
                               .headline = texts[0].file,
                               .what = texts[1].file,
                               .advice = texts[2].file,
                               .missing = texts[3].file,
                               .consequence = texts[4].file };

    if (!d->side->end->has_begin)
        fprintf(w.missing, "The trace begins too late: newer events have overwritten the beginning of this connection. "
                           "Record again with a larger file (ndktrace run --size 256).\n");
    if (!diagnose_connect(&w) && !diagnose_stream(&w))
        diagnose_other(&w);
    diagnose_consequence(&w);
    d->wrong = w.wrong;
    d->cause = w.cause;
    if (w.cause.record == w.wrong)
        d->cause.record = END_NONE;
    d->is_specific = !w.is_vague;
}

bool diagnose(struct diagnosis *d, const struct story *s)
{
    enum { N_TEXTS = 5 };
    struct words texts[N_TEXTS];
    char **results[N_TEXTS] = { &d->headline, &d->what, &d->advice, &d->missing, &d->consequence };
    size_t opened = 0;

    *d = (struct diagnosis){ .side = diagnose_choose_side(s) };
    while (opened < N_TEXTS && words_open(&texts[opened]))
        opened++;
    if (opened == N_TEXTS) {
        diagnose_explain(d, s);
        diagnose_run(d, s, texts);
    }
    for (size_t i = 0; i < opened; i++)
        *results[i] = words_close(&texts[i]);
    if (d->headline && d->what && d->advice && d->missing && d->consequence)
        return true;
    diagnose_free(d);
    return false;
}

void diagnose_free(struct diagnosis *d)
{
    free(d->headline);
    free(d->what);
    free(d->advice);
    free(d->missing);
    free(d->consequence);
    *d = (struct diagnosis){ 0 };
}
