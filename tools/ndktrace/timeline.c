/* SPDX-License-Identifier: MIT */
/* Prints what happened on a connection: see timeline.h. */
#include "timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "listeners.h"
#include "trace_reader/value.h"
#include "words.h"

/* Number of messages of each side that are printed; earlier messages are only counted. */
enum { TIMELINE_LAST_MESSAGES = 3 };

struct timeline_line {
    uint64_t time_ns;
    size_t record; /* index of the event's record; it orders lines with the same time */
    enum story_role role;
    char *text;
};

struct timeline {
    const struct story *story;
    size_t wrong;
    struct story_cause cause;
    size_t count, room;
    struct timeline_line *lines;
    bool is_out_of_memory;
};

/* Adds a line with the text of *w, and closes *w. */
static void timeline_add(struct timeline *t, struct words *w, enum story_role role, size_t record, uint64_t time_ns)
{
    size_t room = t->room ? 2 * t->room : 32;
    struct timeline_line *grown;
    char *text;

    if (record == t->cause.record && t->cause.note)
        fprintf(w->file, " %s", t->cause.note);
    text = words_close(w);
    if (text && t->count == t->room) {
        grown = reallocarray(t->lines, room, sizeof *grown);
        if (grown) {
            t->lines = grown;
            t->room = room;
        }
    }
    if (!text || t->count == t->room) {
        free(text);
        t->is_out_of_memory = true;
        return;
    }
    t->lines[t->count++] = (struct timeline_line){ time_ns, record, role, text };
}

static bool timeline_begin(struct timeline *t, struct words *w)
{
    bool ok = words_open(w);

    t->is_out_of_memory = t->is_out_of_memory || !ok;
    return ok;
}

/* ---- calls ---- */

static void timeline_arguments(FILE *out, const struct story *s, const struct call *c)
{
    struct value v;

    if (!value_find(story_record(s, c->record), "inbound", &v))
        return;
    fprintf(out, " (read limits: %" PRIu64 " inbound, %" PRIu64 " outbound", story_number(s, c->record, "inbound"),
            story_number(s, c->record, "outbound"));
    if (story_number(s, c->record, "data_size"))
        fprintf(out, "; %" PRIu64 " bytes of private data", story_number(s, c->record, "data_size"));
    fputs(")", out);
}

static void timeline_add_result(struct timeline *t, const struct story_side *side, const struct call *c)
{
    size_t record = c->completed != END_NONE ? c->completed : c->returned;
    struct words w;

    if (record == END_NONE || c->is_pending || !timeline_begin(t, &w))
        return;
    fprintf(w.file, "%s %s ", c->routine, c->completed != END_NONE ? "completed with" : "returned");
    words_status(w.file, c);
    fputc('.', w.file);
    timeline_add(t, &w, side->role, record, trace_record_realtime(story_record(t->story, record)));
}

static void timeline_add_call(struct timeline *t, const struct story_side *side, size_t index)
{
    const struct call *c = story_call(t->story, index);
    struct words w;

    if (!c || !timeline_begin(t, &w))
        return;
    if (c->is_callback) {
        fputs(strcmp(c->routine, "connect_event") == 0 ? "The program's connect event callback got the request."
                                                       : "The program's disconnect callback was called.",
              w.file);
    } else {
        fprintf(w.file, "The program called %s", c->routine);
        timeline_arguments(w.file, t->story, c);
        fputc('.', w.file);
    }
    timeline_add(t, &w, side->role, c->record, c->begin_ns);
    if (!c->is_callback && strcmp(c->routine, "NdkCloseConnector") != 0)
        timeline_add_result(t, side, c);
}

/* Adds one line for all calls of the routine on the object. */
static void timeline_add_routine(struct timeline *t, const struct story_side *side, const char *routine,
                                 uint64_t object)
{
    size_t at, n = calls_of_object(t->story->calls, side->end->file, object, &at), count = 0;
    const struct call *first = NULL, *last = NULL;
    struct words w;

    for (size_t i = 0; object && i < n; i++) {
        const struct call *c = &t->story->calls->calls[t->story->calls->by_object[at + i]];

        if (strcmp(c->routine, routine) != 0 || calls_status_is_failure(c->status))
            continue;
        first = first ? first : c;
        last = c;
        count++;
    }
    if (!first || !timeline_begin(t, &w))
        return;
    fprintf(w.file, "The program called %s", routine);
    if (count > 1)
        fprintf(w.file, " (%zu times, the last one at" WORDS_SPACE "%.6f" WORDS_SPACE "s)", count,
                story_seconds_of(t->story, last->begin_ns));
    fputc('.', w.file);
    timeline_add(t, &w, side->role, first->record, first->begin_ns);
}

