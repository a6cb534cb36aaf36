/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a trace file, behind a valid header if the input's first byte is odd, prints all of its events,
 * makes packets of TCP and of RoCE of them, aligns the trace with itself, explains it, assigns its calls to
 * connections, and writes it for Perfetto. The reader accesses no memory beyond what it has allocated, and ends.
 */
#include <stdio.h>

#include "ndktrace/align.h"
#include "ndktrace/explain_rest.h"
#include "ndktrace/explain_texts.h"
#include "ndktrace/owners.h"
#include "ndktrace/packets.h"
#include "ndktrace/perfetto.h"
#include "ndktrace/timeline.h"
#include "trace_input.h"
#include "trace_reader/print_text.h"
#include "trace_reader/trace_file.h"
#include "trace_reader/value.h"

enum { ZEROS = 64 };

static void print_lines(const struct trace_file *file, const struct trace_records *records)
{
    const struct print_text_style style = { .has_process = true, .verbose = true };
    FILE *out = fopen("/dev/null", "w");

    require(out != NULL);
    print_file(out, file);
    print_columns(out, &style);
    for (size_t i = 0; i < records->count; i++)
        require(print_event_text(out, &style, &records->records[i], 0));
    print_skipped(out, file);
    fclose(out);
}

static void print_values(const struct trace_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        struct value_cursor c = { 0 };
        char text[VALUE_MAX_TEXT], *hex;
        struct value v;

        while (value_next(r, &c, &v)) {
            require(strlen(value_text(&v, text)) < sizeof text);
            hex = malloc(2 * v.size + 1);
            require(hex != NULL);
            value_hex(&v, hex);
            free(hex);
        }
    }
}

static void write_packets(const struct trace_records *records, bool is_roce)
{
    static const struct filter all;
    const struct packets_style style = { .max_filled = ZEROS, .is_roce = is_roce };
    struct packets *p = packets_create(&all, &style, records);
    FILE *out = fopen("/dev/null", "w");

    require(p && out);
    packets_write(p, out);
    fclose(out);
    packets_destroy(p);
}

/* The trace and a second reading of it, as if it were the other end's. */
static void align_clocks(int file)
{
    struct trace_records records = { 0 };
    struct trace_file traces[2];
    char error[256];
    struct align a;

    for (int i = 0; i < 2; i++)
        require(trace_file_open_fd(&traces[i], dup(file), error, sizeof error) &&
                trace_file_read(&traces[i], &records));
    traces[1].host[0] ^= 1; /* another host, so that the frames decide */
    require(align_create(&a, traces, 2, &records));
    for (size_t i = 1; i < records.count; i++)
        require(a.partner[i] == END_NONE || a.partner[a.partner[i]] == i);
    align_free(&a);
    trace_records_free(&records);
    for (int i = 0; i < 2; i++)
        trace_file_close(&traces[i]);
}

/* Explains each connection, whether it has failed or not. */
static void explain(int file)
{
    static struct traces t;
    struct calls calls;
    size_t written;
    FILE *out = fopen("/dev/null", "w");
    char error[256];

    t = (struct traces){ .n_files = 1 };
    require(out && trace_file_open_fd(&t.files[0], dup(file), error, sizeof error));
    t.files[0].path = "file";
    require(traces_read(&t) && calls_find(&calls, &t.records));
    for (size_t i = 0; i < t.align.ends.count; i++) {
        struct explain_texts texts = { .wrong = END_NONE, .cause = { .record = END_NONE } };
        struct story s;

        story_collect(&s, &t, &calls, &t.align.ends.ends[i]);
        if (s.sides[0].outcome != END_NONE || s.sides[1].outcome != END_NONE)
            require(explain_texts_make(&texts, &s));
        require(timeline_print(out, &s, texts.wrong, texts.cause));
        explain_texts_free(&texts);
    }
    explain_refusals(out, &t, &calls);
    (void)explain_failed_calls(out, &t, &calls, NULL, 0);
    (void)explain_unfinished(out, &t, &calls);
    require(perfetto_write(out, &t, &written));
    calls_free(&calls);
    traces_close(&t);
    fclose(out);
}

/* Twice, as with events that are read later. */
static void assign_owners(struct trace_records *records)
{
    struct owners *owners = owners_create();

    require(owners && owners_assign(owners, records) && owners_assign(owners, records));
    owners_destroy(owners);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_records records = { 0 };
    struct trace_file trace;
    int file = trace_input_open(data, size);
    char error[256];

    if (!trace_file_open_fd(&trace, file, error, sizeof error))
        return 0;
    require(trace_file_read(&trace, &records) && trace_file_read(&trace, &records));
    trace_records_sort(&records);
    print_lines(&trace, &records);
    print_values(&records);
    write_packets(&records, false);
    write_packets(&records, true);
    align_clocks(file);
    explain(file);
    assign_owners(&records);
    trace_records_free(&records);
    trace_file_close(&trace);
    return 0;
}
