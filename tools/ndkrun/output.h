/* SPDX-License-Identifier: MIT */
/*
 * Writes the output of drivers and of the kernel functions to standard error. Adds function, file and line to stack
 * frames. Writes \xNN in place of each character that a terminal would interpret. Also detects the text for which
 * ndkrun waits.
 */
#ifndef NDKRUN_OUTPUT_H
#define NDKRUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Number of events that are printed with the report of a fault, or of a call that does not end. */
enum { OUTPUT_LAST_EVENTS = 20 };

/*
 * Returns a stream that writes to standard error line by line, or NULL if out of memory. `awaited` is the text that the
 * stream searches for in each line (see output_has_match); it may be NULL.
 */
FILE *output_open(const char *awaited);
/* Returns true if a written line contained the text `awaited` of output_open. May be called by any thread. */
bool output_has_match(void);
/* Makes output_has_match return false until another line contains the text. */
void output_forget_match(void);
/* Returns true if some output could not be written, for example because standard error is a file on a full disk. */
bool output_lost(void);

#endif
