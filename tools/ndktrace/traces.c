/* SPDX-License-Identifier: MIT */
/* Opens and reads the trace files of a command line: see traces.h. */
#include "traces.h"

#include <stdio.h>

bool traces_open(struct traces *t, size_t n, char *const *paths)
{
    char error[256];

    t->n_files = 0;
    t->records = (struct trace_records){ 0 };
    t->is_aligned = false;
    if (n > TRACES_MAX_FILES) {
        fprintf(stderr, "ndktrace: there are more than %d files on the command line\n", TRACES_MAX_FILES);
        return false;
    }
    while (t->n_files < n) {
        if (!trace_file_open(&t->files[t->n_files], paths[t->n_files], error, sizeof error)) {
            fprintf(stderr, "ndktrace: %s: %s\n", paths[t->n_files], error);
            traces_close(t);
            return false;
        }
        t->n_files++;
    }
    return true;
}

bool traces_read(struct traces *t)
{
    bool ok = true;

    for (size_t i = 0; ok && i < t->n_files; i++)
        ok = trace_file_read(&t->files[i], &t->records);
    t->is_aligned = ok && align_create(&t->align, t->files, t->n_files, &t->records);
    if (!t->is_aligned)
        fprintf(stderr, "ndktrace: out of memory\n");
    return t->is_aligned;
}

uint64_t traces_begin(const struct traces *t)
{
    uint64_t begin_ns = UINT64_MAX;

    for (size_t i = 0; i < t->n_files; i++)
        begin_ns = trace_file_begin(&t->files[i]) < begin_ns ? trace_file_begin(&t->files[i]) : begin_ns;
    return begin_ns;
}

void traces_close(struct traces *t)
{
    if (t->is_aligned)
        align_free(&t->align);
    trace_records_free(&t->records);
    while (t->n_files > 0)
        trace_file_close(&t->files[--t->n_files]);
}
