/* SPDX-License-Identifier: MIT */
/* Writes the part of the page's data that contains the texts of `ndktrace explain`. */
#ifndef NDKTRACE_HTML_DIAGNOSES_H
#define NDKTRACE_HTML_DIAGNOSES_H

#include <stdio.h>

#include "traces.h"

/*
 * Writes the members diagnoses, failedCalls and listeners, which page/model.js describes. event_of is as in
 * html_links.h. Returns false if out of memory.
 */
bool html_diagnoses_write(FILE *out, const struct traces *t, const size_t *event_of);

#endif
