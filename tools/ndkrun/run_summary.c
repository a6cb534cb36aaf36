/* SPDX-License-Identifier: MIT */
/* Prints the summary of a run: see run_summary.h. */
#include "run_summary.h"

#include <inttypes.h>
#include <time.h>

#include "json_output.h"
#include "wdk/summary/summary.h"

static double begun;

static double run_summary_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void run_summary_begin(void)
{
    begun = run_summary_now();
}

static void run_summary_print_row(void *context, const struct summary_row *row)
{
    FILE *out = context;

    fprintf(out, "summary: %s", summary_section_name(row->section));
    if (row->name)
        fprintf(out, " %s", row->name);
    if (row->status)
        fprintf(out, " %s", row->status);
    for (unsigned i = 0; i < row->count; i++)
        fprintf(out, " %s=%" PRIu64, row->numbers[i].name, row->numbers[i].value);
    fprintf(out, "%s%s\n", row->text[0] ? " " : "", row->text);
}

void run_summary_print(FILE *out, uint32_t rounds, bool crashed)
{
    fprintf(out, "summary: run seconds=%.3f rounds=%" PRIu32 "\n", run_summary_now() - begun, rounds);
    summary_walk(crashed, run_summary_print_row, out);
}

static void run_summary_add_row(void *context, const struct summary_row *row)
{
    json_t *rows = context, *object = json_object();

    (void)json_object_set_new(object, "section", json_string(summary_section_name(row->section)));
    if (row->name)
        (void)json_object_set_new(object, "name", json_string(row->name));
    if (row->status)
        (void)json_object_set_new(object, "status", json_string(row->status));
    for (unsigned i = 0; i < row->count; i++)
        (void)json_object_set_new(object, row->numbers[i].name, json_integer((json_int_t)row->numbers[i].value));
    if (row->text[0])
        (void)json_object_set_new(object, "text", json_output_text(row->text));
    (void)json_array_append_new(rows, object);
}

json_t *run_summary_json(uint32_t rounds)
{
    json_t *rows = json_array();

    summary_walk(false, run_summary_add_row, rows);
    return json_pack("{s:f,s:i,s:o}", "seconds", run_summary_now() - begun, "rounds", (int)rounds, "rows", rows);
}
