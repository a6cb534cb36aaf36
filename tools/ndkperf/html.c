/* SPDX-License-Identifier: MIT */
/* Writes --html: see html.h. All tables and plots are made from the record, so a saved run gives the same page. */
#include "html.h"

#include <stdlib.h>
#include <string.h>

#include "html_text.h"
#include "plot.h"

static const double MIB = 1048576;

static const char style[] =
    ":root { color-scheme: light dark; --line: #c8c8c8; --c0: #c2410c; --c1: #1d6fb8; --c2: #15803d; --c3: #7c3aed;\n"
    "  --c4: #be185d; --c5: #0e7490; --c6: #a16207; --c7: #525252; --bad: #b91c1c; --good: #15803d }\n"
    "@media (prefers-color-scheme: dark) { :root { --line: #505050; --c0: #fb923c; --c1: #60a5fa; --c2: #4ade80;\n"
    "  --c3: #c4b5fd; --c4: #f9a8d4; --c5: #67e8f9; --c6: #fde047; --c7: #b4b4b4; --bad: #f87171; --good: #4ade80 } }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }\n"
    "table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }\n"
    "td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }\n"
    "table.facts th, table.facts td { text-align: left } .wide { overflow-x: auto }\n"
    "svg { width: 100%; max-width: 800px; height: auto } svg text { fill: currentColor; font-size: 12px }\n"
    ".grid { stroke: var(--line); stroke-width: 1 } path { fill: none; stroke-width: 2 }\n"
    ".c0 { --c: var(--c0) } .c1 { --c: var(--c1) } .c2 { --c: var(--c2) } .c3 { --c: var(--c3) }\n"
    ".c4 { --c: var(--c4) } .c5 { --c: var(--c5) } .c6 { --c: var(--c6) } .c7 { --c: var(--c7) }\n"
    "path { stroke: var(--c) } circle { fill: var(--c) }\n"
    ".dashed { stroke-dasharray: 5 4 } .bad { color: var(--bad) } .good { color: var(--good) }\n";

/* ---- values of the record ---- */

