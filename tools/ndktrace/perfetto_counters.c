/* SPDX-License-Identifier: MIT */
/*
 * Counts the entries of queues: see perfetto_counters.h. A request counts from the call that posts it until the program
 * has polled its result. A result counts in its completion queue from the frame that completes the request until the
 * program has polled the result. A request that cannot have a result (SILENT_SUCCESS) does not count. The invariant: no
 * counter becomes negative, even if the trace lacks events.
 */
#include "perfetto_counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"
#include "trace_reader/value.h"

enum { COUNTERS_HASHES = 4096 };
enum counters_kind { COUNTERS_REQUESTS, COUNTERS_RECEIVES, COUNTERS_RESULTS };
enum counters_op { OP_RECEIVE, OP_SEND, OP_WRITE, OP_READ, OP_LOCAL, OP_NONE };

struct counters_request {
    uint64_t context;
    enum counters_op op;
    /* is_done: the completion queue contains the request's result. is_taken: the program has polled this result. */
    bool is_silent, is_done, is_taken;
};

/*
 * A counted queue: the requests of a queue pair, the receives of a queue pair or SRQ, or the results in a completion
 * queue.
 */
struct counters_queue {
    const struct trace_file *file;
    uint64_t object;
    enum counters_kind kind;
    uint64_t count;
    size_t next;                    /* 1 + index of the next queue with the same hash; 0: none */
    size_t n_requests, room, first; /* requests before `first` do not change any more */
    struct counters_request *requests;
};

struct counters_qp {
    const struct trace_file *file;
    uint64_t qp, context, receive_cq, initiator_cq, srq;
};

/* An event that changes counters: the beginning of a post, or a record. */
struct counters_event {
    uint64_t time_ns;
    size_t record;
    const struct call *post; /* NULL: not a post */
};

struct counters {
    struct perfetto *p;
    const struct calls *calls;
    size_t n_queues, n_qps;
    struct counters_queue *queues;
    struct counters_qp *qps;
    const struct counters_qp **qp_of_end;  /* for each end of a connection, the queue pair that it uses, or NULL */
    size_t queue_of_hash[COUNTERS_HASHES]; /* 1 + index of the first queue with this hash; 0: none */
    bool is_out_of_memory;
};

static uint64_t counters_number(const struct trace_record *r, const char *field)
{
    struct value v;

    return value_find(r, field, &v) ? v.number : 0;
}

static const char *counters_text(const struct trace_record *r, const char *field)
{
    struct value v;

    return value_find(r, field, &v) && v.name ? v.name : "";
}

/* ---- queues ---- */

/* Returns the queue. If it is not known, adds it. Returns NULL if out of memory. */
static struct counters_queue *counters_find_queue(struct counters *c, const struct trace_file *file, uint64_t object,
                                                  enum counters_kind kind)
{
    size_t *head = &c->queue_of_hash[(object >> 4 ^ object >> 16) % COUNTERS_HASHES];
    struct counters_queue *grown;

    for (size_t i = *head; i; i = c->queues[i - 1].next)
        if (c->queues[i - 1].file == file && c->queues[i - 1].object == object && c->queues[i - 1].kind == kind)
            return &c->queues[i - 1];
    grown = reallocarray(c->queues, c->n_queues + 1, sizeof *grown);
    if (!grown) {
        c->is_out_of_memory = true;
        return NULL;
    }
    c->queues = grown;
    grown[c->n_queues] = (struct counters_queue){ .file = file, .object = object, .kind = kind, .next = *head };
    *head = ++c->n_queues;
    return &grown[c->n_queues - 1];
}

/* Adds `change` (1 or -1) to a counter, and writes the new value. Does nothing if the counter would become negative. */
static void counters_change(struct counters *c, struct counters_queue *q, int change, uint64_t time_ns)
{
    static const char *const units[] = { "requests outstanding", "receives outstanding", "results waiting" };
    char name[80];

    if (!q || (change < 0 && q->count == 0))
        return;
    q->count = change < 0 ? q->count - 1 : q->count + 1;
    snprintf(name, sizeof name, "%s 0x%" PRIx64, q->kind == COUNTERS_RESULTS ? "CQ" : "queue", q->object);
    perfetto_event(c->p, 'C', &c->p->processes[q->file - c->p->traces->files], time_ns, name);
    fprintf(c->p->out, ",\"args\":{\"%s\":%" PRIu64 "}", units[q->kind], q->count);
    perfetto_close_event(c->p);
}

static void counters_push(struct counters *c, struct counters_queue *q, const struct counters_request *request)
{
    struct counters_request *grown;

    if (!q)
        return;
    if (q->n_requests == q->room) {
        grown = reallocarray(q->requests, 2 * q->room + 64, sizeof *grown);
        if (!grown) {
            c->is_out_of_memory = true;
            return;
        }
        q->requests = grown;
        q->room = 2 * q->room + 64;
    }
    q->requests[q->n_requests++] = *request;
}

