/* SPDX-License-Identifier: MIT */
/*
 * The client: warms up, measures each size, and requests the server's results. A request of the client to the server is
 * called an order (wire.h). Only one order may be unanswered at a time. So client_request first waits for the answer to
 * an earlier ORDER_SAMPLE.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "interrupt.h"
#include "monotonic.h"
#include "pattern.h"
#include "pump.h"
#include "report.h"
#include "roles.h"

static const uint64_t LIVE_NS = 500000000;
static const double NS_PER_S = 1e9, MIB = 1048576, MILLION = 1e6;

static bool client_on_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset)
{
    return session_differs(s, lane, message, offset, "client");
}

/* ---- orders ---- */

static bool client_send_order(struct client *c, const struct order *o)
{
    uint8_t bytes[WIRE_ORDER];

    order_put(o, bytes);
    c->s->order_received = false;
    c->unanswered = true;
    return control_receive(c->s) && control_send(c->s, bytes);
}

/* Waits for the answer to the last order. Returns false if the session has failed. */
static bool client_wait_answer(struct client *c)
{
    while (!c->s->order_received)
        if (!session_poll(c->s))
            return false;
    c->unanswered = false;
    return true;
}

static bool client_wait_outcome(struct client *c)
{
    struct session *s = c->s;

    if (!client_wait_answer(c))
        return false;
    c->sampling = false;
    outcome_get(&c->outcome, control_received(s));
    if (c->outcome.different)
        return session_differs(s, c->outcome.lane, c->outcome.message, c->outcome.offset, "server");
    return true;
}

static bool client_end_sample(struct client *c);

static bool client_request(struct client *c, const struct order *o)
{
    if (c->sampling && (!client_wait_outcome(c) || !client_end_sample(c)))
        return false;
    return client_send_order(c, o) && client_wait_outcome(c);
}

/*
 * Waits until all messages of the server have arrived. With --check, verifies the server's writes since the last call.
 * A correct server posts at most s->window writes on each queue pair between two calls. The client fails if the server
 * reports more, because it could take for ever to verify a false number of writes.
 */
static bool client_wait_arrived(struct client *c)
{
    struct session *s = c->s;
    uint64_t messages = c->outcome.messages, first = c->server_laps;

    while (!flow_has_arrived(s, c->flushes, messages))
        if (!session_poll(s))
            return false;
    if (!s->check || s->run.test != TEST_WRITE)
        return true;
    if (messages / s->lane_count - first > s->window)
        return session_fail(s, "the server's number of messages", STATUS_INVALID_PARAMETER, 0);
    c->server_laps = messages / s->lane_count;
    return flow_check_written(s, first, c->server_laps - first);
}

bool client_flush(struct client *c, uint64_t first, uint64_t count)
{
    struct session *s = c->s;
    const struct order o = { .kind = ORDER_FLUSH, .first = first, .count = count };

    c->flushes++;
    if (!flow_flush(s) || !client_request(c, &o))
        return false;
    return !s->both || client_wait_arrived(c);
}

static bool client_begin_run(struct client *c, uint32_t size, bool warmup)
{
    struct session *s = c->s;
    uint32_t flags = (c->o->latency ? ORDER_LATENCY : 0) | (c->o->corrupt ? ORDER_CORRUPT : 0) |
                     (warmup ? ORDER_WARMUP : 0);
    uint64_t count = warmup ? 0 : c->o->iterations;

    s->phase = warmup ? PHASE_WARMUP : PHASE_MEASURE;
    s->run = (struct order){
        .kind = ORDER_RUN, .test = c->o->test, .flags = flags, .size = size, .count = count, .burst = c->o->burst
    };
    pump_begin(s, count, c->o->burst, c->o->corrupt);
    for (uint32_t i = 0; i < s->lane_count; i++) {
        s->lanes[i].received = 0;
        lane_memory(s, &s->lanes[i], AREA_TARGET, 0)[size - 1] = 0;
        for (uint32_t slot = 0; s->both && s->check && slot < s->slots; slot++)
            pattern_fill(lane_memory(s, &s->lanes[i], AREA_SOURCE, slot), size, s->lanes[i].index, slot);
    }
    c->warmup = warmup;
    c->server_laps = c->server_messages = c->server_ns = 0;
    if (!client_request(c, &s->run))
        return false;
    meter_begin(&c->meter, monotonic_ns());
    c->live_at = c->interval_at = c->meter.from;
    c->interval_messages = 0;
    c->deadline = warmup  ? c->meter.from + (uint64_t)(c->o->warmup * NS_PER_S)
                  : count ? 0
                          : c->meter.from + (uint64_t)(c->o->duration * NS_PER_S);
    return true;
}

/* ---- intervals ---- */

