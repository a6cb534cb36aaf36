/* SPDX-License-Identifier: MIT */
/*
 * The server: receives and answers messages, verifies data, and reports its CPU time. server_connect.c accepts the
 * client.
 */
#include <stdio.h>
#include <string.h>

#include "connect.h"
#include "consumer/provider.h"
#include "flow.h"
#include "interrupt.h"
#include "meter.h"
#include "monotonic.h"
#include "pattern.h"
#include "print.h"
#include "pump.h"
#include "report.h"
#include "roles.h"

static const uint64_t LIVE_NS = 500000000;
static const double MIB = 1048576;

struct server {
    struct session *s;
    struct outcome outcome;
    struct meter meter;
    uint64_t cpu_from, flushes, messages;
    /*
     * The time in nanoseconds at which the server's last request of the run completed; with --check, its last request
     * of the current lap. 0: that request has not completed yet.
     */
    uint64_t pumped_at;
    uint64_t live_at;
    /* Results of server_traffic: live_traffic at the last live line, run_traffic at the start of the run. */
    double live_traffic, run_traffic;
    uint32_t turn; /* write latency: index of the queue pair on which the client writes next */
    uint64_t turns;
    bool flushing, ended, different, running;
    struct order flush;
};

static struct server *server_from(struct session *s)
{
    return s->role;
}

/* Returns the number of bytes that the adapter has transferred. Returns 0 if the provider is not OpenNDK. */
static double server_traffic(const struct session *s)
{
    ondk_counters_t n;

    if (!consumer_read_counters(s->control.adapter, &n))
        return 0;
    return (double)n.rdma_in_octets + (double)n.rdma_out_octets;
}

/*
 * Stores the first difference, which the server reports in its next answer to the client. The server uses this function
 * as session->on_difference. Returns true, because the session continues.
 */
static bool server_on_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset)
{
    struct outcome *o = &server_from(s)->outcome;

    if (o->different)
        return true;
    o->different = 1;
    o->lane = lane;
    o->message = message;
    o->offset = offset;
    return true;
}

/* ---- this end's requests ---- */

/* Posts the server's requests in a run with requests in both directions. Returns false after a failure. */
static bool server_pump(struct server *v)
{
    struct session *s = v->s;
    bool done;

    if (v->pumped_at)
        return true;
    if (!pump_post(s, &done))
        return false;
    if (done)
        v->pumped_at = monotonic_ns();
    else if (++v->turns % 16 == 0)
        meter_update(&v->meter, monotonic_ns(), s->pump.completed);
    return true;
}

/*
 * Answers a write whose latency is measured. The server polls the write's last byte, because a write has no completion
 * at the server.
 */
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
            (void)server_on_difference(s, l->index, l->received, offset);
        pattern_fill(source, last, l->index, l->received);
    }
    source[last] = mark;
    l->received++;
    l->posted++;
    v->turn = (v->turn + 1) % s->lane_count;
    return lane_post(s, l, ID_WRITE, 0, s->run.size, 0);
}

/* ---- orders ---- */

static void server_print_difference(struct server *v)
{
    const struct outcome *o = &v->outcome;

    if (o->different && !v->different)
        session_print_difference(v->s, o->lane, o->message, o->offset, "server");
    v->different = v->different || o->different;
}

static bool server_answer_order(struct server *v)
{
    struct session *s = v->s;
    uint64_t now = v->pumped_at ? v->pumped_at : monotonic_ns();
    struct outcome *o = &v->outcome;
    uint8_t bytes[WIRE_ORDER];
    double mean;

    server_print_difference(v);
    o->cpu_us = session_cpu_us() - v->cpu_from;
    o->messages = s->both ? s->pump.completed : 0;
    o->ns = s->both ? now - v->meter.from : 0;
    mean = o->ns ? (double)o->messages * 1e9 / (double)o->ns : 0;
    o->peak = (uint64_t)((v->meter.peak > mean ? v->meter.peak : mean) * s->run.size);
    outcome_put(o, bytes);
    return control_receive(s) && control_send(s, bytes);
}

/* Prints the result of the run that has ended. */
static void server_report_run(struct server *v)
{
    if (v->messages && !(v->s->run.flags & ORDER_WARMUP))
        report_server(v->s, v->messages, v->outcome.messages, v->outcome.cpu_us);
    v->messages = 0;
}

static bool server_is_valid_run(const struct session *s, const struct order *o)
{
    return o->test <= TEST_MIXED && o->size && o->size <= s->max_size &&
           (!s->both || (o->test != TEST_MIXED && !(o->flags & ORDER_LATENCY) && o->burst));
}

