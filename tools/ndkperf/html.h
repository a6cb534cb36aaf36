/* SPDX-License-Identifier: MIT */
/* --html: one page with tables and plots. It needs no network, and is well-formed XML. */
#ifndef NDKPERF_HTML_H
#define NDKPERF_HTML_H

#include <jansson.h>
#include <stdio.h>

/* A run's record (record.h) with the name that its curves have. */
struct html_run {
    const char *name;
    const json_t *record;
};

void html_run(FILE *out, const json_t *record);
/* Writes a page for two runs: the table that `table` writes, and plots with the curves of both runs. */
void html_compare(FILE *out, const struct html_run runs[2], void (*table)(FILE *out, void *context), void *context);

#endif
