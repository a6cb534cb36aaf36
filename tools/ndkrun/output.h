/* SPDX-License-Identifier: MIT */
/*
 * Writes the output of drivers and of the kernel functions to standard error. Adds function, file and line to stack
 * frames. Characters that a terminal would interpret become \xNN. Also detects a text that ndkrun waits for.
 */
#ifndef NDKRUN_OUTPUT_H
#define NDKRUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

enum { OUTPUT_LAST_EVENTS = 20 }; /* printed with the report of a fault, or of a call that does not end */

/*
 * Returns a stream that writes to standard error line by line, or NULL if out of memory. `awaited` is the text that
 * the stream looks for in each line: see output_has_match. `awaited` may be NULL.
 */
FILE *output_open(const char *awaited);
/* Returns true if a line with the awaited text was written. May be called by any thread. */
bool output_has_match(void);
/* Returns true if some output could not be written, for example because standard error is a file on a full disk. */
bool output_lost(void);

#endif
