/* SPDX-License-Identifier: MIT */
/*
 * What drivers and their kernel print, on its way to standard error: stack frames get the names of function, file
 * and line, a text that is waited for is seen, and what a terminal would obey becomes \xNN.
 */
#ifndef NDKRUN_OUTPUT_H
#define NDKRUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Line by line to standard error. NULL: no memory. */
FILE *output_open(const char *awaited);
/* Has a line with the awaited text come? Any thread. */
bool output_seen(void);
/* Could a part not be written, as standard error is a file on a full disk? */
bool output_lost(void);

#endif