static bool server_begin_run(struct server *v, const struct order *o)
{
    struct session *s = v->s;

    if (!server_is_valid_run(s, o))
        return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
    server_report_run(v);
    s->run = *o;
    s->phase = o->flags & ORDER_WARMUP ? PHASE_WARMUP : PHASE_MEASURE;
    v->turn = 0;
    v->pumped_at = 0;
    v->running = true;
    memset(&v->outcome, 0, sizeof v->outcome);
    if (s->both)
        pump_begin(s, o->count, o->burst, s->options->corrupt);
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
    v->run_traffic = server_traffic(s);
    meter_begin(&v->meter, monotonic_ns());
    return server_answer_order(v);
}

static bool server_begin_flush(struct server *v, const struct order *o)
{
    struct session *s = v->s;

    if (s->check && o->count > s->window && !(s->run.flags & ORDER_LATENCY))
        return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
    v->flush = *o;
    v->flushing = true;
    v->flushes++;
    if (s->both && !s->check && !s->run.count)
        s->pump.over = true;
    return true;
}

/* Answers ORDER_FLUSH, if all messages of the client have arrived and all requests of this end have completed. */
static bool server_end_flush(struct server *v)
{
    struct session *s = v->s;
    uint64_t messages = v->flush.first + v->flush.count;

    if (s->check)
        messages *= s->lane_count;
    if ((s->both && !v->pumped_at) || !flow_has_arrived(s, v->flushes, messages))
        return true;
    v->flushing = false;
    if (s->check && !(s->run.flags & ORDER_LATENCY) && (s->run.test == TEST_WRITE || s->run.test == TEST_MIXED))
        (void)flow_check_written(s, v->flush.first, v->flush.count);
    v->messages = messages;
    return (!s->both || flow_flush(s)) && server_answer_order(v);
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
        return server_begin_flush(v, &o);
    case ORDER_LAP:
        pump_begin_lap(s);
        v->pumped_at = 0;
        return server_answer_order(v);
    case ORDER_SAMPLE:
        return server_answer_order(v);
    case ORDER_END:
        server_report_run(v);
        server_print_difference(v);
        memset(&v->outcome, 0, sizeof v->outcome);
        s->phase = PHASE_END;
        v->running = false;
        v->ended = true;
        return server_answer_order(v);
    default:
        return session_fail(s, "the client's order", STATUS_INVALID_PARAMETER, 0);
    }
}

/* ---- progress ---- */

/*
 * Shows the adapter's traffic as progress, because the peer's writes and reads have no completions at this end. Shows
 * nothing if the provider is not OpenNDK.
 */
static void server_show_live(struct server *v, uint64_t now)
{
    double traffic, seconds = (double)(now - v->live_at) / 1e9;

    if (now - v->live_at < LIVE_NS || consumer_foreign_provider())
        return;
    traffic = server_traffic(v->s);
    if (v->live_at && v->running)
        report_live(v->s, "%s of %u bytes, %.1f s: %.0f MB/s", options_test_name((enum test)v->s->run.test),
                    (unsigned)v->s->run.size, (double)(now - v->meter.from) / 1e9,
                    (traffic - v->live_traffic) / MIB / seconds);
    v->live_at = now;
    v->live_traffic = traffic;
}

/* Prints which run was in progress when an interrupt arrived. */
static void server_report_interrupted(const struct server *v)
{
    const struct session *s = v->s;
    char traffic[64] = "";

    if (!consumer_foreign_provider())
        snprintf(traffic, sizeof traffic, ", %.3f MB transferred", (server_traffic(s) - v->run_traffic) / MIB);
    if (v->running)
        print_line("interrupted: %s of %u bytes for %.3f s%s", options_test_name((enum test)s->run.test),
                   (unsigned)s->run.size, (double)(monotonic_ns() - v->meter.from) / 1e9, traffic);
}

static void server_serve(struct server *v)
{
    struct session *s = v->s;

    for (uint64_t turns = 0; !v->ended && !interrupt_received(); turns++) {
        if (s->run.flags & ORDER_LATENCY && s->run.test == TEST_WRITE && !server_answer_write(v))
            break;
        if (s->both && v->running && !server_pump(v))
            break;
        if (!session_poll(s) || (s->order_received && !server_handle_order(v)) || (v->flushing && !server_end_flush(v)))
            break;
        if (turns % 256 == 0 || s->is_idle)
            server_show_live(v, monotonic_ns());
    }
}

/* ---- the role ---- */

void server_role(struct session *s)
{
    struct server v = { .s = s };

    interrupt_set_wait("for the client");
    s->on_difference = server_on_difference;
    s->role = &v;
    if (server_connect(s)) {
        server_serve(&v);
        if (v.ended) {
            session_disconnect(s);
        } else if (interrupt_received()) {
            server_report_interrupted(&v);
            session_set_failed(s, NDKPERF_INTERRUPTED);
        }
        if (v.different)
            s->failed = NDKPERF_DATA;
    }
}
