/* SPDX-License-Identifier: MIT */
/*
 * Prints events as text, one line for each. The invariant: no byte of a trace file reaches the stream if a terminal
 * would interpret it.
 */
#ifndef TRACE_READER_PRINT_TEXT_H
#define TRACE_READER_PRINT_TEXT_H

#include <stdio.h>

#include "trace_reader/trace_file.h"

struct print_text_style {
    bool has_process; /* several files: lines have the process ID */
    bool verbose;     /* also prints fields of raw bytes, and fields that are ok, none or a null pointer */
};

/* Prints the file's program, process ID, host and start time, in a line that begins with #. */
void print_file(FILE *out, const struct trace_file *f);
/* Prints how many events are lost and which parts of the file could not be read. Each line begins with #. */
void print_skipped(FILE *out, const struct trace_file *f);
void print_columns(FILE *out, const struct print_text_style *style);
/* Returns false if out of memory. The caller checks the stream for write errors. */
bool print_event_text(FILE *out, const struct print_text_style *style, const struct trace_record *r, double seconds);
/*
 * Writes the event's fields as print_event_text prints them for a style that is not verbose: fields that are ok, none
 * or a null pointer are omitted. Omits the rest of the fields if `room` is too small.
 */
void print_fields(char *text, size_t room, const struct trace_record *r);

#endif
