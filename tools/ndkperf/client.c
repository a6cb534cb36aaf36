/* SPDX-License-Identifier: MIT */
/* The client: warms up, measures each size, and requests the server's results. */
#include <stdlib.h>
#include <string.h>

#include "connect.h"
#include "pattern.h"
#include "report.h"
#include "roles.h"

static const uint64_t NS_PER_S = 1000000000, NS_PER_MS = 1000000, SLICE_NS = 100000000, LIVE_NS = 500000000;

struct client {
    struct session *s;
    const struct options *o;
    struct result *result;
    uint64_t completed, from, deadline; /* of this run; deadline 0: it ends after the iterations */
    uint64_t lap;                       /* --check: the number of the first message of this lap (one window) */
    uint64_t slice_at, slice_completed, live_at;
    bool warmup, over; /* over: no further run or lap begins */
    struct outcome outcome;
};

/* ---- receives and completions ---- */

static struct client *client_from(struct session *s)
{
    return s->role;
}

/* Handles a credit, or the answer to a send whose latency is measured. */
static bool client_on_receive(struct session *s, struct lane *l, uint32_t slot, uint32_t len)
{
    if (!len) {
        l->credited += s->window / 4 ? s->window / 4 : 1;
        return lane_receive(s, l, slot);
    }
    if (s->check) {
        uint32_t offset = pattern_differs(lane_memory(s, l, AREA_RECEIVE, slot), len, l->index, l->received);
        if (offset < len)
            return session_differs(s, l->index, l->received, offset, "client");
    }
    l->received++;
    return lane_receive(s, l, slot);
}

static bool client_on_completed(struct session *s, struct lane *l, enum id id, uint32_t slot)
{
    uint32_t size = s->run.size;

    l->completed++;
    client_from(s)->completed++;
    if (id == ID_READ && s->check) {
        uint8_t *at = lane_memory(s, l, AREA_TARGET, slot);
        uint32_t offset = pattern_differs(at, size, l->index, slot);
        if (offset < size)
            return session_differs(s, l->index, l->completed - 1, offset, "client");
        memset(at, ~at[0], size); /* so that the next read must change it */
    }
    return true;
}

static const struct session_events client_events = { client_on_receive, client_on_completed };

/* ---- orders ---- */

static bool client_request(struct client *c, const struct order *o)
{
    struct session *s = c->s;
    uint8_t bytes[WIRE_ORDER];

    order_put(o, bytes);
    s->order_received = false;
    if (!control_receive(s) || !control_send(s, bytes))
        return false;
    while (!s->order_received)
        if (!session_poll(s))
            return false;
    outcome_get(&c->outcome, control_received(s));
    if (c->outcome.different)
        return session_differs(s, c->outcome.lane, c->outcome.message, c->outcome.offset, "server");
    return true;
}

/*
 * Ends a run or lap: sends an empty message on each lane, and waits until the server confirms that all messages
 * arrived.
 */
static bool client_flush(struct client *c, uint64_t first, uint64_t count)
{
    struct session *s = c->s;
    const struct order o = { .kind = ORDER_FLUSH, .first = first, .count = count };

    for (uint32_t i = 0; i < s->lane_count; i++)
        if (!lane_post(s, &s->lanes[i], ID_FLUSH, 0, 0, 0))
            return false;
    return client_request(c, &o);
}

static bool client_begin_run(struct client *c, uint32_t size, bool warmup)
{
    struct session *s = c->s;
    uint32_t flags = (c->o->latency ? ORDER_LATENCY : 0) | (c->o->corrupt ? ORDER_CORRUPT : 0) |
                     (warmup ? ORDER_WARMUP : 0);

    s->run = (struct order){ .kind = ORDER_RUN, .test = c->o->test, .flags = flags, .size = size };
    for (uint32_t i = 0; i < s->lane_count; i++) {
        struct lane *l = &s->lanes[i];
        l->posted = l->completed = l->received = 0;
        lane_memory(s, l, AREA_TARGET, 0)[size - 1] = 0;
    }
    c->warmup = warmup;
    c->completed = c->lap = 0;
    c->over = false;
    if (!client_request(c, &s->run))
        return false;
    c->from = c->slice_at = c->live_at = session_now();
    c->slice_completed = 0;
    c->deadline = warmup             ? c->from + c->o->warmup_ms * NS_PER_MS
                  : c->o->iterations ? 0
                                     : c->from + c->o->seconds_ms * NS_PER_MS;
    return true;
}

/* Ends the run if its time is over, updates the peak rate, and prints the live line. */
static void client_check_clock(struct client *c, uint64_t now)
{
    struct session *s = c->s;

    if ((c->deadline && now >= c->deadline) || session_interrupted)
        c->over = true;
    if (c->warmup)
        return;
    if (now - c->slice_at >= SLICE_NS) {
        double rate = (double)(c->completed - c->slice_completed) * s->run.size * (double)NS_PER_S /
                      (double)(now - c->slice_at);
        if (rate > c->result->peak)
            c->result->peak = rate;
        c->slice_at = now;
        c->slice_completed = c->completed;
    }
    if (now - c->live_at >= LIVE_NS) {
        c->live_at = now;
        report_live(s, s->run.size, c->completed, (double)(now - c->from) / (double)NS_PER_S,
                    c->o->latency ? &c->result->times : NULL);
    }
}

