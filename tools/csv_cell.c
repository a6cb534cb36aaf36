/* SPDX-License-Identifier: MIT */
/* Writes cells of a CSV table: see csv_cell.h. */
#include "csv_cell.h"

#include <stdbool.h>

static bool csv_cell_needs_quotes(const char *text)
{
    for (; *text; text++)
        if (*text == ',' || *text == '"' || ((unsigned char)*text < 0x20))
            return true;
    return false;
}

void csv_cell_write(FILE *out, const char *text)
{
    bool quotes = csv_cell_needs_quotes(text);

    if (quotes)
        fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    if (quotes)
        fputc('"', out);
}
