/* SPDX-License-Identifier: MIT */
/*
 * A table that is filled cell by cell, row by row, and printed with aligned columns or as CSV. All cells are printable
 * ASCII. Any other byte of a text becomes '?', because a terminal might interpret texts that other processes choose. A
 * long cell is cut and ends with "...", because one cell would otherwise widen the rows of all processes.
 */
#ifndef NDKSTAT_TABLE_H
#define NDKSTAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table_column {
    const char *title; /* NULL if the column is only in CSV */
    const char *key;   /* the column's name in CSV; NULL if the column is not in CSV */
    bool is_right;     /* aligned to the right */
    bool is_note;      /* printed without a title on an indented line below the row; in CSV an ordinary column */
};

enum { TABLE_MAX_COLUMNS = 40 };

struct table {
    const struct table_column *columns;
    size_t n_columns;
    bool is_csv;
    bool is_hidden[TABLE_MAX_COLUMNS]; /* columns that are not printed; CSV ignores this */
    char **cells;
    size_t n_cells, room;
    bool has_failed; /* out of memory: some cells are missing */
};

void table_init(struct table *t, const struct table_column *columns, size_t n_columns, bool is_csv);
void table_fini(struct table *t);
/* Append the next cell. */
void table_add(struct table *t, const char *text);
void table_add_number(struct table *t, uint64_t value);
/* Appends a number of bytes: exact in CSV, otherwise rounded to at most four digits with a unit. */
void table_add_bytes(struct table *t, uint64_t bytes);
/* Appends a time: seconds in CSV, otherwise as 5s, 2m03s, 1h02m or 3d04h. */
void table_add_age(struct table *t, uint64_t ns);
void table_add_empty(struct table *t); /* appends "-", or in CSV an empty cell */

bool table_is_empty(const struct table *t);
/* Prints the titles and the rows. Returns false if the table is incomplete because memory ran out. */
bool table_print(const struct table *t, FILE *out);

#endif