/* Adds a line for the queue pair's receives, and a line for the arms of each completion queue that it uses. */
static void timeline_add_waits(struct timeline *t, const struct story_side *side)
{
    const struct call *create = story_create_qp(t->story, side);
    uint64_t receive_cq = create ? story_number(t->story, create->record, "receive_cq") : 0;
    uint64_t initiator_cq = create ? story_number(t->story, create->record, "initiator_cq") : 0;

    timeline_add_routine(t, side, "NdkReceive", side->qp);
    timeline_add_routine(t, side, "NdkSrqReceive", side->srq);
    timeline_add_routine(t, side, "NdkArmCq", receive_cq);
    if (initiator_cq != receive_cq)
        timeline_add_routine(t, side, "NdkArmCq", initiator_cq);
}

/* Adds a line for the call that led to the failure, unless that call already has a line. */
static void timeline_add_cause(struct timeline *t, const struct story_side *side)
{
    const struct call *c;
    struct words w;

    for (size_t i = 0; i < t->count; i++)
        if (t->lines[i].record == t->cause.record)
            return;
    if (t->cause.record == END_NONE || t->cause.role != side->role)
        return;
    c = story_call(t->story, t->story->calls->of_record[t->cause.record]);
    if (!c || !timeline_begin(t, &w))
        return;
    fprintf(w.file, "The program called %s", c->routine);
    if (story_number(t->story, c->record, "bytes"))
        fprintf(w.file, " (%" PRIu64 " bytes at address 0x%" PRIx64 ")", story_number(t->story, c->record, "bytes"),
                story_number(t->story, c->record, "address"));
    fputc('.', w.file);
    timeline_add(t, &w, side->role, t->cause.record, c->begin_ns);
}

/*
 * Adds a line for each call on the queue pair that failed, for example a post. A result in a completion queue is not a
 * call, so a request that was flushed has no line.
 */
static void timeline_add_failed_posts(struct timeline *t, const struct story_side *side)
{
    size_t at, n = calls_of_object(t->story->calls, side->end->file, side->qp, &at);
    struct words w;

    for (size_t i = 0; side->qp && i < n; i++) {
        const struct call *c = &t->story->calls->calls[t->story->calls->by_object[at + i]];

        if (!calls_status_is_failure(c->status) || c->is_callback || !timeline_begin(t, &w))
            continue;
        fprintf(w.file, "The program called %s, which returned ", c->routine);
        words_status(w.file, c);
        fputc('.', w.file);
        timeline_add(t, &w, side->role, c->record, c->begin_ns);
    }
}

static void timeline_add_calls(struct timeline *t, const struct story_side *side)
{
    const struct story_calls *c = &side->calls;

    timeline_add_call(t, side, c->connect_event);
    timeline_add_call(t, side, c->connect);
    timeline_add_call(t, side, c->accept);
    timeline_add_call(t, side, c->reject);
    timeline_add_call(t, side, c->complete);
    timeline_add_call(t, side, c->disconnect_event);
    timeline_add_call(t, side, c->disconnect);
    timeline_add_call(t, side, c->close);
    timeline_add_failed_posts(t, side);
    timeline_add_waits(t, side);
}

/* ---- the connection ---- */

/*
 * Returns true if the line must contain the contents of the start-up frame. If the trace contains the call that caused
 * the frame, the line of the call already contains most of them.
 */
static bool timeline_needs_frame(const struct story *s, const struct story_side *side, size_t record, bool is_sent,
                                 size_t wrong)
{
    const struct story_side *sender = is_sent ? side : story_other(s, side);

    return record == wrong || (sender->role == STORY_CLIENT && sender->calls.connect == END_NONE) ||
           (sender->role == STORY_SERVER && sender->calls.accept == END_NONE &&
            story_name_is(s, record, "frame", "accept"));
}

