/* SPDX-License-Identifier: MIT */
/*
 * Collects the events and calls of a connection: see story.h. The calls of a side are the calls on its connector.
 * Several objects may have the same address, one after the other. So only the calls between two creations of an object
 * at this address are used.
 */
#include "story.h"

#include <string.h>

#include "trace_reader/value.h"

/* ---- access ---- */

const struct trace_record *story_record(const struct story *s, size_t record)
{
    return record == END_NONE ? NULL : &s->traces->records.records[record];
}

static bool story_find(const struct story *s, size_t record, const char *field, struct value *v)
{
    return record != END_NONE && value_find(story_record(s, record), field, v);
}

const char *story_name(const struct story *s, size_t record, const char *field)
{
    struct value v;

    return story_find(s, record, field, &v) && v.name ? v.name : "";
}

bool story_name_is(const struct story *s, size_t record, const char *field, const char *name)
{
    return strcmp(story_name(s, record, field), name) == 0;
}

uint64_t story_number(const struct story *s, size_t record, const char *field)
{
    struct value v;

    return story_find(s, record, field, &v) ? v.number : 0;
}

const struct schema_name *story_explained(const struct story *s, size_t record, const char *field)
{
    struct value v;

    return story_find(s, record, field, &v) ? schema_find_name(v.field->names, v.number) : NULL;
}

double story_seconds_of(const struct story *s, uint64_t time_ns)
{
    return (double)(int64_t)(time_ns - s->begin_ns) / 1e9;
}

double story_seconds(const struct story *s, size_t record)
{
    return record == END_NONE ? 0 : story_seconds_of(s, trace_record_realtime(story_record(s, record)));
}

const char *story_who(const struct story_side *side)
{
    return side->role == STORY_CLIENT ? "the client" : "the server";
}

const struct call *story_call(const struct story *s, size_t call)
{
    return call == END_NONE ? NULL : &s->calls->calls[call];
}

bool story_has_failed(const struct story *s, const struct story_side *side)
{
    return story_name_is(s, side->outcome, "outcome", "failed") ||
           story_name_is(s, side->outcome, "outcome", "refused");
}

/* ---- events ---- */

static void story_note(size_t *at, size_t record)
{
    if (*at == END_NONE)
        *at = record;
}

static void story_note_state(const struct story *s, struct story_side *side, size_t record)
{
    const char *event = story_name(s, record, "event");

    if (strcmp(event, "tcp-up") == 0)
        story_note(&side->tcp_up, record);
    if (strcmp(event, side->role == STORY_CLIENT ? "complete" : "accept") == 0)
        story_note(&side->answer, record);
    side->state = story_name(s, record, "to");
}

static void story_note_outcome(const struct story *s, struct story_side *side, size_t record)
{
    if (story_name_is(s, record, "outcome", "established"))
        story_note(&side->established, record);
    else
        story_note(&side->outcome, record);
}

static void story_note_event(const struct story *s, struct story_side *side, size_t record)
{
    const struct trace_record *r = story_record(s, record);
    const char *name = ends_event_name(r);
    bool is_client = side->role == STORY_CLIENT;

    if (strcmp(name, "connection") == 0)
        story_note(&side->begin, record);
    else if (strcmp(name, "mpa_sent") == 0)
        story_note(is_client ? &side->request : &side->reply, record);
    else if (strcmp(name, "mpa_received") == 0)
        story_note(is_client ? &side->reply : &side->request, record);
    else if (strcmp(name, "state") == 0)
        story_note_state(s, side, record);
    else if (strcmp(name, "stream") == 0)
        story_note(&side->stream, record);
    else if (strcmp(name, "outcome") == 0)
        story_note_outcome(s, side, record);
    else if (strcmp(name, "limit_expired") == 0)
        story_note(&side->limit_expired, record);
    else if (strcmp(name, "stall_expired") == 0)
        story_note(&side->stall_expired, record);
    else if (strcmp(name, "terminate") == 0)
        story_note(&side->terminate, record);
    else if (story_name_is(s, record, "crc", "bad"))
        story_note(&side->bad_crc, record);
    if ((strcmp(name, "connection") == 0 || strcmp(name, "connector") == 0) && story_number(s, record, "object"))
        side->connector = story_number(s, record, "object");
}

