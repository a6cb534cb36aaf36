/* SPDX-License-Identifier: MIT */
/* Writes the page of `ndktrace html`: the contents of the files in page/, with the events as JSON in them. */
#ifndef NDKTRACE_HTML_H
#define NDKTRACE_HTML_H

#include <stdio.h>

#include "filter.h"
#include "traces.h"

/*
 * Writes the page with the events that the filter accepts. *written receives the number of these events. Returns false
 * if out of memory. The caller must check the stream for write errors.
 */
bool html_write(FILE *out, const struct traces *t, const struct filter *filter, size_t *written);

#endif
