/* SPDX-License-Identifier: MIT */
/*
 * Prints ndkperf's output. Each line is printed immediately. The record of the run (record.h) is collected until the
 * end, and then written for --json and --html.
 */
#ifndef NDKPERF_REPORT_H
#define NDKPERF_REPORT_H

#include "result.h"
#include "session.h"

/* Returns a text with the server's reason to refuse a client. `version` is the peer's version. */
const char *report_refusal(const struct session *s, uint32_t code, uint32_t value, uint32_t version);

/* Opens the files of --json, --csv and --html. If a file cannot be opened, prints a message and returns false. */
bool report_open(const struct options *o);
void report_begin(const struct session *s);
void report_interval(const struct session *s, const struct interval *i);
void report_result(const struct session *s, const struct result *r);
/*
 * Writes and closes the files. Prints a message and returns false if there is no memory for the JSON object. A failed
 * write does not change the result: print_close reports the failed write later.
 */
bool report_end(const struct session *s);

/*
 * Shows progress on the terminal. If stderr is not a terminal, prints a separate line with --live, otherwise nothing.
 */
void report_live(const struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints the result of a run at the server, after the run has ended. `sent` is the number of the server's own messages
 * with --bidirectional.
 */
void report_server(const struct session *s, uint64_t received, uint64_t sent, uint64_t cpu_us);

#endif