/* Returns the first request of the kind `op` that is not done, or NULL. */
static struct counters_request *counters_next(struct counters_queue *q, enum counters_op op)
{
    for (size_t i = q ? q->first : 0; q && i < q->n_requests; i++)
        if (q->requests[i].op == op && !q->requests[i].is_done)
            return &q->requests[i];
    return NULL;
}

/* Increments q->first until it reaches a request that may still change. */
static void counters_trim(struct counters_queue *q)
{
    while (q->first < q->n_requests &&
           (q->requests[q->first].is_taken || (q->requests[q->first].is_silent && q->requests[q->first].is_done)))
        q->first++;
}

/*
 * Sets is_done and is_taken of the first request with this context. If no request has the context, sets them of the
 * first request. Skips requests that are taken or silent. Returns false if all requests are skipped.
 */
static bool counters_complete(struct counters_queue *q, uint64_t context)
{
    struct counters_request *found = NULL;

    for (size_t i = q->first; i < q->n_requests && !(found && found->context == context); i++) {
        struct counters_request *r = &q->requests[i];

        if (!r->is_taken && !r->is_silent && (r->context == context || !found))
            found = r;
    }
    if (found)
        found->is_done = found->is_taken = true;
    counters_trim(q);
    return found != NULL;
}

/* ---- queue pairs ---- */

static bool counters_find_qps(struct counters *c)
{
    c->qps = calloc(c->calls->count + 1, sizeof *c->qps);
    for (size_t i = 0; c->qps && i < c->calls->count; i++) {
        const struct call *call = &c->calls->calls[i];
        const struct trace_record *r = &c->p->traces->records.records[call->record];

        if (!call->created || strncmp(call->routine, "NdkCreateQp", 11) != 0)
            continue;
        c->qps[c->n_qps++] = (struct counters_qp){ .file = call->file,
                                                   .qp = call->created,
                                                   .context = counters_number(r, "qp_context"),
                                                   .receive_cq = counters_number(r, "receive_cq"),
                                                   .initiator_cq = counters_number(r, "initiator_cq"),
                                                   .srq = counters_number(r, "srq") };
    }
    return c->qps != NULL;
}

static const struct counters_qp *counters_find_qp(const struct counters *c, const struct trace_file *file, uint64_t qp)
{
    for (size_t i = c->n_qps; qp && i > 0; i--)
        if (c->qps[i - 1].file == file && c->qps[i - 1].qp == qp)
            return &c->qps[i - 1];
    return NULL;
}

static bool counters_find_ends(struct counters *c)
{
    const struct ends *e = &c->p->traces->align.ends;

    c->qp_of_end = calloc(e->count + 1, sizeof *c->qp_of_end);
    for (size_t i = 0; c->qp_of_end && i < e->count; i++) {
        struct story s;

        story_collect(&s, c->p->traces, c->calls, &e->ends[i]);
        c->qp_of_end[i] = counters_find_qp(c, e->ends[i].file, s.sides[s.sides[0].end == &e->ends[i] ? 0 : 1].qp);
    }
    return c->qp_of_end != NULL;
}

static struct counters_queue *counters_receives_of(struct counters *c, const struct counters_qp *qp)
{
    return counters_find_queue(c, qp->file, qp->srq ? qp->srq : qp->qp, COUNTERS_RECEIVES);
}

/* ---- events ---- */

static enum counters_op counters_op_of(const char *routine)
{
    static const struct {
        const char *routine;
        enum counters_op op;
    } known[] = { { "NdkSend", OP_SEND },       { "NdkSendAndInvalidate", OP_SEND },
                  { "NdkReceive", OP_RECEIVE }, { "NdkSrqReceive", OP_RECEIVE },
                  { "NdkRead", OP_READ },       { "NdkWrite", OP_WRITE },
                  { "NdkBind", OP_LOCAL },      { "NdkFastRegister", OP_LOCAL },
                  { "NdkInvalidate", OP_LOCAL } };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].routine, routine) == 0)
            return known[i].op;
    return OP_NONE;
}

static void counters_handle_post(struct counters *c, const struct counters_event *e)
{
    const struct trace_record *r = &c->p->traces->records.records[e->record];
    enum counters_op op = counters_op_of(e->post->routine);
    const struct counters_qp *qp = counters_find_qp(c, e->post->file, e->post->object);
    struct counters_request request = { .context = counters_number(r, "context"),
                                        .op = op,
                                        .is_silent = counters_number(r, "flags") & 1 /* NDK_OP_FLAG_SILENT_SUCCESS */,
                                        .is_done = op == OP_LOCAL };
    struct counters_queue *q = counters_find_queue(c, e->post->file, e->post->object,
                                                   op == OP_RECEIVE ? COUNTERS_RECEIVES : COUNTERS_REQUESTS);

    counters_push(c, q, &request);
    if (request.is_silent)
        return;
    counters_change(c, q, 1, e->time_ns);
    if (op == OP_LOCAL && qp)
        counters_change(c, counters_find_queue(c, qp->file, qp->initiator_cq, COUNTERS_RESULTS), 1, e->time_ns);
}

