/* SPDX-License-Identifier: MIT */
/* Cells of the tables that --csv prints. */
#ifndef TOOLS_CSV_CELL_H
#define TOOLS_CSV_CELL_H

#include <stdio.h>

/* Writes the text as a cell as RFC 4180 describes it: in quotes if it has a comma, a quote or a control character. */
void csv_cell_write(FILE *out, const char *text);

#endif
