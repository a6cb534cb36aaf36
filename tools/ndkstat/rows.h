/* SPDX-License-Identifier: MIT */
/*
 * Fills tables from JSON. A view has columns and lists. Each column shows one JSON member, and each object in a list is
 * a row. A process with another version of OpenNDK may lack a member, or give it another type. The member's cell then
 * shows 0, "-" or "?".
 */
#ifndef NDKSTAT_ROWS_H
#define NDKSTAT_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "table.h"

/*
 * The source of a column's text. IN_X: the column shows a member of object X. CELL_X: the text is made from several
 * members, or is constant.
 */
enum column_source {
    IN_PROCESS,
    IN_ADAPTER,
    IN_ADAPTER_COUNTERS,
    IN_ADAPTER_LIMITS,
    IN_OBJECT,
    IN_OBJECT_COUNTERS,
    CELL_MODE,  /* always "User" */
    CELL_TYPE,  /* the type of the row: see struct list */
    CELL_PID,   /* the process ID, and the user if it is another user's process */
    CELL_NETNS, /* the name or the inode of the network namespace */
};

/* The form in which a column shows its member. A NOTE is a text on a line of its own below the row. */
enum column_kind { TEXT, NOTE, NUMBER, BYTES, AGE, TIME };

/* The condition for showing a column. CSV ignores it, and contains every column that has a key. */
enum column_group { ALWAYS, WITH_STATE, WITH_COUNTERS, VERBOSE, OTHER_NETNS };

struct column {
    const char *title; /* NULL: the column is only in CSV */
    const char *key;   /* the column's name in CSV; NULL: the column is not in CSV */
    enum column_source source;
    const char *member;
    enum column_kind kind;
    enum column_group group;
    bool is_rate; /* shows the change per second if an earlier reading exists */
};

/*
 * A list in an adapter's JSON object. `member` is the list's name in the JSON object. Each object in the list becomes a
 * row of the type `type`. If `member` is NULL, the row shows the adapter itself.
 */
struct list {
    const char *type, *member;
};

struct view {
    const struct column *columns;
    size_t n_columns;
    const struct list *lists; /* array whose last entry has the type NULL */
};

struct row {
    const char *type;
    const json_t *process, *adapter, *object;
    const json_t *old_adapter, *old_object; /* the adapter and the object in the earlier reading, or NULL */
    unsigned long long ns;                  /* nanoseconds between the two readings */
};

/* Returns the text in a member, "-" if the member is null, or "?" if it is missing or not a text. */
const char *member_text(const json_t *object, const char *key);
/* Returns the number in a member if it is a positive integer, otherwise 0. */
unsigned long long member_number(const json_t *object, const char *key);

struct member_entry {
    unsigned long long number;
    const json_t *object;
};

/*
 * An index of the objects in an array, sorted by a numeric member. Without an index, a search in a long array is slow.
 */
struct member_index {
    struct member_entry *entries; /* sorted by `number` */
    size_t count;
};

/*
 * Builds the index of an array by the numeric member `key`. `array` may be NULL. If out of memory, returns false and
 * leaves the index empty.
 */
bool member_index_init(struct member_index *index, const json_t *array, const char *key);
void member_index_fini(struct member_index *index);
/*
 * Returns the object whose indexed member equals `number`, or NULL. Finds each number only once: a second call with the
 * same number returns NULL. So each object is compared only once, even if a process reports the same number for all its
 * objects.
 */
const json_t *member_index_find(struct member_index *index, unsigned long long number);

/* Returns the nanoseconds between two readings of a process. Returns 0 if `before` is NULL or not earlier. */
unsigned long long rows_time_between(const json_t *process, const json_t *before);
/* Initializes a table with the view's columns. `heads` must have v->n_columns entries and stay valid as long as *t. */
void rows_begin(const struct view *v, const struct options *o, const json_t *processes, struct table *t,
                struct table_column *heads);
/*
 * Returns the number that a column shows: the member's value, or, in a rate column with an earlier reading, the change
 * per second. If is_csv is true, always returns the member's value.
 */
unsigned long long row_number(const struct row *r, const struct column *c, bool is_csv);
/* Adds one row. */
void rows_add(const struct row *r, const struct view *v, struct table *t);
/*
 * Prints a view of the adapters of all processes. `before` is an earlier reading, or NULL. Returns false if out of
 * memory.
 */
bool rows_print(FILE *out, const struct view *v, const struct options *o, const json_t *processes,
                const json_t *before);

#endif
