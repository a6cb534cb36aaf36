/* SPDX-License-Identifier: MIT */
/*
 * A table that the caller fills cell by cell and row by row. It is printed with aligned columns or as CSV. All cells
 * are printable ASCII: any other byte becomes '?', because other processes choose texts, and a terminal might interpret
 * them. A long cell is cut and ends with "...", because it would widen the column for all processes.
 */
#ifndef NDKSTAT_TABLE_H
#define NDKSTAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *title; /* NULL: the column is only in CSV */
    const char *key;   /* the column's name in CSV; NULL: the column is not in CSV */
    bool is_right;     /* aligned to the right */
    bool is_note;      /* printed without a title on an indented line below the row; in CSV an ordinary column */
};

enum { TABLE_MAX_COLUMNS = 40 };

struct table {
    const struct table_column *columns;
    size_t n_columns;
    bool is_csv;
    bool is_hidden[TABLE_MAX_COLUMNS]; /* true: the column is not printed; CSV ignores this */
    char **cells;
    size_t n_cells, room;
    bool has_failed; /* memory ran out, so some cells are missing */
};

void table_init(struct table *t, const struct table_column *columns, size_t n_columns, bool is_csv);
void table_fini(struct table *t);
/* Each of the following functions appends a cell to the current row. */
void table_add(struct table *t, const char *text);
void table_add_number(struct table *t, uint64_t value);
/* Appends a number of bytes: in CSV the exact number, otherwise a number of at most four digits with a unit. */
void table_add_bytes(struct table *t, uint64_t bytes);
/* Appends a duration: in CSV as seconds, otherwise in a form such as 5s, 2m03s, 1h02m or 3d04h. */
void table_add_age(struct table *t, uint64_t ns);
void table_add_empty(struct table *t); /* appends "-", in CSV an empty cell */

bool table_is_empty(const struct table *t);
/* Prints the titles and the rows. Returns false if memory ran out, so that the table is incomplete. */
bool table_print(const struct table *t, FILE *out);

#endif
