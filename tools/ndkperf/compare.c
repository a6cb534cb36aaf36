/* SPDX-License-Identifier: MIT */
/*
 * `ndkperf compare A B`: compares two saved runs (record.h), size by size. A value has changed if it differs by more
 * than the threshold. The exit code depends on the bandwidths, and on median, average and 99 % of the latencies. The
 * higher latencies and the CPU times vary more between runs, so they are only shown. The files may come from untrusted
 * users, so text from a file is escaped before it is printed to a terminal.
 */
#include "compare.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "csv_cell.h"
#include "html.h"
#include "json_output.h"
#include "number.h"
#include "options.h"
#include "print.h"
#include "base/printable.h"
#include "record.h"

enum { COMPARE_WORSE = 1, JSON_FORMAT = 1 };

/*
 * A value that is compared: the result's member `name` or, if `part` is not NULL, the member `name` of the result's
 * object `part`.
 */
struct measure {
    const char *label, *part, *name;
    double unit;
    bool is_rate; /* a larger value is better */
    bool decides; /* the exit code depends on this value */
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

/* The state of a comparison. `rows` and `differences` become members of the JSON object that --json writes. */
struct compare {
    const char *names[2];
    json_t *runs[2];
    bool json, csv;
    const char *html;
    double threshold; /* in per cent */
    json_t *rows, *differences;
    /* Numbers of values. `deciding`, `worse` and `missing` count only values that affect the exit code. */
    unsigned compared, deciding, worse, missing;
};

/* ---- the command line ---- */

static const char *compare_set_threshold(void *threshold, const char *value)
{
    return number_parse_fraction(value, 0, 1000, threshold) ? NULL : "a number from 0 to 1000 is expected";
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
    { "--threshold", "PERCENT", "do not mark smaller changes (default 5; 0 to 1000)", COMMAND_CALL, AT(threshold),
      .set = compare_set_threshold },
    { "--json", NULL, "print the comparison as one JSON object on stdout, and other messages on stderr", COMMAND_FLAG,
      AT(json) },
    { "--csv", NULL, "the same as a table", COMMAND_FLAG, AT(csv) },
    { "--html", "FILE", "write a page with the curves of both runs to FILE", COMMAND_TEXT, AT(html) },
};

static const char *const usage[] = { "A.json B.json [OPTION]...", NULL };

static const struct command_status statuses[] = {
    { NDKPERF_OK, "no bandwidth and no median, average or 99 % of the latencies is worse in B or missing there, and "
                  "the exit code of B's run is 0" },
    { COMPARE_WORSE, "one of them is worse or missing, or B's run did not end well" },
    { NDKPERF_USAGE, "wrong usage, a file that is no saved run, or runs that have nothing in common" },
    { NDKPERF_LOST, "the output could not be written completely" },
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

/* Compares the settings of the two runs. Omits addresses and results, because these normally differ. */
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

/* Adds a row that compares a value of run A with that of run B. `b` is NULL if run B does not contain the value. */
static void compare_values(struct compare *c, const json_t *size, const struct measure *m, const json_t *a,
                           const json_t *b)
{
    double from = json_number_value(a) / m->unit, to = json_number_value(b) / m->unit;
    double ratio = from > 0 ? to / from : 0, gain = m->is_rate ? ratio - 1 : 1 - ratio;
    bool has_changed = b && from > 0 && fabs(ratio - 1) * 100 > c->threshold;
    const char *change = !b ? "missing" : !has_changed ? NULL : gain > 0 ? "better" : "worse";

    c->compared += b != NULL;
    c->deciding += m->decides;
    c->missing += !b;
    c->worse += has_changed && gain < 0 && m->decides;
    (void)json_array_append_new(c->rows, json_pack("{s:O, s:s, s:f, s:o, s:o, s:s?, s:b}", "size", size, "value",
                                                   m->label, "a", from, "b", b ? json_real(to) : json_null(), "ratio",
                                                   b && from > 0 && isfinite(ratio) ? json_real(ratio) : json_null(),
                                                   "change", change, "decides", m->decides));
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

/* Compares the results of both runs for each message size of run A. */
static void compare_results(struct compare *c)
{
    bool latency = compare_is_latency(c);
    const json_t *result;
    size_t i;

    json_array_foreach(json_object_get(c->runs[0], "results"), i, result)
    {
        const json_t *size = json_object_get(result, "size");
        const json_t *other = compare_find(c->runs[1], json_number_value(size));
        for (size_t k = 0; json_is_number(size) && k < sizeof measures / sizeof measures[0]; k++) {
            const json_t *a = compare_value(result, &measures[k]), *b = compare_value(other, &measures[k]);
            if (a && (b || measures[k].decides) && !(latency && measures[k].is_rate))
                compare_values(c, size, &measures[k], a, b);
        }
    }
}

static json_int_t compare_exit(const struct compare *c, int index)
{
    return json_integer_value(json_object_get(c->runs[index], "exit"));
}

static bool compare_is_worse(const struct compare *c)
{
    return c->worse || c->missing || compare_exit(c, 1) != 0;
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

struct cell {
    char text[64];
};

/* Returns the number in a member of the row as text. Returns `without` if the member is not a number. */
static struct cell compare_cell(const json_t *row, const char *name, int digits, const char *without)
{
    const json_t *value = json_object_get(row, name);
    struct cell cell;

    if (json_is_number(value))
        snprintf(cell.text, sizeof cell.text, "%.*f", digits, json_number_value(value));
    else
        snprintf(cell.text, sizeof cell.text, "%s", without);
    return cell;
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
    for (int k = 0; k < 2; k++)
        if (compare_exit(c, k) != 0)
            print_line("%c did not end well: exit code %lld", k ? 'B' : 'A', (long long)compare_exit(c, k));
}

static void compare_print(const struct compare *c)
{
    const json_t *row;
    size_t i;

    print_line("A: %s", c->names[0]);
    print_line("B: %s", c->names[1]);
    compare_print_differences(c);
    print_line(" #bytes     Value                           A               B       B/A");
    json_array_foreach(c->rows, i, row)
    {
        struct cell b = compare_cell(row, "b", 3, "-"), ratio = compare_cell(row, "ratio", 3, "-");
        print_line(" %-10.0f %-18s %14.3f  %14s  %8s%s%s", compare_number(row, "size"), compare_string(row, "value"),
                   compare_number(row, "a"), b.text, ratio.text, *compare_string(row, "change") ? "  " : "",
                   compare_string(row, "change"));
    }
    if (c->missing)
        print_line("%u of %u deciding values %s missing in B", c->missing, c->deciding, c->missing == 1 ? "is" : "are");
    print_line("%u of %u deciding values %s worse by more than %g %%", c->worse, c->deciding,
               c->worse == 1 ? "is" : "are", c->threshold);
}

/* Writes the JSON object of --json. If it could not be written completely, prints a message and returns false. */
static bool compare_write_json(FILE *out, struct compare *c)
{
    json_t *all = json_output_begin("ndkperf", JSON_FORMAT);
    json_t *rest = json_pack("{s:s, s:o, s:o, s:f, s:{s:I, s:I}, s:O, s:O, s:i, s:i}", "role", "compare", "a",
                             json_output_text(c->names[0]), "b", json_output_text(c->names[1]), "threshold",
                             c->threshold, "exit", "a", compare_exit(c, 0), "b", compare_exit(c, 1), "differences",
                             c->differences, "rows", c->rows, "worse", (int)c->worse, "missing", (int)c->missing);
    bool written = json_object_update(all, rest) == 0 && json_output_write(out, all, JSON_REAL_PRECISION(12));

    if (!written)
        (void)compare_error("--json", "not all of the output was written");
    json_decref(rest);
    json_decref(all);
    return written;
}

static void compare_write_csv(FILE *out, struct compare *c)
{
    const json_t *row;
    size_t i;

    fputs("size,value,a,b,ratio,change\n", out);
    json_array_foreach(c->rows, i, row)
    {
        struct cell b = compare_cell(row, "b", 6, ""), ratio = compare_cell(row, "ratio", 6, "");
        fprintf(out, "%.0f,", compare_number(row, "size"));
        csv_cell_write(out, compare_string(row, "value"));
        fprintf(out, ",%.6f,%s,%s,%s\n", compare_number(row, "a"), b.text, ratio.text, compare_string(row, "change"));
    }
    if (compare_exit(c, 0) || compare_exit(c, 1))
        fprintf(out, ",exit code,%lld,%lld,,%s\n", (long long)compare_exit(c, 0), (long long)compare_exit(c, 1),
                compare_exit(c, 1) ? "worse" : "");
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
        struct cell b = compare_cell(row, "b", 3, "-"), ratio = compare_cell(row, "ratio", 3, "-");
        fprintf(out, "<tr><td>%.0f</td><td>%s</td><td>%.3f</td><td>%s</td><td>%s</td><td class=\"%s\">%s</td></tr>\n",
                compare_number(row, "size"), compare_string(row, "value"), compare_number(row, "a"), b.text, ratio.text,
                !*change                        ? "same"
                : strcmp(change, "better") == 0 ? "good"
                                                : "bad",
                change);
    }
    fputs("</table>\n", out);
}

/* Writes the page of --html. If it could not be written completely, prints a message and returns false. */
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
    if (!c->compared)
        return compare_error(c->names[1], "the runs have no size in common");
    compare_print(c);
    if (c->json)
        written = compare_write_json(stdout, c);
    if (c->csv)
        compare_write_csv(stdout, c);
    written = compare_write_html(c) && written;
    if (!print_close() || !written)
        return NDKPERF_LOST;
    return compare_is_worse(c) ? COMPARE_WORSE : NDKPERF_OK;
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
