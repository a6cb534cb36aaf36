/* SPDX-License-Identifier: MIT */
/* Prints events in the form that the command line selects: one line of text or one JSON object for each event. */
#ifndef NDKTRACE_PRINT_EVENTS_H
#define NDKTRACE_PRINT_EVENTS_H

#include "trace_reader/print_text.h"

struct print_style {
    bool json;
    struct print_text_style text;
};

/*
 * Prints an event. `seconds` is its time since the beginning of the trace. Returns false if out of memory. The caller
 * must check the stream for write errors.
 */
bool print_event(FILE *out, const struct print_style *style, const struct trace_record *r, double seconds);

#endif
