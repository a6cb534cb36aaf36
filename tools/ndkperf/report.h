/* SPDX-License-Identifier: MIT */
/*
 * ndkperf's output. The lines are printed at once. The record of the run (record.h) is collected for --json and --html,
 * which are written at the end.
 */
#ifndef NDKPERF_REPORT_H
#define NDKPERF_REPORT_H

#include "result.h"
#include "session.h"

/* Returns a text about why a server refuses a client. `version` is the peer's version. */
const char *report_refusal(const struct session *s, uint32_t code, uint32_t value, uint32_t version);

/* Opens the files of --json, --csv and --html. If a file cannot be opened, prints a message and returns false. */
bool report_open(const struct options *o);
void report_begin(const struct session *s);
void report_interval(const struct session *s, const struct interval *i);
void report_result(const struct session *s, const struct result *r);
/*
 * Writes and closes the files. If there is no memory for the JSON object, prints a message and returns false. A failed
 * write makes print_close return false.
 */
bool report_end(const struct session *s);

/* Shows the progress on the terminal. If stderr is no terminal, prints a separate line, but only with --live. */
void report_live(const struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Server: prints the result of a run that has ended. `sent`: with --bidirectional, the server's own messages. */
void report_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us);

#endif
