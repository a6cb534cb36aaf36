/* SPDX-License-Identifier: MIT */
/* Builds the record of a run: see record.h. */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "address.h"
#include "consumer/provider.h"
#include "interrupt.h"
#include "json_output.h"
#include "openndk/adapter.h"
#include "openndk/reason.h"
#include "print.h"
#include "provider_options.h"

static json_t *record;
static json_t *series; /* the intervals (--interval) of the present message size so far */

void record_describe(const struct session *s, struct connection *at)
{
    NDK_CONNECTOR *k = s->lanes[0].c.connector;
    struct sockaddr_storage a;
    ULONG len = sizeof a;

    memset(at, 0, sizeof *at);
    if (NT_SUCCESS(k->Dispatch->NdkGetLocalAddress(k, (PSOCKADDR)&a, &len)))
        address_text(&a, at->local, sizeof at->local);
    address_text(&s->server_address, at->peer, sizeof at->peer);
    at->ird = s->lanes[0].c.effective.inbound;
    at->ord = s->lanes[0].c.effective.outbound;
}

/* ---- members ---- */

static void record_set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

static void record_set_count(json_t *object, const char *name, uint64_t value)
{
    record_set(object, name, json_integer((json_int_t)value));
}

static void record_set_text(json_t *object, const char *name, const char *value)
{
    record_set(object, name, json_output_text(value));
}

static void record_set_rate(json_t *object, const struct rate *r, uint32_t size, bool peak)
{
    record_set_count(object, "messages", r->messages);
    record_set(object, "seconds", json_real(r->seconds));
    record_set(object, "messages_per_second", json_real(rate_messages(r)));
    record_set(object, "bytes_per_second", json_real(rate_messages(r) * size));
    if (peak)
        record_set(object, "peak_bytes_per_second", json_real(r->peak * size));
}

static json_t *record_rate(const struct rate *r, uint32_t size, bool peak)
{
    json_t *object = json_object();

    record_set_rate(object, r, size, peak);
    return object;
}

/*
 * Sets the members for rates. Without --bidirectional, they have the client's rate. With --bidirectional, they have the
 * total of both ends, and the members "client" and "server" have the rate of each end. If has_server is false, the
 * server's rate is not known. Then the total rates and "server" are null, and "messages" counts only the client's.
 */
static void record_set_rates(const struct session *s, json_t *object, uint32_t size, const struct rate ends[2],
                             bool has_server, bool peak)
{
    double messages = rate_messages(&ends[0]) + rate_messages(&ends[1]);

    if (!s->both) {
        record_set_rate(object, &ends[0], size, peak);
        return;
    }
    record_set_count(object, "messages", ends[0].messages + (has_server ? ends[1].messages : 0));
    record_set(object, "seconds", json_real(ends[0].seconds));
    record_set(object, "messages_per_second", has_server ? json_real(messages) : json_null());
    record_set(object, "bytes_per_second", has_server ? json_real(messages * size) : json_null());
    record_set(object, "client", record_rate(&ends[0], size, peak));
    record_set(object, "server", has_server ? record_rate(&ends[1], size, peak) : json_null());
}

json_t *record_latency(const struct times *t)
{
    json_t *object = json_object();

    record_set(object, "min", json_real(times_quantile(t, 0)));
    record_set(object, "median", json_real(times_quantile(t, 0.5)));
    record_set(object, "avg", json_real(times_mean(t)));
    record_set(object, "stdev", json_real(times_deviation(t)));
    record_set(object, "p99", json_real(times_quantile(t, 0.99)));
    record_set(object, "p99.9", json_real(times_quantile(t, 0.999)));
    record_set(object, "max", json_real(times_quantile(t, 1)));
    return object;
}

static json_t *record_histogram(const struct times *t)
{
    json_t *rows = json_array();
    uint64_t from, to;

    for (unsigned i = 0; i < TIMES_CLASSES; i++)
        if (t->classes[i]) {
            times_class(i, &from, &to);
            (void)json_array_append_new(
                rows, json_pack("[I,I,I]", (json_int_t)from, (json_int_t)to, (json_int_t)t->classes[i]));
        }
    return rows;
}

static json_t *record_cpu(uint64_t us, uint64_t messages)
{
    return json_real(messages ? (double)us / (double)messages : 0);
}

/* ---- the run ---- */

