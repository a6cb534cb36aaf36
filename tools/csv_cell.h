/* SPDX-License-Identifier: MIT */
/* Writes cells of the tables that --csv prints. */
#ifndef TOOLS_CSV_CELL_H
#define TOOLS_CSV_CELL_H

#include <stdio.h>

/*
 * Writes the text as a cell in the format of RFC 4180: in quotes if it contains a comma, a quote or a control
 * character.
 */
void csv_cell_write(FILE *out, const char *text);

#endif