/* ---- bandwidth ---- */

static enum id client_request_kind(enum test test, uint64_t message)
{
    static const enum id kinds[] = { [TEST_SEND] = ID_SEND, [TEST_WRITE] = ID_WRITE, [TEST_READ] = ID_READ };

    return kinds[test == TEST_MIXED ? message % 3 : test];
}

static bool client_post_next(struct client *c, struct lane *l, uint32_t flags)
{
    struct session *s = c->s;
    uint64_t message = l->posted++;
    uint32_t slot = (uint32_t)(message % s->window);
    enum id id = client_request_kind(c->o->test, message);

    if (s->check && id != ID_READ) {
        uint8_t *at = lane_memory(s, l, AREA_SOURCE, slot);
        pattern_fill(at, s->run.size, l->index, message);
        if (c->o->corrupt && !message)
            at[s->run.size / 2] ^= 1;
    }
    l->sent += id == ID_SEND;
    return lane_post(s, l, id, slot, s->run.size, flags);
}

/* Returns how many messages the lane will have sent at the end of this lap. */
static uint64_t client_lap_end(const struct client *c)
{
    uint64_t all = c->deadline ? UINT64_MAX : c->o->iterations, lap = c->lap + c->s->window;

    return c->s->check && lap < all ? lap : all;
}

/* Posts whole bursts until the lane's window is full. */
static bool client_post_bursts(struct client *c, struct lane *l)
{
    const struct session *s = c->s;
    uint64_t left = client_lap_end(c) - l->posted, room = s->window - (l->posted - l->completed);
    uint64_t credit = s->window - (l->sent - l->credited);

    if (credit < room && c->o->test != TEST_WRITE && c->o->test != TEST_READ)
        room = credit;
    for (;;) {
        uint64_t burst = c->o->burst;
        if (burst > s->window / 2) /* a part of the window may wait for its credit */
            burst = s->window / 2 ? s->window / 2 : 1;
        if (burst > left)
            burst = left;
        if (!burst || room < burst)
            return true;
        for (uint64_t i = 0; i < burst; i++)
            if (!client_post_next(c, l, i + 1 < burst ? NDK_OP_FLAG_DEFER : 0))
                return false;
        room -= burst;
        left -= burst;
    }
}

/* May a lane post more? A lap that has begun on one lane must be posted completely on all lanes. */
static bool client_may_post(const struct client *c)
{
    const struct session *s = c->s;
    bool begun = false;

    for (uint32_t i = 0; i < s->lane_count; i++)
        begun = begun || s->lanes[i].posted != c->lap;
    return !c->over || (s->check && begun);
}

static bool client_is_drained(const struct client *c, bool to_fill)
{
    const struct session *s = c->s;

    for (uint32_t i = 0; i < s->lane_count; i++)
        if (s->lanes[i].completed != s->lanes[i].posted || (to_fill && s->lanes[i].posted < client_lap_end(c)))
            return false;
    return true;
}

/*
 * Ends a lap, or the run (*done). All posted requests have completed. With --check every lane has posted the same
 * number of messages, so the first lane's number is used.
 */
static bool client_end_lap(struct client *c, bool *done)
{
    struct session *s = c->s;
    uint64_t sum = 0, posted = s->lanes[0].posted;

    *done = !s->check || c->over || (!c->deadline && posted >= c->o->iterations);
    for (uint32_t i = 0; i < s->lane_count; i++)
        sum += s->lanes[i].posted;
    if (!client_flush(c, s->check ? c->lap : 0, s->check ? posted - c->lap : sum))
        return false;
    c->lap = posted;
    return true;
}

static bool client_run_bandwidth(struct client *c)
{
    struct session *s = c->s;

    for (uint64_t turns = 0;; turns++) {
        bool to_fill;

        if (turns % 16 == 0 || s->options->events || s->is_idle)
            client_check_clock(c, session_now());
        to_fill = client_may_post(c);
        for (uint32_t i = 0; to_fill && i < s->lane_count; i++)
            if (!client_post_bursts(c, &s->lanes[i]))
                return false;
        if (client_is_drained(c, to_fill)) {
            bool done;
            if (!client_end_lap(c, &done))
                return false;
            if (done)
                return true;
            continue;
        }
        if (!session_poll(s))
            return false;
    }
}

/* ---- latency ---- */

static bool client_is_answered(struct client *c, struct lane *l, uint64_t message)
{
    struct session *s = c->s;
    uint32_t last = s->run.size - 1;

    if (c->o->test == TEST_READ)
        return l->completed > message;
    if (c->o->test == TEST_SEND)
        return l->received > message;
    return written_mark(lane_memory(s, l, AREA_TARGET, 0) + last) == (uint8_t)(message + 1);
}