static void record_open(const struct session *s)
{
    if (record)
        return;
    record = json_output_begin("ndkperf", RECORD_FORMAT);
    record_set_count(record, "protocol", WIRE_VERSION);
    record_set_text(record, "role", s->options->server ? "server" : "client");
    provider_options_add(record);
}

void record_begin(const struct session *s)
{
    const struct options *o = s->options;
    struct connection at;

    record_open(s);
    record_describe(s, &at);
    record_set_text(record, "test", options_test_name(o->test));
    record_set_text(record, "mode", o->latency ? "latency" : "bandwidth");
    record_set(record, "bidirectional", json_boolean(s->both));
    record_set_text(record, "local", at.local);
    record_set_text(record, "server", at.peer);
    record_set_count(record, "qps", s->qps);
    record_set_count(record, "window", s->window);
    record_set_count(record, "burst", o->burst);
    record_set_count(record, "inline", s->inline_size);
    record_set(record, "crc", o->config.crc == PROVIDER_NOT_GIVEN ? json_null() : json_boolean(o->config.crc));
    record_set(record, "events", json_boolean(o->events));
    record_set(record, "check", json_boolean(s->check));
    record_set_count(record, "inbound_reads", at.ird);
    record_set_count(record, "outbound_reads", at.ord);
    if (o->interval > 0)
        record_set(record, "interval", json_real(o->interval));
    record_set(record, "results", json_array());
}

void record_interval(const struct session *s, const struct interval *i)
{
    json_t *row = json_object();
    const struct rate ends[2] = { i->client, i->has_server ? i->server : (struct rate){ 0 } };

    if (!series)
        series = json_array();
    record_set(row, "from", json_real(i->from));
    record_set(row, "to", json_real(i->to));
    record_set_rates(s, row, i->size, ends, i->has_server, false);
    if (s->options->latency)
        record_set(row, "latency_us", record_latency(&i->times));
    (void)json_array_append_new(series, row);
}

void record_result(const struct session *s, const struct result *r)
{
    json_t *row = json_object();
    const struct rate ends[2] = { r->client, r->has_server ? r->server : (struct rate){ 0 } };
    uint64_t messages = ends[0].messages + ends[1].messages;

    record_set_count(row, "size", r->size);
    record_set_rates(s, row, r->size, ends, r->has_server, true);
    record_set(row, "client_cpu_us_per_message", record_cpu(r->client_cpu_us, messages));
    record_set(row, "server_cpu_us_per_message", r->has_server ? record_cpu(r->server_cpu_us, messages) : json_null());
    if (s->options->latency)
        record_set(row, "latency_us", record_latency(&r->times));
    if (s->options->histogram)
        record_set(row, "histogram_ns", record_histogram(&r->times));
    if (series)
        record_set(row, "series", series);
    series = NULL;
    (void)json_array_append_new(json_object_get(record, "results"), row);
}

void record_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us)
{
    json_t *row = json_object();

    record_open(s);
    if (!json_object_get(record, "results"))
        record_set(record, "results", json_array());
    record_set_text(row, "test", options_test_name((enum test)s->run.test));
    record_set_count(row, "size", s->run.size);
    record_set_count(row, "messages", received);
    if (s->both)
        record_set_count(row, "own_messages", sent);
    record_set(row, "server_cpu_us_per_message", record_cpu(cpu_us, received + sent));
    (void)json_array_append_new(json_object_get(record, "results"), row);
}

/* ---- the end ---- */

static json_t *record_failure(const struct failure *f)
{
    json_t *object;

    if (!f->text[0])
        return json_null();
    object = json_object();
    record_set_text(object, "phase", failure_phase_name(f->phase));
    record_set_text(object, "step", f->step);
    record_set_text(object, "status", f->has_status ? ondk_status_name(f->status) : NULL);
    record_set_text(object, "reason", consumer_reason_is_openndk(f->reason) ? ondk_reason_name(f->reason) : NULL);
    if (f->reason)
        record_set_count(object, "reason_code", f->reason);
    record_set_text(object, "text", f->text);
    record_set_text(object, "advice", failure_advice(f));
    return object;
}

json_t *record_end(const struct session *s)
{
    json_t *done;

    record_open(s);
    if (series)
        json_decref(series);
    series = NULL;
    if (!json_object_get(record, "results"))
        record_set(record, "results", json_array());
    record_set(record, "failure", record_failure(&s->failure));
    record_set(record, "interrupted", json_boolean(interrupt_received()));
    record_set_count(record, "exit", s->failed);
    done = record;
    record = NULL;
    return done;
}
