/* SPDX-License-Identifier: MIT */
/* Writes --html: one page with tables and plots. The page loads nothing from the network, and is well-formed XML. */
#ifndef NDKPERF_HTML_H
#define NDKPERF_HTML_H

#include <jansson.h>
#include <stdio.h>

/* A run's record (record.h), and the name that precedes the labels of the run's curves. */
struct html_run {
    const char *name;
    const json_t *record;
};

void html_run(FILE *out, const json_t *record);
/* Writes a page for two runs: the table that the function `table` writes, and plots with the curves of both runs. */
void html_compare(FILE *out, const struct html_run runs[2], void (*table)(FILE *out, void *context), void *context);

#endif
