/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a trace file: finds its last events, and saves it. The last events are the latest of all that the
 * file has. A file with a valid header has the same events after it was saved.
 */
#include "trace_input.h"
#include "trace_reader/print_text.h"
#include "trace_reader/tail.h"
#include "trace_reader/value.h"

enum { LAST = 5, RELATED = 2 };

/* Returns the value of the first pointer in the records, so that events are related to it. */
static uint64_t first_pointer(const struct trace_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct value_cursor c = { 0 };
        struct value v;

        while (value_next(&records->records[i], &c, &v))
            if (v.field->is_pointer)
                return v.number;
    }
    return 0;
}

static void read_tail(struct trace_file *file, const struct trace_records *records, uint64_t address)
{
    static struct tail tail;
    char fields[64];

    tail.max = LAST;
    tail.max_related = RELATED;
    tail.addresses[0] = address;
    tail_read(&tail, file);
    require(tail.count == (records->count < LAST ? records->count : LAST));
    for (unsigned i = 0; i < tail.count; i++) {
        require(i == 0 || tail.sorted[i]->record.time_ns >= tail.sorted[i - 1]->record.time_ns);
        print_fields(fields, sizeof fields, &tail.sorted[i]->record);
        require(strlen(fields) < sizeof fields);
    }
    for (size_t i = 0; tail.count && i < records->count; i++)
        require(records->records[i].time_ns <= tail.sorted[tail.count - 1]->record.time_ns);
}

static void save(struct trace_file *file, const struct trace_records *records, bool has_header)
{
    int out = memfd_create("saved", 0);
    struct trace_records read = { 0 };
    struct trace_file saved;
    char error[256];

    require(out >= 0 && trace_file_save(file, out));
    if (!trace_file_open_fd(&saved, out, error, sizeof error)) {
        require(!has_header);
        return;
    }
    require(trace_file_read(&saved, &read));
    require(!has_header || read.count == records->count);
    trace_records_free(&read);
    trace_file_close(&saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = trace_input_open(data, size);
    struct trace_records records = { 0 };
    struct trace_file trace;
    char error[256];

    if (!trace_file_open_fd(&trace, file, error, sizeof error))
        return 0;
    require(trace_file_read(&trace, &records));
    read_tail(&trace, &records, first_pointer(&records));
    read_tail(&trace, &records, 0);
    /* A file may have segments without contents, up to terabytes: saving them fills the memory of the fuzzer. */
    if ((uint64_t)trace.segment_count * trace.segment_size < 1 << 20)
        save(&trace, &records, trace_input_has_header(data, size));
    trace_records_free(&records);
    trace_file_close(&trace);
    return 0;
}
