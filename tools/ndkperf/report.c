/* SPDX-License-Identifier: MIT */
/* Prints ndkperf's output: see report.h. The columns are the same as in perftest and WinOF. */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv.h"
#include "html.h"
#include "print.h"
#include "provider_options.h"
#include "record.h"
#include "terminal.h"

static const double MIB = 1048576, MILLION = 1e6;
static const char line[] = "---------------------------------------------------------------------------------------";

const char *report_refusal(const struct session *s, uint32_t code, uint32_t value, uint32_t version)
{
    static char text[240];

    switch (code) {
    case ANSWER_VERSION:
        snprintf(text, sizeof text,
                 "the peer uses version %u of ndkperf's protocol, this end version %u: install the same release of "
                 "OpenNDK on both",
                 (unsigned)version, (unsigned)s->options->version);
        return text;
    case ANSWER_BUSY:
        return "the server serves another client";
    case ANSWER_SESSION:
        return "the server has no such session";
    case ANSWER_QPS:
        snprintf(text, sizeof text, "the queue pairs exceed the server's adapter (limit %u)", (unsigned)value);
        return text;
    case ANSWER_TRANSFER:
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

/* ---- files ---- */

/* An output file of --json, --csv or --html. */
struct output {
    const char *name;
    FILE *f; /* NULL: the option was not given */
};
static struct output json_output, csv_output, html_output;

static bool output_open(struct output *o, const char *name)
{
    if (!name)
        return true;
    o->f = strcmp(name, "-") == 0 ? stdout : fopen(name, "we");
    o->name = o->f == stdout ? "standard output" : name;
    if (!o->f)
        fprintf(stderr, "ndkperf: %s: %s\n", name, strerror(errno));
    return o->f != NULL;
}

static void output_close(struct output *o)
{
    if (o->f)
        print_flush(o->f, o->name);
    if (o->f && o->f != stdout)
        (void)fclose(o->f);
    o->f = NULL;
}

bool report_open(const struct options *o)
{
    if (!output_open(&json_output, o->json) || !output_open(&csv_output, o->csv) || !output_open(&html_output, o->html))
        return false;
    if (csv_output.f)
        csv_begin(csv_output.f);
    return true;
}

/* ---- columns ---- */

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

static void report_head(const struct session *s)
{
    const struct options *o = s->options;
    struct connection at;

    record_describe(s, &at);
    print_line("%s", line);
    print_line("                    %s %s%s Test", report_title(s), s->both ? "Bidirectional " : "",
               o->latency ? "Latency" : "BW");
    print_line(" Queue pairs     : %-6u Window : %u%s", (unsigned)s->qps, (unsigned)s->window,
               s->window < o->window ? " (limited by the adapters)" : "");
    print_line(" Inline          : %-6u Burst  : %u", (unsigned)s->inline_size, (unsigned)o->burst);
    if (o->config.crc == PROVIDER_NOT_GIVEN)
        print_line(" Waiting         : %s", o->events ? "events" : "polling");
    else
        print_line(" CRC             : %-6s Waiting: %s", o->config.crc ? "on" : "off",
                   o->events ? "events" : "polling");
    print_line(" Read limits     : inbound %u, outbound %u", (unsigned)at.ird, (unsigned)at.ord);
    print_line(" Data            : %s", s->check ? "checked" : "not checked");
    print_line(" Local address   : %s", at.local);
    print_line(" Remote address  : %s", at.peer);
    print_line("%s", line);
    if (o->format == FORMAT_WINOF)
        print_line("%s%s",
                   o->latency ? " #qp #bytes #iterations    Latency [usec]    CPU Util."
                              : " #qp #bytes #iterations    MR [Mmps]     Gb/s     CPU Util.",
                   s->both ? "   Requests of" : "");
    else
        print_line("%s CPU client[us/msg]  CPU server[us/msg]%s",
                   o->latency ? " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
                                "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
                              : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps] ",
                   s->both ? "  Requests of" : "");
}

/* The text of a number in a column. It is "-" if the number is not known. */
struct cell {
    char text[24];
};

static struct cell report_cell(bool known, int decimals, double value)
{
    struct cell c = { "-" };

    if (known)
        snprintf(c.text, sizeof c.text, "%.*f", decimals, value);
    return c;
}

/*
 * The values of one line about bandwidth. The CPU time of each end is divided by the number of messages of both ends.
 */
struct bandwidth {
    uint64_t messages;
    double per_second, seconds;
    struct cell peak, client_cpu, server_cpu;
    const char *requests_of; /* the end that posts the requests; "" if only the client posts requests */
};

static void report_bandwidth(const struct session *s, const struct result *r, const struct bandwidth *b)
{
    double utilization = r->client.seconds > 0 ? (double)r->client_cpu_us / MILLION / r->client.seconds * 100 : 0;

    if (s->options->format == FORMAT_WINOF)
        print_line(" %-3u %-9u %-14llu %-12.3f %-10.2f %.2f%s%s", (unsigned)s->qps, (unsigned)r->size,
                   (unsigned long long)b->messages, b->per_second / MILLION, b->per_second * r->size * 8 / 1e9,
                   utilization, *b->requests_of ? "      " : "", b->requests_of);
    else
        print_line(" %-7u    %-10llu     %-7s            %-7.2f              %-7.6f      %-7s             %s%s%s",
                   (unsigned)r->size, (unsigned long long)b->messages, b->peak.text, b->per_second * r->size / MIB,
                   b->per_second / MILLION, b->client_cpu.text, b->server_cpu.text,
                   *b->requests_of ? "              " : "", b->requests_of);
}

static struct bandwidth report_end_bandwidth(const struct result *r, const struct rate *end, const char *requests_of)
{
    return (struct bandwidth){ end->messages,
                               rate_messages(end),
                               end->seconds,
                               report_cell(true, 2, end->peak * r->size / MIB),
                               report_cell(false, 3, 0),
                               report_cell(false, 3, 0),
                               requests_of };
}

/*
 * Prints a line for the client. With --bidirectional, also prints a line for the server and a line for both ends
 * together.
 */
static void report_bandwidths(const struct session *s, const struct result *r)
{
    uint64_t messages = r->client.messages + r->server.messages;
    struct bandwidth b = report_end_bandwidth(r, &r->client, s->both ? "client" : "");

    if (s->both) {
        report_bandwidth(s, r, &b);
        if (!r->has_server)
            return;
        b = report_end_bandwidth(r, &r->server, "server");
        report_bandwidth(s, r, &b);
        b.requests_of = "both";
        b.messages = messages;
        b.per_second += rate_messages(&r->client);
        b.peak = report_cell(false, 0, 0); /* not known, because the ends may have their peaks at different times */
    }
    b.client_cpu = report_cell(true, 3, report_per_message(r->client_cpu_us, messages));
    b.server_cpu = report_cell(r->has_server, 3, report_per_message(r->server_cpu_us, messages));
    report_bandwidth(s, r, &b);
}

static void report_latency(const struct session *s, const struct result *r)
{
    const struct times *t = &r->times;
    double utilization = r->client.seconds > 0 ? (double)r->client_cpu_us / MILLION / r->client.seconds * 100 : 0;
    struct cell server = report_cell(r->has_server, 3, report_per_message(r->server_cpu_us, r->client.messages));

    if (s->options->format == FORMAT_WINOF)
        print_line(" %-3u %-9u %-14llu %-14.2f %.2f", (unsigned)s->qps, (unsigned)r->size,
                   (unsigned long long)r->client.messages, times_quantile(t, 0.5), utilization);
    else
        print_line(" %-7u %-10llu      %-7.2f        %-7.2f      %-7.2f            %-7.2f        %-7.2f         %-7.2f"
                   "                %-7.2f                 %-7.3f             %s",
                   (unsigned)r->size, (unsigned long long)r->client.messages, times_quantile(t, 0),
                   times_quantile(t, 1), times_quantile(t, 0.5), times_mean(t), times_deviation(t),
                   times_quantile(t, 0.99), times_quantile(t, 0.999),
                   report_per_message(r->client_cpu_us, r->client.messages), server.text);
}

static void report_interval_line(const struct session *s, const struct interval *i)
{
    double client = rate_messages(&i->client), server = rate_messages(&i->server);
    struct cell theirs = report_cell(i->has_server, 2, server * i->size / MIB);
    struct cell sum = report_cell(i->has_server, 2, (client + server) * i->size / MIB);

    if (s->options->latency)
        print_line("  %8.3f to %8.3f sec: %llu messages, median %.2f usec, 99%% %.2f usec, max %.2f usec", i->from,
                   i->to, (unsigned long long)i->client.messages, times_quantile(&i->times, 0.5),
                   times_quantile(&i->times, 0.99), times_quantile(&i->times, 1));
    else if (s->both)
        print_line("  %8.3f to %8.3f sec: client %.2f MB/sec, server %s MB/sec, both %s MB/sec", i->from, i->to,
                   client * i->size / MIB, theirs.text, sum.text);
    else
        print_line("  %8.3f to %8.3f sec: %llu messages, %.2f MB/sec, %.6f Mpps", i->from, i->to,
                   (unsigned long long)i->client.messages, client * i->size / MIB, client / MILLION);
}

/* Prints the histogram. Each line counts the durations between two powers of two. Omits lines without durations. */
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

/* ---- all formats ---- */

void report_begin(const struct session *s)
{
    record_begin(s);
    if (s->options->format != FORMAT_NONE)
        report_head(s);
}

void report_interval(const struct session *s, const struct interval *i)
{
    record_interval(s, i);
    progress_clear();
    if (csv_output.f) {
        csv_interval(csv_output.f, s, i);
        print_flush(csv_output.f, csv_output.name);
    }
    if (s->options->format != FORMAT_NONE)
        report_interval_line(s, i);
}

void report_result(const struct session *s, const struct result *r)
{
    record_result(s, r);
    progress_clear();
    if (csv_output.f) {
        csv_result(csv_output.f, s, r);
        print_flush(csv_output.f, csv_output.name);
    }
    if (s->options->format == FORMAT_NONE)
        return;
    if (s->options->latency)
        report_latency(s, r);
    else
        report_bandwidths(s, r);
    if (s->options->histogram)
        report_histogram(&r->times);
}

/*
 * Writes the record for --json. If the file is standard output, prints the record as a line, which is also logged. If
 * out of memory, prints a message and returns false.
 */
static bool report_json(const json_t *record)
{
    char *text = record ? json_dumps(record, JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII) : NULL;

    if (!text) {
        print_error("out of memory: the JSON object is not written");
        return false;
    }
    if (json_output.f == stdout) {
        print_set_stream(stdout);
        print_line("%s", text);
        print_set_stream(stderr);
    } else {
        fprintf(json_output.f, "%s\n", text);
    }
    free(text);
    return true;
}

bool report_end(const struct session *s)
{
    bool text = s->options->format != FORMAT_NONE && s->lane_count && !s->options->server, written = true;
    json_t *record = record_end(s);

    if (text)
        print_line("%s", line);
    if (json_output.f)
        written = report_json(record);
    if (html_output.f && record)
        html_run(html_output.f, record);
    json_decref(record);
    output_close(&json_output);
    output_close(&csv_output);
    output_close(&html_output);
    return written;
}

void report_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us)
{
    record_server(s, received, sent, cpu_us);
    if (s->options->format == FORMAT_NONE)
        return;
    if (s->both)
        print_line("%s of %u bytes: %llu messages of the client, %llu own, %.3f us of CPU time each",
                   options_test_name((enum test)s->run.test), (unsigned)s->run.size, (unsigned long long)received,
                   (unsigned long long)sent, report_per_message(cpu_us, received + sent));
    else
        print_line("%s of %u bytes: %llu messages, %.3f us of CPU time each", options_test_name((enum test)s->run.test),
                   (unsigned)s->run.size, (unsigned long long)received, report_per_message(cpu_us, received));
}

void report_live(const struct session *s, const char *format, ...)
{
    char text[160];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (isatty(STDERR_FILENO))
        progress_show("%s", text);
    else if (s->options->live)
        fprintf(stderr, "%s\n", text);
}
