/* SPDX-License-Identifier: MIT */
/* Writes --csv: see csv.h. No cell needs quotes, because all cells are numbers or constant names. */
#include "csv.h"

void csv_begin(FILE *out)
{
    fputs("row,test,mode,qps,window,size,requests_of,from_seconds,to_seconds,messages,messages_per_second,"
          "bytes_per_second,peak_bytes_per_second,client_cpu_us_per_message,server_cpu_us_per_message,latency_min_us,"
          "latency_median_us,latency_avg_us,latency_stdev_us,latency_p99_us,latency_p99.9_us,latency_max_us\n",
          out);
}

static void csv_key(FILE *out, const struct session *s, const char *row, uint32_t size, const char *requests_of)
{
    fprintf(out, "%s,%s,%s,%u,%u,%u,%s,", row, options_test_name(s->options->test),
            s->options->latency ? "latency" : "bandwidth", (unsigned)s->qps, (unsigned)s->window, (unsigned)size,
            requests_of);
}

static void csv_rate(FILE *out, double from, double to, uint64_t messages, double per_second, uint32_t size)
{
    fprintf(out, "%.6f,%.6f,%llu,%.3f,%.1f,", from, to, (unsigned long long)messages, per_second, per_second * size);
}

static void csv_latency(FILE *out, const struct session *s, const struct times *t)
{
    if (!s->options->latency)
        fputs(",,,,,,\n", out);
    else
        fprintf(out, "%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", times_quantile(t, 0), times_quantile(t, 0.5),
                times_mean(t), times_deviation(t), times_quantile(t, 0.99), times_quantile(t, 0.999),
                times_quantile(t, 1));
}

static void csv_interval_row(FILE *out, const struct session *s, const struct interval *i, const char *requests_of,
                             uint64_t messages, double per_second)
{
    csv_key(out, s, "interval", i->size, requests_of);
    csv_rate(out, i->from, i->to, messages, per_second, i->size);
    fputs(",,,", out);
    csv_latency(out, s, &i->times);
}

void csv_interval(FILE *out, const struct session *s, const struct interval *i)
{
    csv_interval_row(out, s, i, "client", i->client.messages, rate_messages(&i->client));
    if (!s->both || !i->has_server)
        return;
    csv_interval_row(out, s, i, "server", i->server.messages, rate_messages(&i->server));
    csv_interval_row(out, s, i, "both", i->client.messages + i->server.messages,
                     rate_messages(&i->client) + rate_messages(&i->server));
}

/*
 * Writes the CPU time of each end, divided by the number of messages of both ends. With --bidirectional, only the row
 * `both` contains these times.
 */
static void csv_cpu(FILE *out, const struct result *r)
{
    double messages = (double)(r->client.messages + r->server.messages);

    fprintf(out, "%.4f,", messages > 0 ? (double)r->client_cpu_us / messages : 0);
    if (r->has_server)
        fprintf(out, "%.4f", messages > 0 ? (double)r->server_cpu_us / messages : 0);
    fputc(',', out);
}

static void csv_end(FILE *out, const struct session *s, const struct result *r, const struct rate *end,
                    const char *requests_of)
{
    csv_key(out, s, "result", r->size, requests_of);
    csv_rate(out, 0, end->seconds, end->messages, rate_messages(end), r->size);
    fprintf(out, "%.1f,", end->peak * r->size);
}

void csv_result(FILE *out, const struct session *s, const struct result *r)
{
    csv_end(out, s, r, &r->client, "client");
    if (s->both)
        fputs(",,", out);
    else
        csv_cpu(out, r);
    csv_latency(out, s, &r->times);
    if (!s->both || !r->has_server)
        return;
    csv_end(out, s, r, &r->server, "server");
    fputs(",,", out);
    csv_latency(out, s, &r->times);
    csv_key(out, s, "result", r->size, "both");
    csv_rate(out, 0, r->client.seconds, r->client.messages + r->server.messages,
             rate_messages(&r->client) + rate_messages(&r->server), r->size);
    fputc(',', out);
    csv_cpu(out, r);
    csv_latency(out, s, &r->times);
}
