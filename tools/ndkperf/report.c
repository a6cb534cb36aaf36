/* SPDX-License-Identifier: MIT */
/* ndkperf's output: see report.h. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "print.h"

static const double MIB = 1048576, MILLION = 1e6;
static const char line[] = "---------------------------------------------------------------------------------------";

static FILE *json; /* the JSON object in memory, which is printed at the end */
static char *json_text;
static size_t json_size;
static unsigned json_results;

const char *report_refusal(uint32_t code, uint32_t value, uint32_t version)
{
    static char text[240];

    switch (code) {
    case ANSWER_VERSION:
        snprintf(text, sizeof text,
                 "the peer uses version %u of ndkperf's protocol, this end another one: install "
                 "the same release on both",
                 (unsigned)version);
        return text;
    case ANSWER_BUSY:
        return "the server serves another client";
    case ANSWER_SESSION:
        return "the server has no such session";
    case ANSWER_QPS:
        snprintf(text, sizeof text, "the queue pairs exceed the server's adapter (limit %u)", (unsigned)value);
        return text;
    case ANSWER_TRANSFER:
    case ANSWER_MEMORY:
        snprintf(text, sizeof text,
                 "the server's adapter transfers messages of at most %u bytes: use a smaller --size or --limit",
                 (unsigned)value);
        return text;
    case ANSWER_TOTAL:
        snprintf(text, sizeof text,
                 "these queue pairs and messages need more memory than the server's limit of %u MiB: use a smaller "
                 "--size, --limit, --qp or --window, or a larger --memory at the server",
                 (unsigned)value);
        return text;
    default:
        snprintf(text, sizeof text, "the reason is unknown to this version (%u)", (unsigned)code);
        return text;
    }
}

static const char *report_title(const struct session *s)
{
    static const char *const names[] = { [TEST_SEND] = "Send",
                                         [TEST_WRITE] = "RDMA_Write",
                                         [TEST_READ] = "RDMA_Read",
                                         [TEST_MIXED] = "rperf (Send, RDMA_Write, RDMA_Read in turn)" };

    return names[s->options->test];
}

static double report_per_message(uint64_t us, uint64_t messages)
{
    return messages ? (double)us / (double)messages : 0;
}

static void report_server_cpu(const struct result *r, const char *unknown, int decimals, char *text, size_t size)
{
    if (r->has_server_cpu)
        snprintf(text, size, "%.*f", decimals, report_per_message(r->server_cpu_us, r->messages));
    else
        snprintf(text, size, "%s", unknown);
}

static double report_rate(const struct result *r)
{
    return r->seconds > 0 ? (double)r->messages / r->seconds : 0;
}

/* The first lane's connection. */
struct connection {
    char local[128], peer[128];
    ULONG ird, ord;
};

static void report_describe(const struct session *s, struct connection *at)
{
    NDK_CONNECTOR *k = s->lanes[0].c.connector;
    struct sockaddr_storage a;
    ULONG len = sizeof a;

    memset(at, 0, sizeof *at);
    if (NT_SUCCESS(k->Dispatch->NdkGetLocalAddress(k, (PSOCKADDR)&a, &len)))
        address_text(&a, at->local, sizeof at->local);
    address_text(&s->options->server_address, at->peer, sizeof at->peer);
    (void)k->Dispatch->NdkGetConnectionData(k, &at->ird, &at->ord, NULL, NULL);
}

/* ---- columns ---- */

static void report_head(const struct session *s)
{
    const struct options *o = s->options;
    struct connection at;

    report_describe(s, &at);
    print_line("%s", line);
    print_line("                    %s %s Test", report_title(s), o->latency ? "Latency" : "BW");
    print_line(" Queue pairs     : %-6u Window : %u%s", (unsigned)s->qps, (unsigned)s->window,
               s->window < o->window ? " (limited by the adapters)" : "");
    print_line(" Inline          : %-6u Burst  : %u", (unsigned)s->inline_size, (unsigned)o->burst);
    print_line(" CRC             : %-6s Waiting: %s", o->config.crc ? "on" : "off", o->events ? "events" : "polling");
    print_line(" Read limits     : inbound %u, outbound %u", (unsigned)at.ird, (unsigned)at.ord);
    print_line(" Data            : %s", s->check ? "checked" : "not checked");
    print_line(" Local address   : %s", at.local);
    print_line(" Remote address  : %s", at.peer);
    print_line("%s", line);
    if (o->format == FORMAT_WINOF)
        print_line(o->latency ? " #qp #bytes #iterations    Latency [usec]    CPU Util."
                              : " #qp #bytes #iterations    MR [Mmps]     Gb/s     CPU Util.");
    else
        print_line("%s CPU client[us/msg]  CPU server[us/msg]",
                   o->latency ? " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
                                "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
                              : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps] ");
}

