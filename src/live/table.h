/* SPDX-License-Identifier: MIT */
/* A table in static memory with numbers as values. A new entry in a full table replaces entries[oldest]. */
#ifndef LIVE_TABLE_H
#define LIVE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { LIVE_TABLE_BUCKETS = 1024, LIVE_TABLE_ENTRIES = 4096 };

struct live_key {
    uint64_t object, context;
    uint32_t routine;
};

struct live_entry {
    struct live_key key;
    uint64_t value;
    uint16_t next; /* next in the same list: 1 + index of the entry; 0: none */
};

struct live_table {
    uint16_t buckets[LIVE_TABLE_BUCKETS]; /* 1 + index of the first entry in the bucket; 0: none */
    uint16_t removed;                     /* list of removed entries: 1 + index of the first one; 0: none */
    uint16_t fresh;                       /* number of entries that were ever used */
    uint16_t oldest;                      /* index of the entry that is replaced next when all entries are in use */
    struct live_entry entries[LIVE_TABLE_ENTRIES];
};

/* Returns the entry with this key, or NULL. The caller may change the entry's value. */
struct live_entry *live_table_find(struct live_table *t, const struct live_key *key);
/* Adds an entry and returns it. Requires that the table has no entry with this key. */
struct live_entry *live_table_insert(struct live_table *t, const struct live_key *key, uint64_t value);
/*
 * Removes the entry with this key. If `value` is not NULL, sets *value to the entry's value. Returns false if there is
 * no such entry.
 */
bool live_table_remove(struct live_table *t, const struct live_key *key, uint64_t *value);

#endif
