/* SPDX-License-Identifier: MIT */
/*
 * `ndkperf compare A B`: compares two saved runs (record.h), size by size. A value has changed if it differs by more than
 * the threshold. Bandwidth and typical latencies decide the exit code; CPU times and the longest latencies are noisier
 * and are only shown. The files may come from elsewhere: none of their text reaches a terminal unescaped.
 */
#include "compare.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "html.h"
#include "number.h"
#include "options.h"
#include "print.h"
#include "printable.h"
#include "record.h"

enum { COMPARE_WORSE = 1 };

/* A value that is compared. */
struct measure {
    const char *label, *part, *name; /* part: NULL or the member of the result that has it */
    double unit;
    bool is_rate; /* more is better */
    bool decides; /* the exit code */
};

static const struct measure measures[] = {
    { "MB/sec", NULL, "bytes_per_second", 1048576, true, true },
    { "MB/sec, client", "client", "bytes_per_second", 1048576, true, true },
    { "MB/sec, server", "server", "bytes_per_second", 1048576, true, true },
    { "median, usec", "latency_us", "median", 1, false, true },
    { "average, usec", "latency_us", "avg", 1, false, true },
    { "99%, usec", "latency_us", "p99", 1, false, true },
    { "99.9%, usec", "latency_us", "p99.9", 1, false, false },
    { "maximum, usec", "latency_us", "max", 1, false, false },
    { "client CPU, usec", NULL, "client_cpu_us_per_message", 1, false, false },
    { "server CPU, usec", NULL, "server_cpu_us_per_message", 1, false, false },
};

/* A comparison. rows and differences are members of its JSON object. */
struct compare {
    const char *names[2];
    json_t *runs[2];
    bool json, csv;
    const char *html;
    double threshold; /* per cent */
    json_t *rows, *differences;
    unsigned worse;
};

/* ---- the command line ---- */

static const char *compare_set_threshold(void *options, const char *value)
{
    struct compare *c = options;

    return number_parse_seconds(value, 0, 1000, &c->threshold) ? NULL : "a number from 0 to 1000 is expected";
}

static const char *compare_add_name(void *options, const char *word)
{
    struct compare *c = options;

    if (c->names[1])
        return "only two files are expected";
    c->names[c->names[0] != NULL] = word;
    return NULL;
}

#define AT(field) .at = offsetof(struct compare, field)

static const struct command_option known_options[] = {
    { "--threshold", "PERCENT", "do not mark smaller changes (default 5; 0 to 1000)", COMMAND_CALL,
      .set = compare_set_threshold },
    { "--json", NULL, "print the comparison as one JSON object on stdout, and other messages on stderr", COMMAND_FLAG,
      AT(json) },
    { "--csv", NULL, "the same as a table", COMMAND_FLAG, AT(csv) },
    { "--html", "FILE", "write a page with the curves of both runs to FILE", COMMAND_TEXT, AT(html) },
};

static const char *const usage[] = { "A.json B.json [OPTION]...", NULL };