static void report_perftest(const struct session *s, const struct result *r)
{
    const struct times *t = &r->times;
    double client = report_per_message(r->client_cpu_us, r->messages);
    char server[24];

    report_server_cpu(r, "-", 3, server, sizeof server);
    if (s->options->latency)
        print_line(" %-7u %-10llu      %-7.2f        %-7.2f      %-7.2f            %-7.2f        %-7.2f         %-7.2f"
                   "                %-7.2f                 %-7.3f             %s",
                   (unsigned)r->size, (unsigned long long)r->messages, times_quantile(t, 0), times_quantile(t, 1),
                   times_quantile(t, 0.5), times_mean(t), times_deviation(t), times_quantile(t, 0.99),
                   times_quantile(t, 0.999), client, server);
    else
        print_line(" %-7u    %-10llu     %-7.2f            %-7.2f              %-7.6f      %-7.3f             %s",
                   (unsigned)r->size, (unsigned long long)r->messages, r->peak / MIB, report_rate(r) * r->size / MIB,
                   report_rate(r) / MILLION, client, server);
}

static void report_winof(const struct session *s, const struct result *r)
{
    double utilization = r->seconds > 0 ? (double)r->client_cpu_us / MILLION / r->seconds * 100 : 0;

    if (s->options->latency)
        print_line(" %-3u %-9u %-14llu %-14.2f %.2f", (unsigned)s->qps, (unsigned)r->size,
                   (unsigned long long)r->messages, times_quantile(&r->times, 0.5), utilization);
    else
        print_line(" %-3u %-9u %-14llu %-12.3f %-10.2f %.2f", (unsigned)s->qps, (unsigned)r->size,
                   (unsigned long long)r->messages, report_rate(r) / MILLION, report_rate(r) * r->size * 8 / 1e9,
                   utilization);
}

/* Prints a line for each power of two that has entries. */
static void report_histogram(const struct times *t)
{
    uint64_t counts[64] = { 0 }, from, to;

    for (unsigned i = 0; i < TIMES_CLASSES; i++)
        if (t->classes[i]) {
            times_class(i, &from, &to);
            counts[from ? 63 - __builtin_clzll(from) : 0] += t->classes[i];
        }
    for (unsigned i = 0; i < 64; i++)
        if (counts[i])
            print_line("   %12.3f to %12.3f usec %12llu  %6.2f %%", (double)((uint64_t)1 << i) / 1000,
                       (double)((uint64_t)1 << i) / 500, (unsigned long long)counts[i],
                       100 * (double)counts[i] / (double)t->count);
}

/* ---- JSON ---- */

static const char *json_bool(bool value)
{
    return value ? "true" : "false";
}

static void json_open(const struct session *s)
{
    if (!json)
        json = open_memstream(&json_text, &json_size);
    if (json)
        fprintf(json, "{\"tool\": \"ndkperf\", \"protocol\": %u, \"role\": \"%s\"", WIRE_VERSION,
                s->options->server ? "server" : "client");
}

static void json_begin(const struct session *s)
{
    const struct options *o = s->options;
    struct connection at;

    json_open(s);
    if (!json)
        return;
    report_describe(s, &at);
    fprintf(json,
            ", \"test\": \"%s\", \"mode\": \"%s\", \"local\": \"%s\", \"server\": \"%s\", \"qps\": %u, "
            "\"window\": %u, \"burst\": %u, \"inline\": %u, \"crc\": %s, \"events\": %s, \"check\": %s, "
            "\"inbound_reads\": %u, \"outbound_reads\": %u",
            options_test_name(o->test), o->latency ? "latency" : "bandwidth", at.local, at.peer, (unsigned)s->qps,
            (unsigned)s->window, (unsigned)o->burst, (unsigned)s->inline_size, json_bool(o->config.crc),
            json_bool(o->events), json_bool(s->check), (unsigned)at.ird, (unsigned)at.ord);
}

static void json_histogram(const struct times *t)
{
    const char *comma = "";
    uint64_t from, to;

    fprintf(json, ", \"histogram_ns\": [");
    for (unsigned i = 0; i < TIMES_CLASSES; i++)
        if (t->classes[i]) {
            times_class(i, &from, &to);
            fprintf(json, "%s[%llu, %llu, %llu]", comma, (unsigned long long)from, (unsigned long long)to,
                    (unsigned long long)t->classes[i]);
            comma = ", ";
        }
    fprintf(json, "]");
}