/* Returns true if the client gave its request to TCP before the trace shows that TCP was connected. */
static bool timeline_is_early(const struct story *s, const struct story_side *side)
{
    return side->role == STORY_CLIENT && side->tcp_up != END_NONE && side->request != END_NONE &&
           trace_record_realtime(story_record(s, side->tcp_up)) > trace_record_realtime(story_record(s, side->request));
}

static void timeline_startup_frame(FILE *out, const struct story *s, const struct story_side *side, size_t record,
                                   size_t wrong)
{
    bool is_sent = strcmp(ends_event_name(story_record(s, record)), "mpa_sent") == 0;
    const char *frame = story_name(s, record, "frame");

    if (strcmp(frame, "invalid") == 0) {
        fprintf(out, "Bytes arrived that are no MPA %s", record == side->request ? "request" : "reply");
        fputs(": ", out);
        words_bytes(out, s, record);
        fputc('.', out);
        return;
    }
    if (record == side->request && is_sent && timeline_is_early(s, side))
        fputs("The MPA request was given to TCP", out);
    else if (record == side->request)
        fputs(is_sent ? "TCP was connected, and the MPA request was sent" : "The client's MPA request arrived", out);
    else
        fprintf(out, is_sent ? "The MPA reply was sent: %s" : "The server's MPA reply arrived: %s", frame);
    if (!timeline_needs_frame(s, side, record, is_sent, wrong)) {
        fputs(".", out);
        return;
    }
    fprintf(out, " (MPA revision %" PRIu64 ", %" PRIu64 " bytes of private data", story_number(s, record, "revision"),
            story_number(s, record, "data_size"));
    if (story_number(s, record, "enhanced"))
        fprintf(out, ", read limits %" PRIu64 " in and %" PRIu64 " out", story_number(s, record, "ird"),
                story_number(s, record, "ord"));
    fputs(").", out);
}

static void timeline_limit(FILE *out, const struct story *s, const struct story_side *side)
{
    const char *state = story_name(s, side->limit_expired, "state"), *awaited = words_awaited(state);
    uint64_t ms = 0;

    for (size_t i = side->end->first; i < side->limit_expired; i = s->traces->align.ends.next[i])
        if (strcmp(ends_event_name(story_record(s, i)), "limit") == 0 && story_name_is(s, i, "state", state))
            ms = story_number(s, i, "ms");
    fprintf(out, "The time limit of the state %s passed (%" PRIu64 WORDS_SPACE "ms)", state, ms);
    if (awaited) {
        fprintf(out, ": %s had waited for ", story_who(side));
        words_sides(out, side, awaited, strlen(awaited));
    }
    fputc('.', out);
}

static void timeline_outcome(FILE *out, const struct story *s, const struct story_side *side)
{
    bool has_failed = story_has_failed(s, side);

    if (story_name_is(s, side->outcome, "why", "refused"))
        fputs("The server's host refused TCP. ", out);
    else if (story_name_is(s, side->outcome, "why", "peer-reset"))
        fprintf(out, "A TCP reset of %s arrived. ", story_who(story_other(s, side)));
    fprintf(out, "The connection %s (%s",
            story_name_is(s, side->outcome, "outcome", "refused") ? "was refused"
            : has_failed                                          ? "failed"
                                                                  : "ended",
            story_name(s, side->outcome, "why"));
    if (*story_name(s, side->outcome, "terminate") && !story_name_is(s, side->outcome, "terminate", "none"))
        fprintf(out, ", %s", story_name(s, side->outcome, "terminate"));
    fputs(").", out);
}