static const struct command_status statuses[] = {
    { NDKPERF_OK, "no bandwidth and no median, average or 99 % of the latencies is worse in B" },
    { COMPARE_WORSE, "one of them is" },
    { NDKPERF_USAGE, "wrong usage, a file that is no saved run, or runs that have nothing in common" },
    { NDKPERF_LOST, "a part of the output could not be written" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkperf compare",
    .summary = "ndkperf compare compares two runs that ndkperf client --json has saved, size by size: B with A. A file "
               "named - is standard input.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = compare_add_name,
    .statuses = statuses,
};

static int compare_error(const char *name, const char *text)
{
    char *safe_name = printable_dup(name), *safe_text = printable_dup(text);

    fprintf(stderr, "ndkperf compare: %s: %s\n", safe_name ? safe_name : "?", safe_text ? safe_text : "?");
    free(safe_name);
    free(safe_text);
    return NDKPERF_USAGE;
}

/* ---- reading ---- */

static bool compare_is_run(const json_t *run)
{
    const char *tool = json_string_value(json_object_get(run, "tool"));
    const char *role = json_string_value(json_object_get(run, "role"));

    return tool && strcmp(tool, "ndkperf") == 0 && role && strcmp(role, "client") == 0 &&
           json_integer_value(json_object_get(run, "format")) == RECORD_FORMAT &&
           json_is_array(json_object_get(run, "results"));
}

static bool compare_load(struct compare *c, int index)
{
    const char *name = c->names[index];
    FILE *f = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    json_error_t error;
    char text[sizeof error.text + 32];

    if (!f) {
        (void)compare_error(name, strerror(errno));
        return false;
    }
    c->runs[index] = json_loadf(f, 0, &error);
    if (f != stdin)
        (void)fclose(f);
    if (!c->runs[index]) {
        snprintf(text, sizeof text, "line %d: %s", error.line, error.text);
        (void)compare_error(name, text);
    } else if (!compare_is_run(c->runs[index])) {
        (void)compare_error(name, "not a run that an ndkperf client of this format has saved");
    }
    return c->runs[index] && compare_is_run(c->runs[index]);
}

/* ---- comparing ---- */

/* Compares the settings of the runs. Addresses and results are expected to differ. */
static void compare_settings(struct compare *c)
{
    static const char *const names[] = {
        "test",   "mode", "bidirectional", "qps",   "window",        "burst",
        "inline", "crc",  "events",        "check", "inbound_reads", "outbound_reads"
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        json_t *a = json_object_get(c->runs[0], names[i]), *b = json_object_get(c->runs[1], names[i]);
        if ((a || b) && !json_equal(a, b))
            (void)json_array_append_new(c->differences,
                                        json_pack("{s:s, s:O?, s:O?}", "name", names[i], "a", a, "b", b));
    }
}

static const json_t *compare_value(const json_t *result, const struct measure *m)
{
    const json_t *value = json_object_get(m->part ? json_object_get(result, m->part) : result, m->name);

    return json_is_number(value) ? value : NULL;
}

static void compare_values(struct compare *c, double size, const struct measure *m, double a, double b)
{
    double ratio = a > 0 ? b / a : 0, gain = m->is_rate ? ratio - 1 : 1 - ratio;
    const char *change = a <= 0 || fabs(ratio - 1) * 100 <= c->threshold ? NULL : gain > 0 ? "better" : "worse";

    c->worse += change && gain < 0 && m->decides;
    (void)json_array_append_new(c->rows, json_pack("{s:I, s:s, s:f, s:f, s:o, s:s?, s:b}", "size", (json_int_t)size,
                                                   "value", m->label, "a", a / m->unit, "b", b / m->unit, "ratio",
                                                   a > 0 ? json_real(ratio) : json_null(), "change", change, "decides",
                                                   m->decides));
}

static const json_t *compare_find(const json_t *run, double size)
{
    const json_t *result;
    size_t i;

    json_array_foreach(json_object_get(run, "results"), i,
                       result) if (json_number_value(json_object_get(result, "size")) == size) return result;
    return NULL;
}

static bool compare_is_latency(const struct compare *c)
{
    const char *mode = json_string_value(json_object_get(c->runs[0], "mode"));

    return mode && strcmp(mode, "latency") == 0;
}

/* Compares the sizes that both runs have. */
static void compare_results(struct compare *c)
{
    bool latency = compare_is_latency(c);
    const json_t *result;
    size_t i;

    json_array_foreach(json_object_get(c->runs[0], "results"), i, result)
    {
        double size = json_number_value(json_object_get(result, "size"));
        const json_t *other = compare_find(c->runs[1], size);
        for (size_t k = 0; other && k < sizeof measures / sizeof measures[0]; k++) {
            const json_t *a = compare_value(result, &measures[k]), *b = compare_value(other, &measures[k]);
            if (a && b && !(latency && measures[k].is_rate))
                compare_values(c, size, &measures[k], json_number_value(a), json_number_value(b));
        }
    }
}

/* ---- output ---- */

static const char *compare_string(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static double compare_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void compare_print_differences(const struct compare *c)
{
    const json_t *row;
    size_t i;

    json_array_foreach(c->differences, i, row)
    {
        char *a = json_dumps(json_object_get(row, "a"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        char *b = json_dumps(json_object_get(row, "b"), JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        print_line("measured differently: %s is %s in A, %s in B", compare_string(row, "name"), a ? a : "?",
                   b ? b : "?");
        free(a);
        free(b);
    }
    for (i = 0; i < 2; i++)
        if (compare_number(c->runs[i], "exit") != 0)
            print_line("%s did not end well: exit code %.0f", i ? "B" : "A", compare_number(c->runs[i], "exit"));
}

static void compare_print(const struct compare *c)
{
    const json_t *row;
    size_t i;

    for (i = 0; i < 2; i++) {
        char *name = printable_dup(c->names[i]);
        print_line("%c: %s", i ? 'B' : 'A', name ? name : "?");
        free(name);
    }
    compare_print_differences(c);
    print_line(" #bytes     Value                           A               B       B/A");
    json_array_foreach(c->rows, i, row) print_line(
        " %-10.0f %-18s %14.3f  %14.3f  %8.3f%s%s", compare_number(row, "size"), compare_string(row, "value"),
        compare_number(row, "a"), compare_number(row, "b"), compare_number(row, "ratio"),
        *compare_string(row, "change") ? "  " : "", compare_string(row, "change"));
    print_line("%u of %zu values %s worse by more than %g %%", c->worse, json_array_size(c->rows),
               c->worse == 1 ? "is" : "are", c->threshold);
}

/* The names of the files are escaped, because a name need not be UTF-8. Returns false after a message if it fails. */
static bool compare_write_json(FILE *out, struct compare *c)
{
    char *a = printable_dup(c->names[0]), *b = printable_dup(c->names[1]);
    json_t *all = json_pack("{s:s?, s:s?, s:f, s:O, s:O, s:i}", "a", a, "b", b, "threshold", c->threshold,
                            "differences", c->differences, "rows", c->rows, "worse", (int)c->worse);
    bool written = all && json_dumpf(all, out, JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII) == 0;

    if (written)
        fputc('\n', out);
    else
        (void)compare_error("--json", "not all of the output was written");
    json_decref(all);
    free(a);
    free(b);
    return written;
}

static void compare_write_csv(FILE *out, struct compare *c)
{
    const json_t *row;
    size_t i;

    fputs("size,value,a,b,ratio,change\n", out);
    json_array_foreach(c->rows, i, row)
        fprintf(out, "%.0f,\"%s\",%.6f,%.6f,%.6f,%s\n", compare_number(row, "size"), compare_string(row, "value"),
                compare_number(row, "a"), compare_number(row, "b"), compare_number(row, "ratio"),
                compare_string(row, "change"));
}

static void compare_write_table(FILE *out, void *context)
{
    const struct compare *c = context;
    const json_t *row;
    size_t i;

    fputs("<table>\n<tr><th>bytes</th><th>value</th><th>A</th><th>B</th><th>B/A</th><th>change</th></tr>\n", out);
    json_array_foreach(c->rows, i, row)
    {
        const char *change = compare_string(row, "change");
        fprintf(out,
                "<tr><td>%.0f</td><td>%s</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td class=\"%s\">%s</td></tr>\n",
                compare_number(row, "size"), compare_string(row, "value"), compare_number(row, "a"),
                compare_number(row, "b"), compare_number(row, "ratio"),
                !*change                        ? "same"
                : strcmp(change, "better") == 0 ? "good"
                                                : "bad",
                change);
    }
    fputs("</table>\n", out);
}

/* Writes --html. Returns false after a message if it cannot be written completely. */
static bool compare_write_html(struct compare *c)
{
    const struct html_run runs[2] = { { "A", c->runs[0] }, { "B", c->runs[1] } };
    FILE *out = c->html ? fopen(c->html, "we") : NULL;
    bool written;

    if (!c->html)
        return true;
    if (!out)
        return compare_error(c->html, strerror(errno)) == NDKPERF_OK;
    html_compare(out, runs, compare_write_table, c);
    written = fflush(out) == 0 && !ferror(out);
    if (!written)
        (void)compare_error(c->html, "not all of the output was written");
    (void)fclose(out);
    return written;
}

/* ---- the program ---- */

static int compare_run(struct compare *c)
{
    bool written = true;

    if (!compare_load(c, 0) || !compare_load(c, 1))
        return NDKPERF_USAGE;
    if (!json_equal(json_object_get(c->runs[0], "mode"), json_object_get(c->runs[1], "mode")))
        return compare_error(c->names[1], "one run has bandwidths, the other one latencies");
    c->rows = json_array();
    c->differences = json_array();
    compare_settings(c);
    compare_results(c);
    if (!json_array_size(c->rows))
        return compare_error(c->names[1], "the runs have no size in common");
    compare_print(c);
    if (c->json)
        written = compare_write_json(stdout, c);
    if (c->csv)
        compare_write_csv(stdout, c);
    written = compare_write_html(c) && written;
    if (!print_close() || !written)
        return NDKPERF_LOST;
    return c->worse ? COMPARE_WORSE : NDKPERF_OK;
}

int compare_main(int argc, char **argv)
{
    struct compare c = { .threshold = 5 };
    int code = command_parse(&command, &c, argc, argv);

    if (code >= 0)
        return code;
    if (!c.names[1])
        return command_usage_error(&command, "two files are expected");
    if (c.json && c.csv)
        return command_usage_error(&command, "--json and --csv exclude each other");
    if (c.json || c.csv)
        print_set_stream(stderr);
    code = compare_run(&c);
    json_decref(c.rows);
    json_decref(c.differences);
    json_decref(c.runs[0]);
    json_decref(c.runs[1]);
    return code;
}