static bool client_ping(struct client *c, struct lane *l, uint64_t message)
{
    struct session *s = c->s;
    uint32_t slot = 0, last = s->run.size - 1;
    uint8_t *source = lane_memory(s, l, AREA_SOURCE, slot);
    enum id id = client_request_kind(c->o->test, message);

    l->posted++;
    if (s->check && id != ID_READ) {
        pattern_fill(source, s->run.size, l->index, message);
        if (c->o->corrupt && !message)
            source[last / 2] ^= 1;
    }
    if (id == ID_WRITE)
        source[last] = (uint8_t)(message + 1);
    return lane_post(s, l, id, slot, s->run.size, 0);
}

/* Waits until the last request has completed, because the peer's answer may arrive before that. */
static bool client_wait_completed(struct client *c, const struct lane *l)
{
    while (l->posted != l->completed)
        if (!session_poll(c->s))
            return false;
    return true;
}

static bool client_check_written(struct client *c, struct lane *l, uint64_t message)
{
    uint32_t last = c->s->run.size - 1;
    uint32_t offset = written_differs(lane_memory(c->s, l, AREA_TARGET, 0), last, l->index, message);

    return offset >= last || session_differs(c->s, l->index, message, offset, "client");
}

static bool client_run_latency(struct client *c)
{
    struct session *s = c->s;
    uint64_t most = c->deadline ? UINT64_MAX : (uint64_t)c->o->iterations * s->lane_count, count = 0;
    uint64_t parts = c->o->test == TEST_READ ? 1 : 2, now = session_now();

    for (; count < most && !c->over; count++) {
        struct lane *l = &s->lanes[count % s->lane_count];
        uint64_t message = count / s->lane_count, before;

        if (!client_wait_completed(c, l))
            return false;
        before = session_now();
        if (!client_ping(c, l, message))
            return false;
        while (!client_is_answered(c, l, message))
            if (!session_poll(s))
                return false;
        now = session_now();
        if (!c->warmup)
            times_add(&c->result->times, (now - before) / parts);
        if (s->check && c->o->test == TEST_WRITE && !client_check_written(c, l, message))
            return false;
        client_check_clock(c, now);
    }
    c->completed = count;
    while (!client_is_drained(c, false))
        if (!session_poll(s))
            return false;
    return client_flush(c, 0, s->check ? count / s->lane_count : count);
}

/* ---- runs ---- */

/* Measures one size after a warm-up. */
static bool client_measure(struct client *c, uint32_t size)
{
    struct result *r = c->result;
    uint64_t cpu;
    double mean;
    bool whole;

    memset(r, 0, sizeof *r);
    r->size = size;
    if (c->o->warmup_ms && !session_interrupted &&
        (!client_begin_run(c, size, true) || !(c->o->latency ? client_run_latency : client_run_bandwidth)(c)))
        return false;
    if (session_interrupted || !client_begin_run(c, size, false))
        return false;
    cpu = session_cpu_us();
    whole = (c->o->latency ? client_run_latency : client_run_bandwidth)(c);
    r->seconds = (double)(session_now() - c->from) / (double)NS_PER_S;
    r->client_cpu_us = session_cpu_us() - cpu;
    r->has_server_cpu = whole;
    r->server_cpu_us = c->outcome.cpu_us;
    r->messages = c->completed;
    mean = r->seconds > 0 ? (double)r->messages * size / r->seconds : 0;
    if (r->peak < mean) /* the last slice may be shorter than the others */
        r->peak = mean;
    report_live_end(c->s);
    if (r->messages && (whole || c->s->failed != NDKPERF_DATA))
        report_result(c->s, r);
    return whole;
}

/* Sends the order that ends the session, even if data differed, because the server waits for it. */
static void client_end_session(struct client *c)
{
    const struct order end = { .kind = ORDER_END };
    struct session *s = c->s;
    enum ndkperf_exit code = s->failed;

    if (code != NDKPERF_OK && code != NDKPERF_DATA)
        return;
    s->failed = NDKPERF_OK;
    s->check = false;
    s->is_ending = true; /* the end of a lane may be detected before the server's last answer */
    if (client_request(c, &end))
        session_disconnect(s);
    if (code != NDKPERF_OK)
        s->failed = code;
}

static void client_measure_all(struct client *c)
{
    uint64_t size = c->o->all ? 2 : c->o->size;

    while (size <= c->s->max_size && !session_interrupted && client_measure(c, (uint32_t)size) && c->o->all)
        size *= 2;
    client_end_session(c);
}

/* ---- the role ---- */

enum ndkperf_exit client_run(struct session *s, const struct sockaddr_storage *from)
{
    struct client c = { .s = s, .o = s->options, .result = calloc(1, sizeof *c.result) };

    if (!c.result)
        return NDKPERF_FAILED;
    s->events = &client_events;
    s->role = &c;
    s->has_timeout = true;
    if (client_connect(s, from)) {
        report_begin(s);
        client_measure_all(&c);
        if (session_interrupted)
            session_set_failed(s, NDKPERF_INTERRUPTED);
    } else if (session_interrupted) {
        session_set_failed(s, NDKPERF_INTERRUPTED);
    }
    free(c.result);
    return s->failed;
}