/* Writes the sentence for a record of the side. Returns false if this kind of record has no sentence. */
static bool timeline_sentence(FILE *out, const struct story *s, const struct story_side *side, size_t record,
                              size_t wrong)
{
    bool is_client = side->role == STORY_CLIENT;

    if (record == side->begin) {
        fputs(is_client ? "The client asked " : "TCP accepted a connection from ", out);
        words_address(out, s, record, "remote");
        fputs(is_client ? " for a TCP connection." : ".", out);
    } else if (record == side->tcp_up && (side->request == END_NONE || timeline_is_early(s, side))) {
        fputs("TCP was connected.", out);
    } else if (record == side->request || record == side->reply) {
        timeline_startup_frame(out, s, side, record, wrong);
    } else if (record == side->answer && !side->has_calls) {
        fprintf(out, "The program called %s.", is_client ? "NdkCompleteConnect" : "NdkAccept");
    } else if (record == side->established) {
        fputs("The connection was established.", out);
    } else if (record == side->limit_expired) {
        timeline_limit(out, s, side);
    } else if (record == side->stall_expired) {
        fprintf(out, "%s had begun a frame or a message, and did not continue it in time.",
                is_client ? "The server" : "The client");
    } else if (record == side->terminate) {
        if (story_number(s, record, "direction"))
            fprintf(out, "Sent a Terminate: %s.", story_name(s, record, "name"));
        else
            fprintf(out, "A Terminate of %s arrived: %s.", story_who(story_other(s, side)),
                    story_name(s, record, "name"));
    } else if (record == side->outcome) {
        timeline_outcome(out, s, side);
    } else {
        return false;
    }
    return true;
}

static void timeline_add_events(struct timeline *t, const struct story_side *side)
{
    const struct story *s = t->story;
    const size_t records[] = { side->begin,     side->tcp_up,      side->request,       side->reply,
                               side->answer,    side->established, side->limit_expired, side->stall_expired,
                               side->terminate, side->outcome };
    struct words w;

    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        if (records[i] == END_NONE || !timeline_begin(t, &w))
            continue;
        if (timeline_sentence(w.file, s, side, records[i], t->wrong))
            timeline_add(t, &w, side->role, records[i], trace_record_realtime(story_record(s, records[i])));
        else
            free(words_close(&w));
    }
}

/* ---- messages ---- */

/* Returns true if this frame begins a message, and false if it continues the message of the previous frame. */
static bool timeline_is_message(const struct story *s, const struct end_list *list, size_t i)
{
    const char *opcode = story_name(s, list->records[i], "opcode");

    return strcmp(opcode, "terminate") != 0 && (i == 0 || story_number(s, list->records[i - 1], "last") ||
                                                strcmp(opcode, story_name(s, list->records[i - 1], "opcode")) != 0);
}

static void timeline_add_message(struct timeline *t, const struct story_side *side, const struct end_list *list,
                                 size_t i, bool is_sent)
{
    size_t record = list->records[i];
    struct words w;

    if (!timeline_begin(t, &w))
        return;
    fputs(is_sent ? "Sent: " : "Arrived: ", w.file);
    if (timeline_is_message(t->story, list, i)) {
        words_message(w.file, t->story, list, i);
    } else {
        words_fpdu(w.file, t->story, record);
        fputs(", a part of a message", w.file);
    }
    if (record == side->bad_crc)
        fputs("; its checksum is wrong", w.file);
    else if (record == t->wrong && !is_sent && story_name_is(t->story, side->outcome, "terminate", "ddp-no-receive") &&
             strncmp(story_name(t->story, record, "opcode"), "send", 4) == 0)
        fputs("; no receive was posted for it", w.file);
    fputc('.', w.file);
    timeline_add(t, &w, side->role, record, trace_record_realtime(story_record(t->story, record)));
}

/*
 * Adds lines for the last messages of a direction, and a line with the number of the earlier messages. If the traces
 * contain both sides, adds no lines for received messages, except for the first event that went wrong.
 */
static void timeline_add_messages(struct timeline *t, const struct story_side *side, enum end_list_kind kind)
{
    const struct end_list *list = &side->end->lists[kind];
    bool is_sent = kind == END_FPDUS_SENT, is_at_both = story_other(t->story, side)->end != NULL;
    size_t n = 0, skipped, n_empty;
    struct words w;

    for (size_t i = 0; i < list->count; i++)
        n += timeline_is_message(t->story, list, i);
    n_empty = list->count && strcmp(ends_event_name(story_record(t->story, list->records[0])), "no_segment") == 0;
    skipped = n > TIMELINE_LAST_MESSAGES ? n - TIMELINE_LAST_MESSAGES : 0;
    if (!is_sent && is_at_both)
        skipped = n; /* the lines of the sender's messages are sufficient */
    if (skipped && !(!is_sent && is_at_both) && timeline_begin(t, &w)) {
        fprintf(w.file, "%s before the following ones: ", is_sent ? "Sent" : "Received");
        if (n_empty)
            fprintf(w.file, "an empty frame (ready to receive)%s", skipped > n_empty ? " and " : "");
        if (skipped > n_empty)
            words_count(w.file, skipped - n_empty, "message");
        fputs(".", w.file);
        timeline_add(t, &w, side->role, list->records[0],
                     trace_record_realtime(story_record(t->story, list->records[0])));
    }
    n = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool is_message = timeline_is_message(t->story, list, i);

        n += is_message;
        if ((is_message && n > skipped) || list->records[i] == t->wrong)
            timeline_add_message(t, side, list, i, is_sent);
    }
}

