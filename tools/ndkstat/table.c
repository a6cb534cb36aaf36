/* SPDX-License-Identifier: MIT */
/* Implements tables: see table.h. */
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "csv_cell.h"
#include "base/printable.h"

#define NS_PER_S UINT64_C(1000000000)
#define CUT_MARK "..."

/*
 * The maximum number of characters in a cell. MAX_CSV_CELL is the length of the longest command line that a process
 * reports.
 */
enum { MAX_CELL = 256, MAX_CSV_CELL = 1024 };

void table_init(struct table *t, const struct table_column *columns, size_t n_columns, bool is_csv)
{
    *t = (struct table){ .columns = columns, .n_columns = n_columns, .is_csv = is_csv };
}

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->n_cells = t->room = 0;
}

void table_add(struct table *t, const char *text)
{
    size_t max = t->is_csv ? MAX_CSV_CELL : MAX_CELL;
    bool is_cut = strnlen(text, max + 1) > max;
    char *cell;

    if (t->n_cells == t->room) {
        size_t room = t->room ? 2 * t->room : 256;
        char **cells = realloc(t->cells, room * sizeof *cells);
        if (cells) {
            t->cells = cells;
            t->room = room;
        }
    }
    cell = t->n_cells < t->room ? strndup(text, max) : NULL;
    if (!cell) {
        t->has_failed = true;
        return;
    }
    printable_replace(cell);
    if (is_cut)
        memcpy(cell + max - strlen(CUT_MARK), CUT_MARK, strlen(CUT_MARK));
    t->cells[t->n_cells++] = cell;
}

void table_add_number(struct table *t, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    table_add(t, text);
}

void table_add_bytes(struct table *t, uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    double value = (double)bytes;
    size_t unit = 0;
    char text[32];

    if (t->is_csv || bytes < 10000) {
        table_add_number(t, bytes);
        return;
    }
    for (value /= 1024; value >= 1000; value /= 1024)
        unit++;
    snprintf(text, sizeof text, value < 10 ? "%.2f%c" : value < 100 ? "%.1f%c" : "%.0f%c", value, units[unit]);
    table_add(t, text);
}

void table_add_age(struct table *t, uint64_t ns)
{
    uint64_t s = ns / NS_PER_S, minutes = s / 60, hours = minutes / 60;
    char text[48];

    if (t->is_csv)
        snprintf(text, sizeof text, "%" PRIu64 ".%03u", s, (unsigned)(ns % NS_PER_S / 1000000));
    else if (s < 60)
        snprintf(text, sizeof text, "%" PRIu64 "s", s);
    else if (minutes < 60)
        snprintf(text, sizeof text, "%" PRIu64 "m%02us", minutes, (unsigned)(s % 60));
    else if (hours < 24)
        snprintf(text, sizeof text, "%" PRIu64 "h%02um", hours, (unsigned)(minutes % 60));
    else
        snprintf(text, sizeof text, "%" PRIu64 "d%02uh", hours / 24, (unsigned)(hours % 24));
    table_add(t, text);
}

void table_add_empty(struct table *t)
{
    table_add(t, t->is_csv ? "" : "-");
}

bool table_is_empty(const struct table *t)
{
    return t->n_cells == 0 && !t->has_failed;
}

/* ---- printing ---- */

static void table_print_csv(const struct table *t, FILE *out)
{
    const char *separator = "";

    for (size_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].key) {
            fprintf(out, "%s%s", separator, t->columns[i].key);
            separator = ",";
        }
    fputc('\n', out);
    for (size_t row = 0; row + t->n_columns <= t->n_cells; row += t->n_columns) {
        separator = "";
        for (size_t i = 0; i < t->n_columns; i++)
            if (t->columns[i].key) {
                fputs(separator, out);
                csv_cell_write(out, t->cells[row + i]);
                separator = ",";
            }
        fputc('\n', out);
    }
}

static bool table_has_column(const struct table *t, size_t i)
{
    return t->columns[i].title && !t->is_hidden[i] && !t->columns[i].is_note;
}

/* Prints a row. Prints the titles if `cells` is NULL. Omits spaces at the end of a line. */
static void table_print_row(const struct table *t, const int *widths, char *const *cells, FILE *out)
{
    int blanks = 0;

    for (size_t i = 0; i < t->n_columns; i++) {
        const char *text;
        int missing;
        if (!table_has_column(t, i))
            continue;
        text = cells ? cells[i] : t->columns[i].title;
        missing = widths[i] - (int)strlen(text);
        blanks += 2 + (t->columns[i].is_right ? missing : 0);
        fprintf(out, "%*s%s", blanks, "", text);
        blanks = t->columns[i].is_right ? 0 : missing;
    }
    fputc('\n', out);
}

static void table_print_notes(const struct table *t, char *const *cells, FILE *out)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->columns[i].is_note && !t->is_hidden[i] && strcmp(cells[i], "-") != 0)
            fprintf(out, "      %s\n", cells[i]);
}

static void table_print_aligned(const struct table *t, FILE *out)
{
    int widths[TABLE_MAX_COLUMNS] = { 0 };

    for (size_t i = 0; i < t->n_columns; i++)
        widths[i] = t->columns[i].title ? (int)strlen(t->columns[i].title) : 0;
    for (size_t i = 0; i < t->n_cells; i++) {
        int width = (int)strlen(t->cells[i]);
        if (width > widths[i % t->n_columns])
            widths[i % t->n_columns] = width;
    }
    table_print_row(t, widths, NULL, out);
    for (size_t row = 0; row + t->n_columns <= t->n_cells; row += t->n_columns) {
        table_print_row(t, widths, t->cells + row, out);
        table_print_notes(t, t->cells + row, out);
    }
}

bool table_print(const struct table *t, FILE *out)
{
    if (t->is_csv)
        table_print_csv(t, out);
    else
        table_print_aligned(t, out);
    return !t->has_failed;
}
