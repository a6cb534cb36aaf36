/* SPDX-License-Identifier: MIT */
/* The server: receives, answers, verifies data, and reports its CPU time. server_connect.c accepts the client. */
#include <string.h>

#include "connect.h"
#include "pattern.h"
#include "report.h"
#include "roles.h"

struct server {
    struct session *s;
    struct outcome outcome;
    uint64_t cpu_from, flushes, messages;
    uint32_t turn; /* write latency: the lane that the client writes to next */
    bool flushing, ended, different;
    struct order flush;
};

static struct server *server_from(struct session *s)
{
    return s->role;
}

/* ---- data ---- */

static void server_store_difference(struct server *v, const struct lane *l, uint64_t message, uint32_t offset)
{
    if (v->outcome.different)
        return;
    v->outcome.different = 1;
    v->outcome.lane = l->index;
    v->outcome.message = message;
    v->outcome.offset = offset;
}

static void server_check(struct server *v, const struct lane *l, const uint8_t *at, uint64_t message, uint32_t len)
{
    uint32_t offset = pattern_differs(at, len, l->index, message);

    if (offset < len)
        server_store_difference(v, l, message, offset);
}

/* Verifies the writes since the last flush. */
static void server_check_written(struct server *v)
{
    const struct session *s = v->s;

    for (uint32_t i = 0; i < s->lane_count; i++)
        for (uint64_t m = v->flush.first; m < v->flush.first + v->flush.count; m++)
            if (s->run.test == TEST_WRITE || m % 3 == 1)
                server_check(v, &s->lanes[i], lane_memory(s, &s->lanes[i], AREA_TARGET, (uint32_t)(m % s->window)), m,
                             s->run.size);
}

/*
 * Sends the answers that are due. A message whose latency is measured is answered by one of the same size. Otherwise an
 * empty message (a credit) is sent after each quarter of a window; it allows the client to send as many more. The
 * source memory belongs to the provider until the send has completed.
 */
static bool server_send_answers(struct session *s, struct lane *l)
{
    bool latency = s->run.flags & ORDER_LATENCY;

    while (l->owed && l->posted - l->completed < (s->check && latency ? 1 : s->window)) {
        l->owed--;
        l->posted++;
        if (s->check && latency)
            pattern_fill(lane_memory(s, l, AREA_SOURCE, 0), s->run.size, l->index, l->received - 1);
        if (!lane_post(s, l, ID_SEND, 0, latency ? s->run.size : 0, 0))
            return false;
    }
    return true;
}

static bool server_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len)
{
    struct server *v = server_from(s);
    uint64_t message = s->run.test == TEST_MIXED ? 3 * l->received : l->received;

    if (!len) {
        l->flushes++;
        return lane_receive(s, l, slot);
    }
    if (len != s->run.size)
        server_store_difference(v, l, message, len);
    else if (s->check)
        server_check(v, l, lane_memory(s, l, AREA_RECEIVE, slot), message, len);
    l->received++;
    if (!lane_receive(s, l, slot))
        return false;
    if (s->run.flags & ORDER_LATENCY) {
        l->owed++;
    } else if (++l->uncredited >= (s->window / 4 ? s->window / 4 : 1)) {
        l->uncredited = 0;
        l->owed++;
    }
    return server_send_answers(s, l);
}

static bool server_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot)
{
    (void)id;
    (void)slot;
    l->completed++;
    return server_send_answers(s, l);
}

static const struct session_events server_events = { server_on_receive, server_on_completed };

/* Answers a write whose latency is measured. Writes are not notified, so this polls the last byte and writes back. */
static bool server_answer_write(struct server *v)
{
    struct session *s = v->s;
    struct lane *l = &s->lanes[v->turn];
    uint32_t last = s->run.size - 1;
    uint8_t *at = lane_memory(s, l, AREA_TARGET, 0), *source = lane_memory(s, l, AREA_SOURCE, 0);
    uint8_t mark = (uint8_t)(l->received + 1);

    if (l->posted != l->completed || written_mark(at + last) != mark)
        return true;
    if (s->check) {
        uint32_t offset = written_differs(at, last, l->index, l->received);
        if (offset < last)
            server_store_difference(v, l, l->received, offset);
        pattern_fill(source, last, l->index, l->received);
    }
    source[last] = mark;
    l->received++;
    l->posted++;
    v->turn = (v->turn + 1) % s->lane_count;
    return lane_post(s, l, ID_WRITE, 0, s->run.size, 0);
}

