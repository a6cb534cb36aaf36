/* SPDX-License-Identifier: MIT */
/* ndktrace show: prints the events of one or more files, merged by time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "interrupt.h"
#include "owners.h"
#include "roles.h"
#include "traces.h"

/* Returns the record's time in seconds since `begin_ns`, the time of day when the first trace began. */
static double show_seconds(const struct trace_record *r, uint64_t begin_ns)
{
    return (double)(int64_t)(trace_record_realtime(r) - begin_ns) / 1e9;
}

/* Returns the index of the first record to show. The filter accepts at most `max` records from this index on. */
static size_t show_first(const struct options *o, const struct trace_records *records, uint64_t begin_ns, uint32_t max)
{
    size_t first = records->count, n = 0;

    for (; first > 0; first--) {
        const struct trace_record *r = &records->records[first - 1];

        n += filter_accepts(&o->filter, r, show_seconds(r, begin_ns));
        if (n > max)
            break;
    }
    return first;
}

/* Prints the records that the filter accepts, but at most the last `max` of them. Returns false if out of memory. */
static bool show_records(const struct options *o, const struct trace_records *records, uint64_t begin_ns, uint32_t max)
{
    for (size_t i = show_first(o, records, begin_ns, max); i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        double seconds = show_seconds(r, begin_ns);

        if (filter_accepts(&o->filter, r, seconds) && !print_event(stdout, &o->style, r, seconds))
            return false;
    }
    return true;
}

static int show_fail_memory(void)
{
    fprintf(stderr, "ndktrace: out of memory\n");
    return COMMAND_FAILED;
}

/*
 * Prints the records that the filter accepts, but at most the last `max`. Returns the exit code if the tool must end,
 * otherwise -1.
 */
static int show_sorted(struct options *o, struct owners *owners, struct trace_records *records, uint64_t begin_ns,
                       uint32_t max)
{
    if (!owners_assign(owners, records) || !filter_learn(&o->filter, records) ||
        !show_records(o, records, begin_ns, max))
        return show_fail_memory();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ndktrace: standard output: %s: not all of the output was written\n", strerror(errno));
        return COMMAND_LOST;
    }
    return -1;
}

/*
 * Prints the events that were recorded since the last call. Returns the exit code if the tool must end, otherwise -1.
 */
static int show_new(struct options *o, struct owners *owners, struct traces *t, uint64_t begin_ns)
{
    struct trace_records records = { 0 };
    bool ok = true;
    int code;

    for (size_t i = 0; ok && i < t->n_files; i++)
        ok = trace_file_read(&t->files[i], &records);
    trace_records_sort(&records);
    code = ok ? show_sorted(o, owners, &records, begin_ns, UINT32_MAX) : show_fail_memory();
    trace_records_free(&records);
    return code;
}

static void show_heads(const struct options *o, const struct traces *t)
{
    for (size_t i = 0; i < t->n_files; i++)
        print_file(stdout, &t->files[i]);
    align_print(stdout, &t->align, t->files);
    print_columns(stdout, &o->style.text);
}

static int show_opened(struct options *o, struct owners *owners, struct traces *t, bool (*has_ended)(void))
{
    bool ended = false;
    uint64_t begin_ns;
    int code;

    if (o->follow)
        interrupt_catch(NULL);
    if (!traces_read(t))
        return COMMAND_FAILED;
    begin_ns = traces_begin(t);
    if (!o->style.json)
        show_heads(o, t);
    code = show_sorted(o, owners, &t->records, begin_ns, o->has_last ? o->last : UINT32_MAX);
    while (code < 0 && o->follow && !ended && interrupt_sleep(0.1)) {
        ended = has_ended && has_ended(); /* called before the read, so that the last read finds all events */
        code = show_new(o, owners, t, begin_ns);
    }
    for (size_t i = 0; code < 0 && i < t->n_files; i++)
        print_skipped(o->style.json ? stderr : stdout, &t->files[i]);
    if (code < 0 && fflush(stdout) != 0)
        code = COMMAND_LOST;
    return code >= 0 ? code : o->follow && !ended ? COMMAND_INTERRUPTED : COMMAND_OK;
}

int show_traces(struct options *o, struct traces *t, bool (*has_ended)(void))
{
    struct owners *owners = owners_create();
    int code = owners ? show_opened(o, owners, t, has_ended) : show_fail_memory();

    owners_destroy(owners);
    return code;
}

int show_files(struct options *o)
{
    static struct traces traces;
    int code;

    o->style.text.has_process = o->n_arguments > 1;
    if (!traces_open(&traces, o->n_arguments, o->arguments))
        return COMMAND_FAILED;
    code = show_traces(o, &traces, NULL);
    traces_close(&traces);
    free(o->filter.tied);
    return code;
}