/* Starts the client's part of the next interval. */
static void client_begin_interval(struct client *c, uint64_t now)
{
    c->interval_at = now;
    c->interval_messages = c->s->pump.completed;
    memset(&c->interval->times, 0, sizeof c->interval->times);
}

/* Sets the server's part of the interval from c->outcome, the last answer of the server. */
static void client_set_server_part(struct client *c)
{
    struct rate *r = &c->interval->server;

    c->interval->has_server = true;
    r->messages = c->outcome.messages - c->server_messages;
    r->seconds = (double)(c->outcome.ns - c->server_ns) / NS_PER_S;
    c->server_messages = c->outcome.messages;
    c->server_ns = c->outcome.ns;
}

static bool client_end_sample(struct client *c)
{
    client_set_server_part(c);
    report_interval(c->s, c->interval);
    return true;
}

static void client_set_interval(struct client *c, uint64_t now)
{
    struct interval *i = c->interval;

    i->size = c->s->run.size;
    i->from = (double)(c->interval_at - c->meter.from) / NS_PER_S;
    i->to = (double)(now - c->meter.from) / NS_PER_S;
    i->client.messages = c->s->pump.completed - c->interval_messages;
    i->client.seconds = i->to - i->from;
    i->has_server = false;
}

/*
 * Ends an interval when its time has elapsed. With --bidirectional, reports the interval only after the server's part
 * has arrived.
 */
static bool client_check_interval(struct client *c, uint64_t now)
{
    const struct order sample = { .kind = ORDER_SAMPLE };

    if (c->sampling) {
        if (!c->s->order_received)
            return true;
        if (!client_wait_outcome(c) || !client_end_sample(c))
            return false;
    }
    if ((double)(now - c->interval_at) < c->o->interval * NS_PER_S)
        return true;
    client_set_interval(c, now);
    if (c->s->both) {
        client_begin_interval(c, now);
        return c->sampling = client_send_order(c, &sample);
    }
    report_interval(c->s, c->interval);
    client_begin_interval(c, now);
    return true;
}

/*
 * Reports the last, incomplete interval of a run. `whole` is true if the run has succeeded. Otherwise c->outcome does
 * not contain the server's part.
 */
static void client_end_intervals(struct client *c, uint64_t now, bool whole)
{
    client_set_interval(c, now);
    if (c->s->both && whole)
        client_set_server_part(c);
    if (c->interval->client.messages || (c->interval->has_server && c->interval->server.messages))
        report_interval(c->s, c->interval);
}

/* ---- runs ---- */

static void client_show_live(struct client *c, uint64_t now)
{
    const struct session *s = c->s;
    double seconds = (double)(now - c->meter.from) / NS_PER_S, messages = (double)s->pump.completed;
    char step[48] = "";

    if (c->steps > 1)
        snprintf(step, sizeof step, " (%u of %u)", c->step, c->steps);
    if (c->warmup)
        report_live(s, "%u bytes%s: warm-up, %.1f s", (unsigned)s->run.size, step, seconds);
    else if (c->o->latency)
        report_live(s, "%u bytes%s, %.1f s: %llu messages, median %.2f us, 99 %% %.2f us", (unsigned)s->run.size, step,
                    seconds, (unsigned long long)c->result->times.count, times_quantile(&c->result->times, 0.5),
                    times_quantile(&c->result->times, 0.99));
    else
        report_live(s, "%u bytes%s, %.1f s: %.0f MB/s, %.3f Mmps", (unsigned)s->run.size, step, seconds,
                    messages * s->run.size / MIB / seconds, messages / seconds / MILLION);
}

bool client_check_clock(struct client *c, uint64_t now)
{
    struct session *s = c->s;

    if ((c->deadline && now >= c->deadline) || interrupt_received())
        s->pump.over = true;
    if (now - c->live_at >= LIVE_NS) {
        c->live_at = now;
        client_show_live(c, now);
    }
    if (c->warmup)
        return true;
    meter_update(&c->meter, now, s->pump.completed);
    return c->o->interval <= 0 || client_check_interval(c, now);
}

/*
 * Ends a lap, all of whose requests must have completed. With --check, a lap is one window of messages on each queue
 * pair. Without --check, the whole run is one lap. Sets *done to true if the run ends.
 */
static bool client_end_lap(struct client *c, bool *done)
{
    const struct order lap = { .kind = ORDER_LAP };
    struct session *s = c->s;
    uint64_t first = s->pump.lap;

    *done = !pump_has_next_lap(s);
    if (!client_flush(c, first, s->check ? s->lanes[0].posted - first : pump_posted(s)))
        return false;
    if (*done)
        return true;
    pump_begin_lap(s);
    return !s->both || client_request(c, &lap);
}