/* ---- orders ---- */

static bool server_answer_order(struct server *v)
{
    uint8_t bytes[WIRE_ORDER];

    v->outcome.cpu_us = session_cpu_us() - v->cpu_from;
    outcome_put(&v->outcome, bytes);
    return control_receive(v->s) && control_send(v->s, bytes);
}

/* Prints the result of the run that has ended. */
static void server_report_run(struct server *v)
{
    if (v->messages && !(v->s->run.flags & ORDER_WARMUP))
        report_server(v->s, v->messages, v->outcome.cpu_us);
    v->messages = 0;
}

static bool server_begin_run(struct server *v, const struct order *o)
{
    struct session *s = v->s;

    if (o->test > TEST_MIXED || !o->size || o->size > s->max_size)
        return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
    server_report_run(v);
    s->run = *o;
    v->turn = 0;
    memset(&v->outcome, 0, sizeof v->outcome);
    for (uint32_t i = 0; i < s->lane_count; i++) {
        struct lane *l = &s->lanes[i];
        l->received = 0;
        lane_memory(s, l, AREA_TARGET, 0)[o->size - 1] = 0;
        for (uint32_t slot = 0; s->check && slot < s->slots; slot++)
            pattern_fill(lane_memory(s, l, AREA_SOURCE, slot), o->size, l->index, slot);
        if (o->flags & ORDER_CORRUPT && (o->test == TEST_READ || o->test == TEST_MIXED))
            lane_memory(s, l, AREA_SOURCE, 0)[o->size / 2] ^= 1;
    }
    v->cpu_from = session_cpu_us();
    return server_answer_order(v);
}

/* Ends the flush if each lane has received its empty message, which the client sends after all others. */
static bool server_end_flush(struct server *v)
{
    struct session *s = v->s;

    for (uint32_t i = 0; i < s->lane_count; i++)
        if (s->lanes[i].flushes < v->flushes)
            return true;
    v->flushing = false;
    if (s->check && !(s->run.flags & ORDER_LATENCY) && (s->run.test == TEST_WRITE || s->run.test == TEST_MIXED))
        server_check_written(v);
    v->messages = v->flush.first + v->flush.count;
    if (s->check)
        v->messages *= s->lane_count;
    if (v->outcome.different && !v->different) {
        v->different = true;
        session_print_difference(v->outcome.lane, v->outcome.message, v->outcome.offset, "server");
    }
    return server_answer_order(v);
}

static bool server_handle_order(struct server *v)
{
    struct session *s = v->s;
    struct order o;

    s->order_received = false;
    order_get(&o, control_received(s));
    switch (o.kind) {
    case ORDER_RUN:
        return server_begin_run(v, &o);
    case ORDER_FLUSH:
        if (s->check && o.count > s->window && !(s->run.flags & ORDER_LATENCY))
            return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
        v->flush = o;
        v->flushing = true;
        v->flushes++;
        return true;
    case ORDER_END:
        server_report_run(v);
        memset(&v->outcome, 0, sizeof v->outcome);
        v->ended = true;
        return server_answer_order(v);
    default:
        return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
    }
}

static void server_serve(struct server *v)
{
    struct session *s = v->s;

    while (!v->ended && s->failed == NDKPERF_OK && !session_interrupted) {
        if (s->run.flags & ORDER_LATENCY && s->run.test == TEST_WRITE && !server_answer_write(v))
            break;
        if (!session_poll(s) || (s->order_received && !server_handle_order(v)) || (v->flushing && !server_end_flush(v)))
            break;
    }
}

/* ---- the role ---- */

enum ndkperf_exit server_run(struct session *s)
{
    struct server v = { .s = s };

    s->events = &server_events;
    s->role = &v;
    if (server_connect(s)) {
        server_serve(&v);
        if (v.ended)
            session_disconnect(s);
        else if (session_interrupted)
            session_set_failed(s, NDKPERF_INTERRUPTED);
        if (v.different)
            s->failed = NDKPERF_DATA;
    }
    return s->failed;
}
