/* SPDX-License-Identifier: MIT */
/*
 * Prints the output of the tools: lines to a stream and to an optional log file, and messages about failures. A line
 * may contain text from a peer or from another user, so characters that are not printable are escaped (printable.h).
 */
#ifndef TOOLS_PRINT_H
#define TOOLS_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "consumer/consumer.h"

/* Sets the stream to which lines are printed; the default is stdout. */
void print_set_stream(FILE *stream);
/*
 * Opens a log file, to which all lines are also written. If it cannot be opened, prints a message to stderr and returns
 * false.
 */
bool print_open_log(const char *file, bool append);
/*
 * Flushes a file of the tool, for example after each row of a table that another program reads. Reports the first
 * failure on stderr. After a failure print_close returns false.
 */
void print_flush(FILE *stream, const char *name);
/* Ends the output. If a part of the output could not be written, reports that on stderr and returns false. */
bool print_close(void);

/* Sets the prefix of the lines that the calling thread prints. The text must stay valid. */
void print_set_prefix(const char *text);
/* Prints a line. May be called by any thread. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* These functions print a line like print_line. On a terminal, print_error prints in red and print_title in bold. */
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_title(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns true if some output could not be written. A tool that prints until it is interrupted should then end. */
bool print_is_lost(void);

/* Prints "step failed: STATUS_X (0x...)" and advice for this status. */
void print_failed(const char *step, NTSTATUS status);
/*
 * Prints the step and status like print_failed, and then, depending on `reason`:
 *   0                            the advice for the status
 *   a reason of OpenNDK          the reason and its advice, which is more specific than the advice for the status
 *   a code of another provider   the advice for the status, and the code as a number
 */
void print_failed_for(const char *step, NTSTATUS status, uint32_t reason);
/* Works like print_failed, but prints the caller's own advice. */
void print_failed_advice(const char *step, NTSTATUS status, const char *advice);
/* Works like print_failed_for, for a step of the consumer's connection. Uses the connector's reason. */
void print_step_failed(const struct consumer *c, const char *step, NTSTATUS status);

#endif
