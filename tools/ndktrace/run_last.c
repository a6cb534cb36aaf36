/* SPDX-License-Identifier: MIT */
/* Prints the last events of a trace file: see run_last.h. */
#include "run_last.h"

#include <stdio.h>
#include <string.h>

#include "trace_reader/print_text.h"
#include "trace_reader/trace_file.h"

static void run_last_print_opened(struct trace_file *f, uint32_t max)
{
    const struct print_text_style style = { .has_process = false };
    struct trace_records records = { 0 };

    if (!trace_file_read(f, &records)) {
        fprintf(stderr, "ndktrace: out of memory\n");
    } else {
        trace_records_sort(&records);
        print_file(stderr, f);
        print_columns(stderr, &style);
        for (size_t i = records.count > max ? records.count - max : 0; i < records.count; i++) {
            const struct trace_record *r = &records.records[i];

            (void)print_event_text(stderr, &style, r, (double)(int64_t)(r->time_ns - f->monotonic_ns) / 1e9);
        }
        print_skipped(stderr, f);
    }
    trace_records_free(&records);
}

void run_last_print(const char *path, uint32_t max)
{
    struct trace_file file;
    char error[256];

    if (!trace_file_open(&file, path, error, sizeof error)) {
        fprintf(stderr, "ndktrace: %s: %s\n", path, error);
        return;
    }
    run_last_print_opened(&file, max);
    trace_file_close(&file);
}