static const char *html_string(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static double html_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static bool html_is_latency(const json_t *record)
{
    return strcmp(html_string(record, "mode"), "latency") == 0;
}

/* ---- tables ---- */

static void html_fact(FILE *out, const char *name, const json_t *value)
{
    if (!value || json_is_array(value) || json_is_object(value) || json_is_null(value))
        return;
    fprintf(out, "<tr><th>");
    html_text_write(out, name);
    fprintf(out, "</th><td>");
    if (json_is_string(value))
        html_text_write(out, json_string_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
    else
        fprintf(out, "%.12g", json_number_value(value));
    fputs("</td></tr>\n", out);
}

static void html_facts(FILE *out, const json_t *record)
{
    const char *name;
    json_t *value;

    fputs("<table class=\"facts\">\n", out);
    json_object_foreach((json_t *)record, name, value) html_fact(out, name, value);
    fputs("</table>\n", out);
}

static void html_failure(FILE *out, const json_t *record)
{
    const json_t *failure = json_object_get(record, "failure");

    if (json_is_true(json_object_get(record, "interrupted")))
        fputs("<p class=\"bad\">The run was interrupted.</p>\n", out);
    if (!json_is_object(failure))
        return;
    fputs("<p class=\"bad\">The run failed: ", out);
    html_text_write(out, html_string(failure, "text"));
    fputs(".</p>\n<p>", out);
    html_text_write(out, html_string(failure, "advice"));
    fputs("</p>\n", out);
}

static void html_cell(FILE *out, const json_t *object, const char *name, double unit, int decimals)
{
    const json_t *value = json_object_get(object, name);

    if (json_is_number(value))
        fprintf(out, "<td>%.*f</td>", decimals, json_number_value(value) / unit);
    else
        fputs("<td>-</td>", out);
}

static void html_bandwidth_row(FILE *out, const json_t *result, const json_t *part, const char *requests_of)
{
    fprintf(out, "<tr><td>%.0f</td><td>%s</td>", html_number(result, "size"), requests_of);
    html_cell(out, part, "messages", 1, 0);
    html_cell(out, part, "bytes_per_second", MIB, 2);
    html_cell(out, part, "peak_bytes_per_second", MIB, 2);
    html_cell(out, part, "messages_per_second", 1e6, 6);
    html_cell(out, part, "client_cpu_us_per_message", 1, 3);
    html_cell(out, part, "server_cpu_us_per_message", 1, 3);
    fputs("</tr>\n", out);
}

static void html_bandwidths(FILE *out, const json_t *record)
{
    const json_t *result;
    size_t i;

    fputs("<tr><th>bytes</th><th>requests of</th><th>messages</th><th>MB/s</th><th>best MB/s</th>"
          "<th>million messages/s</th><th>client CPU, us/message</th><th>server CPU, us/message</th></tr>\n",
          out);
    json_array_foreach(json_object_get(record, "results"), i, result)
    {
        const json_t *client = json_object_get(result, "client"), *server = json_object_get(result, "server");
        if (client)
            html_bandwidth_row(out, result, client, "client");
        if (json_is_object(server))
            html_bandwidth_row(out, result, server, "server");
        html_bandwidth_row(out, result, result, client ? "both" : "client");
    }
}

static void html_latencies(FILE *out, const json_t *record)
{
    static const char *const names[] = { "min", "median", "avg", "stdev", "p99", "p99.9", "max" };
    const json_t *result;
    size_t i;

    fputs("<tr><th>bytes</th><th>messages</th>", out);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        fprintf(out, "<th>%s, us</th>", names[k]);
    fputs("</tr>\n", out);
    json_array_foreach(json_object_get(record, "results"), i, result)
    {
        fprintf(out, "<tr><td>%.0f</td>", html_number(result, "size"));
        html_cell(out, result, "messages", 1, 0);
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            html_cell(out, json_object_get(result, "latency_us"), names[k], 1, 2);
        fputs("</tr>\n", out);
    }
}

/* ---- curves of one run, or of two runs in the same plot ---- */

struct html_runs {
    const struct html_run *runs;
    size_t count;
};

/* A number that is plotted as a curve: row[name] or, if `part` is not NULL, row[part][name]. */
struct html_member {
    const char *label, *part, *name;
    double unit;
    bool dashed;
};

static void html_add_member(struct plot *p, const struct html_run *run, const struct html_member *m, const json_t *rows,
                            const char *x_name)
{
    struct plot_curve *curve;
    const json_t *row;
    char label[96];
    size_t i;

    snprintf(label, sizeof label, "%s%s%s", run->name, *run->name ? " " : "", m->label);
    curve = plot_add_curve(p, label, m->dashed);
    json_array_foreach(rows, i, row)
    {
        const json_t *part = m->part ? json_object_get(row, m->part) : row;
        const json_t *value = json_object_get(part, m->name);
        if (json_is_number(value))
            plot_add_point(p, curve, html_number(row, x_name), json_number_value(value) / m->unit);
    }
}

enum { MAX_MEMBERS = 4 };
static const struct html_member latency_members[MAX_MEMBERS] = {
    { "median", "latency_us", "median", 1, false },
    { "99 %", "latency_us", "p99", 1, true },
    { "99.9 %", "latency_us", "p99.9", 1, true },
    { "max", "latency_us", "max", 1, false },
};
static const struct html_member both_members[MAX_MEMBERS] = {
    { "both", NULL, "bytes_per_second", 1048576, false },
    { "client", "client", "bytes_per_second", 1048576, true },
    { "server", "server", "bytes_per_second", 1048576, true },
    { NULL, NULL, NULL, 0, false },
};
static const struct html_member client_members[MAX_MEMBERS] = {
    { "mean", NULL, "bytes_per_second", 1048576, false },
    { "best 0.1 s", NULL, "peak_bytes_per_second", 1048576, true },
    { NULL, NULL, NULL, 0, false },
};
static const struct html_member rate_members[MAX_MEMBERS] = {
    { "mean", NULL, "messages_per_second", 1e6, false },
    { NULL, NULL, NULL, 0, false },
};

static const struct html_member *html_members(const json_t *record)
{
    if (html_is_latency(record))
        return latency_members;
    return json_is_true(json_object_get(record, "bidirectional")) ? both_members : client_members;
}

static void html_plot_sizes(FILE *out, const struct html_runs *h, const char *title, const char *y_label,
                            const struct html_member *members)
{
    struct plot p = { .x_label = "message size, bytes", .y_label = y_label, .x_log = true, .y_log = true };

    p.x_binary = true;
    snprintf(p.title, sizeof p.title, "%s by message size", title);
    for (size_t r = 0; r < h->count; r++)
        for (size_t i = 0; i < MAX_MEMBERS && (members ? members : html_members(h->runs[r].record))[i].label; i++)
            html_add_member(&p, &h->runs[r], &(members ? members : html_members(h->runs[r].record))[i],
                            json_object_get(h->runs[r].record, "results"), "size");
    plot_write(out, &p);
}

static const json_t *html_result_of(const json_t *record, double size)
{
    const json_t *result;
    size_t i;

    json_array_foreach(json_object_get(record, "results"), i,
                       result) if (html_number(result, "size") == size) return result;
    return NULL;
}

/* Plots what was measured in each time interval with one message size. Each run has its own curves. */
static void html_plot_series(FILE *out, const struct html_runs *h, double size)
{
    bool latency = html_is_latency(h->runs[0].record);
    struct plot p = { .x_label = "end of the interval, seconds", .y_log = latency };

    p.y_label = latency ? "microseconds" : "MB/s";
    snprintf(p.title, sizeof p.title, "%s over time, %.0f bytes", latency ? "Latency" : "Bandwidth", size);
    for (size_t r = 0; r < h->count; r++) {
        const json_t *series = json_object_get(html_result_of(h->runs[r].record, size), "series");
        const struct html_member *m = html_members(h->runs[r].record);
        for (size_t i = 0; series && i < MAX_MEMBERS && m[i].label; i++)
            if (strcmp(m[i].name, "peak_bytes_per_second") != 0)
                html_add_member(&p, &h->runs[r], &m[i], series, "to");
    }
    plot_write(out, &p);
}

/*
 * Plots the distribution of the latency: for each time, the percentage of messages that took no longer than this time.
 */
static void html_plot_distribution(FILE *out, const struct html_runs *h, double size)
{
    struct plot p = { .x_label = "microseconds", .y_label = "% of the messages", .x_log = true };

    snprintf(p.title, sizeof p.title, "Distribution of the latency, %.0f bytes", size);
    for (size_t r = 0; r < h->count; r++) {
        const json_t *result = html_result_of(h->runs[r].record, size), *row;
        const json_t *histogram = json_object_get(result, "histogram_ns");
        struct plot_curve *curve = histogram ? plot_add_curve(&p, *h->runs[r].name ? h->runs[r].name : "latency", false)
                                             : NULL;
        double seen = 0, all = html_number(result, "messages");
        size_t i;
        json_array_foreach(histogram, i, row)
        {
            seen += json_number_value(json_array_get(row, 2));
            plot_add_point(&p, curve, json_number_value(json_array_get(row, 1)) / 1000, all > 0 ? 100 * seen / all : 0);
        }
    }
    plot_write(out, &p);
}

static void html_plots(FILE *out, const struct html_runs *h)
{
    const json_t *record = h->runs[0].record, *result;
    size_t i;

    if (html_is_latency(record)) {
        html_plot_sizes(out, h, "Latency", "microseconds", NULL);
    } else {
        html_plot_sizes(out, h, "Bandwidth", "MB/s", NULL);
        html_plot_sizes(out, h, "Message rate", "million messages per second", rate_members);
    }
    json_array_foreach(json_object_get(record, "results"), i, result)
    {
        html_plot_series(out, h, html_number(result, "size"));
        html_plot_distribution(out, h, html_number(result, "size"));
    }
}

/* ---- pages ---- */

static void html_begin(FILE *out, const char *title)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"/><title>");
    html_text_write(out, title);
    fprintf(out,
            "</title>\n<meta name=\"viewport\" content=\"width=device-width\"/>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<h1>",
            style);
    html_text_write(out, title);
    fputs("</h1>\n", out);
}