/*
 * Handles a frame. If the frame completes a request, because it is the last frame of its message, counts the request's
 * result.
 */
static void counters_handle_frame(struct counters *c, const struct trace_record *r, size_t record)
{
    const char *opcode = counters_text(r, "opcode");
    size_t end = c->p->traces->align.ends.of_record[record];
    const struct counters_qp *qp = end == END_NONE ? NULL : c->qp_of_end[end];
    bool is_sent = counters_number(r, "direction") == 1, is_receive = !is_sent && strncmp(opcode, "send", 4) == 0;
    enum counters_op op = is_receive                                         ? OP_RECEIVE
                          : is_sent && strncmp(opcode, "send", 4) == 0       ? OP_SEND
                          : is_sent && strcmp(opcode, "write") == 0          ? OP_WRITE
                          : !is_sent && strcmp(opcode, "read-response") == 0 ? OP_READ
                                                                             : OP_NONE;
    struct counters_request *request;
    struct counters_queue *q;
    bool is_silent;

    if (!qp || op == OP_NONE || !counters_number(r, "last"))
        return;
    q = is_receive ? counters_receives_of(c, qp) : counters_find_queue(c, qp->file, qp->qp, COUNTERS_REQUESTS);
    request = counters_next(q, op);
    if (!request)
        return;
    request->is_done = true;
    is_silent = request->is_silent;
    counters_trim(q);
    if (!is_silent)
        counters_change(
            c, counters_find_queue(c, qp->file, is_receive ? qp->receive_cq : qp->initiator_cq, COUNTERS_RESULTS), 1,
            trace_record_realtime(r));
}

/*
 * Handles the event `result`: the program has polled a result. The result's request belongs to the queue pair with this
 * CQ and this context.
 */
static void counters_handle_result(struct counters *c, const struct trace_record *r)
{
    bool is_receive = strncmp(counters_text(r, "operation"), "Receive", 7) == 0;
    uint64_t cq = counters_number(r, "object"), context = counters_number(r, "qp_context");
    uint64_t now_ns = trace_record_realtime(r);

    counters_change(c, counters_find_queue(c, r->file, cq, COUNTERS_RESULTS), -1, now_ns);
    for (size_t i = c->n_qps; i > 0; i--) {
        const struct counters_qp *qp = &c->qps[i - 1];
        struct counters_queue *q;

        if (qp->file != r->file || qp->context != context || (is_receive ? qp->receive_cq : qp->initiator_cq) != cq)
            continue;
        q = is_receive ? counters_receives_of(c, qp) : counters_find_queue(c, qp->file, qp->qp, COUNTERS_REQUESTS);
        if (q && counters_complete(q, counters_number(r, "context"))) {
            counters_change(c, q, -1, now_ns);
            return;
        }
    }
}

static int counters_compare(const void *left, const void *right)
{
    const struct counters_event *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->record < b->record ? -1 : a->record > b->record;
}

/* Returns the successful posts, the results and the frames in the order of time, or NULL if out of memory. */
static struct counters_event *counters_list_events(const struct counters *c, size_t *n)
{
    const struct trace_records *records = &c->p->traces->records;
    struct counters_event *events = calloc(records->count + 1, sizeof *events);

    *n = 0;
    for (size_t i = 0; events && i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        const struct call *call = c->calls->of_record[i] == END_NONE ? NULL : &c->calls->calls[c->calls->of_record[i]];
        const char *name = ends_event_name(r);

        if (call && call->record == i && counters_op_of(call->routine) != OP_NONE) {
            if (!calls_status_is_failure(call->status))
                events[(*n)++] = (struct counters_event){ call->begin_ns, i, call };
        } else if (strcmp(name, "result") == 0 || strcmp(name, "tagged") == 0 || strcmp(name, "untagged") == 0) {
            events[(*n)++] = (struct counters_event){ trace_record_realtime(r), i, NULL };
        }
    }
    if (*n)
        qsort(events, *n, sizeof *events, counters_compare);
    return events;
}

bool perfetto_write_counters(struct perfetto *p, const struct calls *calls)
{
    struct counters c = { .p = p, .calls = calls };
    size_t n = 0;
    struct counters_event *events = counters_list_events(&c, &n);
    bool ok = events && counters_find_qps(&c) && counters_find_ends(&c);

    for (size_t i = 0; ok && i < n; i++) {
        const struct trace_record *r = &p->traces->records.records[events[i].record];

        if (events[i].post)
            counters_handle_post(&c, &events[i]);
        else if (strcmp(ends_event_name(r), "result") == 0)
            counters_handle_result(&c, r);
        else
            counters_handle_frame(&c, r, events[i].record);
    }
    for (size_t i = 0; i < c.n_queues; i++)
        free(c.queues[i].requests);
    free(c.queues);
    free(c.qps);
    free(c.qp_of_end);
    free(events);
    return ok && !c.is_out_of_memory;
}