/* ---- calls ---- */

static bool story_is_connect(const struct call *c)
{
    return strcmp(c->routine, "NdkConnect") == 0 || strcmp(c->routine, "NdkConnectWithSharedEndpoint") == 0;
}

static void story_note_call(const struct story *s, struct story_calls *calls, size_t index)
{
    const char *routine = s->calls->calls[index].routine;
    struct {
        const char *routine;
        size_t *at;
    } kinds[] = {
        { "NdkConnect", &calls->connect },
        { "NdkConnectWithSharedEndpoint", &calls->connect },
        { "NdkCompleteConnect", &calls->complete },
        { "NdkCompleteConnectEx", &calls->complete },
        { "NdkAccept", &calls->accept },
        { "NdkAcceptEx", &calls->accept },
        { "NdkReject", &calls->reject },
        { "NdkDisconnect", &calls->disconnect },
        { "NdkCloseConnector", &calls->close },
        { "disconnect_event", &calls->disconnect_event },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].routine, routine) == 0)
            story_note(kinds[i].at, index);
}

/*
 * The calls of a side: the calls on its connector whose indexes in calls->calls are from `first` to `end` - 1. If
 * `first` is END_NONE, there are none. If `end` is END_NONE, there is no last one.
 */
struct story_span {
    size_t first, end;
};

/* Ends the span before the next connector is created at the same address. */
static void story_end_span(const struct story *s, const struct story_side *side, struct story_span *span)
{
    size_t at, n = calls_that_created(s->calls, side->end->file, side->connector, &at);

    for (size_t i = 0; i < n; i++) {
        size_t index = s->calls->by_created[at + i];

        if (index > span->first && index < span->end)
            span->end = index;
    }
}

/*
 * Returns the span of a client's calls. It begins with the last NdkConnect before the event `connection`, and ends
 * before the next NdkConnect.
 */
static struct story_span story_client_span(const struct story *s, const struct story_side *side, uint64_t begin_ns)
{
    size_t at, n = calls_of_object(s->calls, side->end->file, side->connector, &at);
    struct story_span span = { END_NONE, END_NONE };

    for (size_t i = 0; i < n; i++) {
        size_t index = s->calls->by_object[at + i];

        if (!story_is_connect(&s->calls->calls[index]))
            continue;
        if (s->calls->calls[index].begin_ns > begin_ns) {
            span.end = index;
            break;
        }
        span.first = index;
    }
    story_end_span(s, side, &span);
    return span;
}

/* Returns the span of a server's calls. It begins with the connect event: the callback that passed the connector. */
static struct story_span story_server_span(const struct story *s, const struct story_side *side, uint64_t begin_ns)
{
    size_t at, n = calls_that_created(s->calls, side->end->file, side->connector, &at);
    struct story_span span = { END_NONE, END_NONE };

    for (size_t i = 0; i < n && span.first == END_NONE; i++) {
        const struct call *c = &s->calls->calls[s->calls->by_created[at + i]];

        if (c->is_callback && c->begin_ns >= begin_ns)
            span.first = s->calls->by_created[at + i];
    }
    story_end_span(s, side, &span);
    return span;
}

const struct call *story_create_qp(const struct story *s, const struct story_side *side)
{
    size_t at, n = side->qp ? calls_that_created(s->calls, side->end->file, side->qp, &at) : 0;

    return n ? &s->calls->calls[s->calls->by_created[at + n - 1]] : NULL;
}

