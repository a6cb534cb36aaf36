/* SPDX-License-Identifier: MIT */
/*
 * Declares the log, which openndk/log.h describes for programs. The thread that writes a line waits only for a callback
 * of the program, or for the disk of a log file. Any thread may write lines, up to DISPATCH_LEVEL. The thread must not
 * hold a lock of the library, because the program's callback may block.
 */
#ifndef PROVIDER_LOG_H
#define PROVIDER_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "openndk/log.h"

extern _Atomic uint32_t log_level; /* only log_is_on reads it */

/* Returns true if lines of this level are written. */
static inline bool log_is_on(uint32_t level)
{
    return level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/*
 * Reads ONDK_LOG in the first call. Further calls do nothing. Must be called at PASSIVE_LEVEL. Before the first call,
 * the level is warn, and lines go to standard error.
 */
void log_start(void);
/*
 * Parses a value of ONDK_LOG. Sets *file to the name of the file, or to NULL if the value names no file. Returns false
 * if the value is not valid.
 */
bool log_parse(const char *value, uint32_t *level, const char **file);

/* Writes one line. Characters that are not printable ASCII become question marks. Does nothing if the level is off. */
void log_line(uint32_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a text of several lines. Each line ends with \n. */
void log_lines(uint32_t level, const char *text);
/* Counts a line that the caller leaves out. log_report_left_out writes the count. */
void log_leave_out(void);
/*
 * Writes a line of this level with the number of lines that were left out. Does nothing if there are none. If `is_due`
 * is false, writes at most one such line a second.
 */
void log_report_left_out(uint32_t level, bool is_due);

#endif