static bool client_run_bandwidth(struct client *c)
{
    struct session *s = c->s;

    for (uint64_t turns = 0;; turns++) {
        bool lap_done, done = false;

        if ((turns % 16 == 0 || s->options->events || s->is_idle) && !client_check_clock(c, monotonic_ns()))
            return false;
        if (!pump_post(s, &lap_done))
            return false;
        if (!lap_done && !session_poll(s))
            return false;
        if (lap_done && !client_end_lap(c, &done))
            return false;
        if (done)
            return true;
    }
}

static bool client_run(struct client *c)
{
    return c->o->latency ? client_run_latency(c) : client_run_bandwidth(c);
}

/*
 * Returns `peak` or the average rate, whichever is higher. A measured peak may be below the average: the peak omits a
 * short last slice of the run, and the server sends its peak as an integer.
 */
static double client_peak(const struct rate *r, double peak)
{
    return peak > rate_messages(r) ? peak : rate_messages(r);
}

static void client_set_result(struct client *c, uint64_t now, bool whole)
{
    struct result *r = c->result;

    r->has_server = whole;
    r->server_cpu_us = c->outcome.cpu_us;
    r->client.seconds = (double)(now - c->meter.from) / NS_PER_S;
    r->client.messages = c->s->pump.completed;
    r->client.peak = client_peak(&r->client, c->meter.peak);
    if (!c->s->both || !whole)
        return;
    r->server.messages = c->outcome.messages;
    r->server.seconds = (double)c->outcome.ns / NS_PER_S;
    r->server.peak = client_peak(&r->server, (double)c->outcome.peak / r->size);
}

/* Measures one message size, after a warm-up. Returns false after a failure, or an interrupt before the measurement. */
static bool client_measure(struct client *c, uint32_t size)
{
    struct result *r = c->result;
    uint64_t cpu, now;
    bool whole;

    memset(r, 0, sizeof *r);
    memset(c->interval, 0, sizeof *c->interval);
    r->size = size;
    if (c->o->warmup > 0 && !interrupt_received() && (!client_begin_run(c, size, true) || !client_run(c)))
        return false;
    if (interrupt_received() || !client_begin_run(c, size, false))
        return false;
    cpu = session_cpu_us();
    whole = client_run(c);
    now = monotonic_ns();
    r->client_cpu_us = session_cpu_us() - cpu;
    client_set_result(c, now, whole);
    if (!whole && c->s->failed == NDKPERF_DATA)
        return false;
    if (c->o->interval > 0)
        client_end_intervals(c, now, whole);
    if (r->client.messages)
        report_result(c->s, r);
    return whole;
}

/* Waits until all requests have completed. A run that ends with a difference in the data leaves some outstanding. */
static bool client_wait_requests(struct client *c)
{
    while (c->s->unpolled)
        if (!session_poll(c->s))
            return false;
    return true;
}

/*
 * Sends ORDER_END, for which the server waits, and disconnects. Does nothing after a failure, unless the failure is a
 * difference in the data.
 */
static void client_end_session(struct client *c)
{
    const struct order end = { .kind = ORDER_END };
    struct session *s = c->s;
    enum ndkperf_exit code = s->failed;
    bool completed;

    if (code != NDKPERF_OK && code != NDKPERF_DATA)
        return;
    s->failed = NDKPERF_OK;
    s->phase = PHASE_END;
    s->check = false;
    /* The server disconnects after ORDER_END, and then responds to no read. */
    completed = client_wait_requests(c);
    /* From now on, it is not a failure if a measured connection ends before the server's last answer arrives. */
    s->is_ending = true;
    /* The server posts a receive for the next order only after it has answered the previous order. */
    if (completed && (!c->unanswered || client_wait_answer(c)) && client_send_order(c, &end) && client_wait_answer(c))
        session_disconnect(s);
    if (code != NDKPERF_OK)
        s->failed = code;
}

static void client_measure_all(struct client *c)
{
    uint64_t size = c->o->all ? 2 : c->o->size;

    c->steps = 1;
    for (uint64_t next = size * 2; c->o->all && next <= c->s->max_size; next *= 2)
        c->steps++;
    for (c->step = 1; size <= c->s->max_size && !interrupt_received(); c->step++) {
        if (!client_measure(c, (uint32_t)size) || !c->o->all)
            break;
        size *= 2;
    }
    client_end_session(c);
}

void client_role(struct session *s)
{
    struct client c = { .s = s, .o = s->options };

    c.result = calloc(1, sizeof *c.result);
    c.interval = calloc(1, sizeof *c.interval);
    interrupt_set_wait("for the server's last answers and its disconnect");
    s->on_difference = client_on_difference;
    s->has_timeout = true;
    if (!c.result || !c.interval) {
        session_fail(s, "memory for results", STATUS_INSUFFICIENT_RESOURCES, 0);
    } else {
        report_begin(s);
        client_measure_all(&c);
    }
    free(c.result);
    free(c.interval);
}
