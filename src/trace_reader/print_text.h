/* SPDX-License-Identifier: MIT */
/*
 * Prints events as text, one line for each event. The invariant: text from the trace file is escaped
 * (base/printable.h), so that it cannot control a terminal.
 */
#ifndef TRACE_READER_PRINT_TEXT_H
#define TRACE_READER_PRINT_TEXT_H

#include <stdio.h>

#include "trace_reader/trace_file.h"

struct print_text_style {
    bool has_process; /* there are several files, so each line has a process ID */
    bool verbose;     /* also prints fields of raw bytes, and fields with the value ok, none or NULL */
};

/* Prints the program, the process ID, the host and the start time of the file, in a line that begins with #. */
void print_file(FILE *out, const struct trace_file *f);
/*
 * Prints the number of lost events, and the number of segments that could not be read completely. Each line begins with
 * #.
 */
void print_skipped(FILE *out, const struct trace_file *f);
void print_columns(FILE *out, const struct print_text_style *style);
/*
 * Prints one event as a line that begins with the time `seconds`. If the event is `connection` or `ongoing`, first
 * prints a line with the connection's addresses. Returns false if out of memory. The caller checks the stream for write
 * errors.
 */
bool print_event_text(FILE *out, const struct print_text_style *style, const struct trace_record *r, double seconds);
/*
 * Writes the fields of an event to `text`, as print_event_text prints them if `verbose` is false. Omits the last fields
 * if `room` is too small.
 */
void print_fields(char *text, size_t room, const struct trace_record *r);

#endif