/* Writes the record itself into the page, for other programs. Characters with a meaning in XML become JSON escapes. */
static void html_data(FILE *out, const json_t *record)
{
    char *text = json_dumps(record, JSON_REAL_PRECISION(12));

    fputs("<script type=\"application/json\" class=\"ndkperf\">", out);
    for (const char *at = text ? text : "null"; *at; at++)
        if (*at == '<' || *at == '>' || *at == '&')
            fprintf(out, "\\u%04x", (unsigned)*at);
        else
            fputc(*at, out);
    fputs("</script>\n", out);
    free(text);
}

void html_run(FILE *out, const json_t *record)
{
    const struct html_run run = { "", record };
    const struct html_runs h = { &run, 1 };
    char title[128];

    snprintf(title, sizeof title, "ndkperf: %s, %s", html_string(record, "test"), html_string(record, "mode"));
    html_begin(out, title);
    html_failure(out, record);
    fputs("<div class=\"wide\"><table>\n", out);
    if (html_is_latency(record))
        html_latencies(out, record);
    else
        html_bandwidths(out, record);
    fputs("</table></div>\n", out);
    html_plots(out, &h);
    fputs("<h2>What was measured</h2>\n", out);
    html_facts(out, record);
    html_data(out, record);
    fputs("</body>\n</html>\n", out);
}

void html_compare(FILE *out, const struct html_run runs[2], void (*table)(FILE *out, void *context), void *context)
{
    const struct html_runs h = { runs, 2 };

    html_begin(out, "ndkperf: two runs");
    table(out, context);
    html_plots(out, &h);
    for (size_t i = 0; i < 2; i++) {
        fputs("<h2>", out);
        html_text_write(out, runs[i].name);
        fputs("</h2>\n", out);
        html_failure(out, runs[i].record);
        html_facts(out, runs[i].record);
        html_data(out, runs[i].record);
    }
    fputs("</body>\n</html>\n", out);
}
