/* SPDX-License-Identifier: MIT */
/*
 * The log; openndk/log.h describes it for programs. Nothing of it waits, except for a callback of the program. Any
 * thread, up to DISPATCH_LEVEL; no lock of the library may be held, because the callback is the program's.
 */
#ifndef PROVIDER_LOG_H
#define PROVIDER_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "openndk/log.h"

extern _Atomic uint32_t log_level; /* read by log_is_on alone */

/* Is a line of this level wanted? */
static inline bool log_is_on(uint32_t level)
{
    return level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/*
 * Reads ONDK_LOG, the first time. PASSIVE_LEVEL. Lines that are written before are of the level warn and go to standard
 * error.
 */
void log_start(void);
/* Parses a value of ONDK_LOG. Sets *file to NULL if it has none. Returns false if it is not valid. */
bool log_parse(const char *value, uint32_t *level, const char **file);

/* Writes one line. Characters that are not printable ASCII become question marks. Does nothing if the level is off. */
void log_line(uint32_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a text of several lines, each of which ends with \n, as several lines. */
void log_lines(uint32_t level, const char *text);
/* Counts a line that the caller does not write. A later line is preceded by one with the count. */
void log_leave_out(void);
/* Writes the count of lines left out, if there are any, at this level. Unless it is due now, at most once a second. */
void log_report_left_out(uint32_t level, bool is_due);

#endif
