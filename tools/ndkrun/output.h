/* SPDX-License-Identifier: MIT */
/*
 * Output of drivers and their kernel to standard error. Stack frames get the names of function, file and line, an
 * awaited text is detected, and characters that a terminal would interpret become \xNN.
 */
#ifndef NDKRUN_OUTPUT_H
#define NDKRUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Returns a stream that writes line by line to standard error; NULL if out of memory. */
FILE *output_open(const char *awaited);
/* Returns whether a line with the awaited text was written. Any thread. */
bool output_has_match(void);
/* Returns whether a part could not be written, for example because standard error is a file on a full disk. */
bool output_lost(void);

#endif
