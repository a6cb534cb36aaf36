/* SPDX-License-Identifier: MIT */
/*
 * Tables from JSON: a view is a list of columns, each of which names the JSON member that it shows, and of the lists
 * whose objects are its rows. A member that is missing or has another type is shown as 0, "-" or "?", because processes
 * with another version may omit it.
 */
#ifndef NDKSTAT_ROWS_H
#define NDKSTAT_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "table.h"

/* Where a column's member is. */
enum column_source {
    IN_PROCESS,
    IN_ADAPTER,
    IN_ADAPTER_COUNTERS,
    IN_OBJECT,
    IN_OBJECT_COUNTERS,
    CELL_MODE,  /* always "User" */
    CELL_TYPE,  /* the type of the row's list */
    CELL_PID,   /* with the user, if it is another one */
    CELL_NETNS, /* the name or the inode of the network namespace */
};

/* NOTE: a text on a line of its own below the row. */
enum column_kind { TEXT, NOTE, NUMBER, BYTES, AGE, TIME };

/* When a column is shown; CSV has all columns. */
enum column_group { ALWAYS, WITH_STATE, WITH_COUNTERS, VERBOSE, OTHER_NETNS };

struct column {
    const char *title; /* NULL: only in CSV */
    const char *key;   /* NULL: not in CSV */
    enum column_source source;
    const char *member;
    enum column_kind kind;
    enum column_group group;
    bool is_rate; /* a difference by time if there is an earlier reading */
};

/* A list whose objects are rows. */
struct list {
    const char *type, *member;
};

struct view {
    const struct column *columns;
    size_t n_columns;
    const struct list *lists; /* a NULL type at the end */
};

struct row {
    const char *type;
    const json_t *process, *adapter, *object;
    const json_t *old_adapter, *old_object; /* of the earlier reading; NULL: there is none */
    unsigned long long ns;                  /* between the two readings */
};

/* "-" for null, "?" for what is no text. */
const char *member_text(const json_t *object, const char *key);
/* 0 if it is no positive number. */
unsigned long long member_number(const json_t *object, const char *key);

struct member_entry {
    unsigned long long number;
    const json_t *object;
};

/* The objects of an array by a member that identifies each of them. An array of another user's process may be long. */
struct member_index {
    struct member_entry *entries; /* in the order of the numbers */
    size_t count;
};

/* array may be NULL. Returns false, with an empty index, if out of memory. */
bool member_index_init(struct member_index *index, const json_t *array, const char *key);
void member_index_fini(struct member_index *index);
/*
 * Returns the object whose member is the number, or NULL. It returns each object once, so that a process whose objects
 * all have one number does not cause work for each pair of them.
 */
const json_t *member_index_find(struct member_index *index, unsigned long long number);

/* Returns the nanoseconds between two readings of a process; 0 if before is NULL or not earlier. */
unsigned long long rows_time_between(const json_t *process, const json_t *before);
/* Begins a table with the view's columns. heads must have v->n_columns entries, and last as long as the table. */
void rows_begin(const struct view *v, const struct options *o, const json_t *processes, struct table *t,
                struct table_column *heads);
/*
 * Returns the number that a column shows: the member, or its change by second if the column is a rate, the row has an
 * earlier reading, and the output is not CSV.
 */
unsigned long long row_number(const struct row *r, const struct column *c, bool is_csv);
/* Adds one row. */
void rows_add(const struct row *r, const struct view *v, struct table *t);
/* Prints the view of the adapters of all processes. before: as in view_print. Returns false if out of memory. */
bool rows_print(FILE *out, const struct view *v, const struct options *o, const json_t *processes,
                const json_t *before);

#endif
