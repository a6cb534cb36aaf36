/* SPDX-License-Identifier: MIT */
/* ndktrace show: prints the events of one or more files, merged by time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "interrupt.h"
#include "roles.h"
#include "trace_reader/trace_file.h"

enum { SHOW_MAX_FILES = 64 };

/* Prints the records that the filter accepts. `begin_ns` is the time of day at which the first trace began. */
static bool show_records(const struct options *o, const struct trace_records *records, uint64_t begin_ns)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        double seconds = (double)(int64_t)(trace_record_realtime(r) - begin_ns) / 1e9;

        if (filter_accepts(&o->filter, r, seconds) && !print_event(stdout, &o->style, r, seconds))
            return false;
    }
    return true;
}

static int show_fail(const char *path, const char *why)
{
    fprintf(stderr, "ndktrace: %s%s%s\n", path, *path ? ": " : "", why);
    return COMMAND_FAILED;
}

/* Shows the events that are new since the last call. Returns the exit code if the tool must end, otherwise -1. */
static int show_new(struct options *o, struct trace_file *files, uint64_t begin_ns)
{
    struct trace_records records = { 0 };
    bool ok = true;

    for (size_t i = 0; ok && i < o->n_arguments; i++)
        ok = trace_file_read(&files[i], &records);
    if (ok) {
        trace_records_sort(&records);
        ok = filter_learn(&o->filter, &records) && show_records(o, &records, begin_ns);
    }
    trace_records_free(&records);
    if (!ok)
        return show_fail("", "out of memory");
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ndktrace: standard output: %s: not all of the output was written\n", strerror(errno));
        return COMMAND_LOST;
    }
    return -1;
}

static int show_opened(struct options *o, struct trace_file *files)
{
    uint64_t begin_ns = UINT64_MAX;
    int code;

    if (o->follow)
        interrupt_catch(NULL);
    for (size_t i = 0; i < o->n_arguments; i++) {
        begin_ns = files[i].realtime_ns < begin_ns ? files[i].realtime_ns : begin_ns;
        if (!o->style.json)
            print_file(stdout, &files[i]);
    }
    if (!o->style.json)
        print_columns(stdout, &o->style.text);
    do
        code = show_new(o, files, begin_ns);
    while (code < 0 && o->follow && interrupt_sleep(0.1));
    for (size_t i = 0; code < 0 && i < o->n_arguments; i++)
        print_skipped(o->style.json ? stderr : stdout, &files[i]);
    if (code < 0 && fflush(stdout) != 0)
        code = COMMAND_LOST;
    return code >= 0 ? code : o->follow ? COMMAND_INTERRUPTED : COMMAND_OK;
}

int show_files(struct options *o)
{
    static struct trace_file files[SHOW_MAX_FILES];
    size_t opened = 0;
    char error[256];
    int code = -1;

    if (o->n_arguments > SHOW_MAX_FILES)
        return show_fail("", "there are more than 64 files on the command line");
    o->style.text.has_process = o->n_arguments > 1;
    for (; code < 0 && opened < o->n_arguments; opened++) {
        if (!trace_file_open(&files[opened], o->arguments[opened], error, sizeof error)) {
            code = show_fail(o->arguments[opened], error);
            break;
        }
    }
    if (code < 0)
        code = show_opened(o, files);
    while (opened > 0)
        trace_file_close(&files[--opened]);
    free(o->filter.tied);
    return code;
}