static void json_result(const struct session *s, const struct result *r)
{
    const struct times *t = &r->times;
    char server[24];

    if (!json)
        return;
    report_server_cpu(r, "null", 4, server, sizeof server);
    fprintf(json,
            "%s{\"size\": %u, \"messages\": %llu, \"seconds\": %.6f, \"messages_per_second\": %.1f, "
            "\"bytes_per_second\": %.1f, \"peak_bytes_per_second\": %.1f, \"client_cpu_us_per_message\": %.4f, "
            "\"server_cpu_us_per_message\": %s",
            json_results++ ? ", " : ", \"results\": [", (unsigned)r->size, (unsigned long long)r->messages, r->seconds,
            report_rate(r), report_rate(r) * r->size, r->peak, report_per_message(r->client_cpu_us, r->messages),
            server);
    if (s->options->latency) {
        fprintf(json,
                ", \"latency_us\": {\"min\": %.3f, \"median\": %.3f, \"avg\": %.3f, \"stdev\": %.3f, "
                "\"p99\": %.3f, \"p99.9\": %.3f, \"max\": %.3f}",
                times_quantile(t, 0), times_quantile(t, 0.5), times_mean(t), times_deviation(t),
                times_quantile(t, 0.99), times_quantile(t, 0.999), times_quantile(t, 1));
        if (s->options->histogram)
            json_histogram(t);
    }
    fprintf(json, "}");
}

static void json_end(const struct session *s)
{
    if (!json)
        json_open(s);
    if (!json)
        return;
    fprintf(json, "%s, \"interrupted\": %s, \"exit\": %d}", json_results ? "]" : ", \"results\": []",
            json_bool(session_interrupted), (int)s->failed);
    fclose(json);
    print_set_stream(stdout);
    print_line("%s", json_text);
    free(json_text);
    json = NULL;
}

/* ---- all formats ---- */

void report_begin(const struct session *s)
{
    if (s->options->format == FORMAT_JSON)
        json_begin(s);
    else
        report_head(s);
}

void report_result(const struct session *s, const struct result *r)
{
    switch (s->options->format) {
    case FORMAT_JSON:
        json_result(s, r);
        return;
    case FORMAT_WINOF:
        report_winof(s, r);
        break;
    case FORMAT_PERFTEST:
        report_perftest(s, r);
        break;
    }
    if (s->options->histogram)
        report_histogram(&r->times);
}

void report_end(const struct session *s)
{
    if (s->options->format == FORMAT_JSON)
        json_end(s);
    else if (s->lane_count && !s->options->server)
        print_line("%s", line);
}

void report_server(const struct session *s, uint64_t messages, uint64_t cpu_us)
{
    if (s->options->format != FORMAT_JSON) {
        print_line("%s of %u bytes: %llu messages, %.3f us of CPU time each", options_test_name(s->run.test),
                   (unsigned)s->run.size, (unsigned long long)messages, report_per_message(cpu_us, messages));
        return;
    }
    if (!json)
        json_open(s);
    if (json)
        fprintf(json, "%s{\"test\": \"%s\", \"size\": %u, \"messages\": %llu, \"server_cpu_us_per_message\": %.4f}",
                json_results++ ? ", " : ", \"results\": [", options_test_name(s->run.test), (unsigned)s->run.size,
                (unsigned long long)messages, report_per_message(cpu_us, messages));
}

static bool report_is_live(const struct session *s, bool *terminal)
{
    *terminal = isatty(STDERR_FILENO);
    return *terminal || s->options->live;
}

void report_live(const struct session *s, uint32_t size, uint64_t messages, double seconds, const struct times *times)
{
    bool terminal;

    if (!report_is_live(s, &terminal))
        return;
    fprintf(stderr, "%s%u bytes, %.1f s: ", terminal ? "\r\033[K" : "", (unsigned)size, seconds);
    if (times)
        fprintf(stderr, "%llu messages, median %.2f us, 99 %% %.2f us", (unsigned long long)times->count,
                times_quantile(times, 0.5), times_quantile(times, 0.99));
    else
        fprintf(stderr, "%.0f MB/s, %.3f Mmps", (double)messages * size / MIB / seconds,
                (double)messages / seconds / MILLION);
    fputs(terminal ? "" : "\n", stderr);
    fflush(stderr);
}

void report_live_end(const struct session *s)
{
    bool terminal;

    if (report_is_live(s, &terminal) && terminal)
        fputs("\r\033[K", stderr);
}