/*
 * Adds a line if this side's trace ends before the connection ends at the other side. Then this side's process was
 * killed, or still runs.
 */
static void timeline_add_end_of_trace(struct timeline *t, const struct story_side *side)
{
    const struct story_side *other = story_other(t->story, side);
    size_t last = story_last_record(t->story, side);
    struct words w;

    if (side->outcome != END_NONE || other->outcome == END_NONE || last == END_NONE || !timeline_begin(t, &w))
        return;
    fputs("The trace of the process ends here.", w.file);
    timeline_add(t, &w, side->role, STORY_END_OF_TRACE, trace_record_realtime(story_record(t->story, last)));
}

/* Adds a line for the listener at the server's address. */
static void timeline_add_listener(struct timeline *t)
{
    const struct story *s = t->story;
    const struct story_side *client = &s->sides[STORY_CLIENT], *server = &s->sides[STORY_SERVER];
    struct listeners_found found = listeners_find(s, client->end ? client : server);
    struct words w;

    if (found.state == LISTENERS_NONE || !timeline_begin(t, &w))
        return;
    fputs(found.state == LISTENERS_FAILED ? "NdkListen failed at " : "The program began to listen at ", w.file);
    words_address(w.file, s, found.record, "local");
    if (!server->end) {
        fputs(" (", w.file);
        words_process(w.file, story_record(s, found.record)->file);
        fputc(')', w.file);
    }
    fputc('.', w.file);
    timeline_add(t, &w, STORY_SERVER, found.record, trace_record_realtime(story_record(s, found.record)));
    if (found.state != LISTENERS_CLOSED || !timeline_begin(t, &w))
        return;
    fputs("The program closed the listener.", w.file);
    timeline_add(t, &w, STORY_SERVER, found.closed, trace_record_realtime(story_record(s, found.closed)));
}

/* ---- output ---- */

static int timeline_compare(const void *left, const void *right)
{
    const struct timeline_line *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->record < b->record ? -1 : a->record > b->record;
}

static char timeline_mark(const struct timeline *t, size_t record)
{
    return record == t->wrong ? '>' : record == t->cause.record ? '*' : ' ';
}

bool timeline_print(FILE *out, const struct story *s, size_t wrong, struct story_cause cause)
{
    struct timeline t = { .story = s, .wrong = wrong, .cause = cause };
    char first[64];

    for (int i = 0; i < 2; i++) {
        if (!s->sides[i].end)
            continue;
        timeline_add_calls(&t, &s->sides[i]);
        timeline_add_events(&t, &s->sides[i]);
        timeline_add_messages(&t, &s->sides[i], END_FPDUS_SENT);
        timeline_add_messages(&t, &s->sides[i], END_FPDUS_RECEIVED);
        timeline_add_end_of_trace(&t, &s->sides[i]);
        timeline_add_cause(&t, &s->sides[i]);
    }
    timeline_add_listener(&t);
    if (t.count)
        qsort(t.lines, t.count, sizeof *t.lines, timeline_compare);
    for (size_t i = 0; i < t.count; i++) {
        snprintf(first, sizeof first, "%c %11.6f  %s  ", timeline_mark(&t, t.lines[i].record),
                 story_seconds_of(s, t.lines[i].time_ns), t.lines[i].role == STORY_CLIENT ? "client" : "server");
        words_wrap(out, first, 23, t.lines[i].text);
        free(t.lines[i].text);
    }
    free(t.lines);
    return !t.is_out_of_memory;
}