static void story_collect_calls(const struct story *s, struct story_side *side)
{
    uint64_t begin_ns = trace_record_realtime(story_record(s, side->end->first));
    bool is_client = side->role == STORY_CLIENT;
    size_t at, n = calls_of_object(s->calls, side->end->file, side->connector, &at);
    struct story_span span;
    const struct call *with_qp, *create;

    for (size_t i = 0; i < s->calls->count && !side->has_calls; i++)
        side->has_calls = s->calls->calls[i].file == side->end->file;
    if (!side->connector)
        return;
    span = is_client ? story_client_span(s, side, begin_ns) : story_server_span(s, side, begin_ns);
    if (!is_client)
        side->calls.connect_event = span.first;
    for (size_t i = 0; i < n; i++) {
        size_t index = s->calls->by_object[at + i];

        if (span.first != END_NONE && index >= span.first && index < span.end)
            story_note_call(s, &side->calls, index);
    }
    with_qp = story_call(s, is_client ? side->calls.connect : side->calls.accept);
    side->qp = with_qp ? story_number(s, with_qp->record, "qp") : 0;
    create = story_create_qp(s, side);
    side->srq = create ? story_number(s, create->record, "srq") : 0;
}

size_t story_count_posts(const struct story *s, const struct trace_file *file, uint64_t object, const char *routine,
                         uint64_t until_ns)
{
    size_t at, n = calls_of_object(s->calls, file, object, &at), count = 0;

    for (size_t i = 0; i < n; i++) {
        const struct call *c = &s->calls->calls[s->calls->by_object[at + i]];

        count += strcmp(c->routine, routine) == 0 && c->end_ns <= until_ns && !calls_status_is_failure(c->status);
    }
    return count;
}

size_t story_count_messages(const struct story *s, const struct story_side *side, size_t before)
{
    const struct end_list *list = &side->end->lists[END_FPDUS_RECEIVED];
    size_t n = 0;

    for (size_t i = 0; i < list->count && list->records[i] < before; i++)
        n += strncmp(story_name(s, list->records[i], "opcode"), "send", 4) == 0 &&
             story_number(s, list->records[i], "last");
    return n;
}

size_t story_last_record(const struct story *s, const struct story_side *side)
{
    const struct trace_records *records = &s->traces->records;

    for (size_t i = records->count; i > 0; i--)
        if (records->records[i - 1].file == side->end->file)
            return i - 1;
    return END_NONE;
}

/* ---- the whole story ---- */

static void story_init_side(struct story_side *side, enum story_role role, const struct end *end)
{
    *side = (struct story_side){ .role = role,
                                 .end = end,
                                 .state = "",
                                 .begin = END_NONE,
                                 .tcp_up = END_NONE,
                                 .request = END_NONE,
                                 .reply = END_NONE,
                                 .answer = END_NONE,
                                 .stream = END_NONE,
                                 .established = END_NONE,
                                 .limit_expired = END_NONE,
                                 .stall_expired = END_NONE,
                                 .terminate = END_NONE,
                                 .bad_crc = END_NONE,
                                 .outcome = END_NONE,
                                 .calls = { END_NONE, END_NONE, END_NONE, END_NONE, END_NONE, END_NONE, END_NONE,
                                            END_NONE } };
}

static void story_collect_side(struct story *s, struct story_side *side)
{
    const struct ends *e = &s->traces->align.ends;

    if (!side->end)
        return;
    for (size_t i = side->end->first; i != END_NONE; i = e->next[i])
        story_note_event(s, side, i);
    story_collect_calls(s, side);
}

void story_collect(struct story *s, const struct traces *traces, const struct calls *calls, const struct end *end)
{
    const struct ends *e = &traces->align.ends;
    const struct end *other = end->other == END_NONE ? NULL : &e->ends[end->other];
    bool is_client = end->has_begin && end->flow.is_initiator;

    *s = (struct story){ .traces = traces, .calls = calls, .begin_ns = traces_begin(traces) };
    story_init_side(&s->sides[STORY_CLIENT], STORY_CLIENT, is_client ? end : other);
    story_init_side(&s->sides[STORY_SERVER], STORY_SERVER, is_client ? other : end);
    for (int i = 0; i < 2; i++)
        story_collect_side(s, &s->sides[i]);
}
