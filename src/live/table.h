/* SPDX-License-Identifier: MIT */
/* A table in static memory, from keys to numbers. If it is full, a new entry replaces the oldest one. */
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
    uint16_t next; /* in the same list: 1 + the entry's index; 0: none */
};

struct live_table {
    uint16_t buckets[LIVE_TABLE_BUCKETS]; /* 1 + the index of the first entry; 0: none */
    uint16_t removed;                     /* the list of removed entries: 1 + the index of the first; 0: none */
    uint16_t fresh;                       /* how many entries have ever been used */
    uint16_t oldest;                      /* if all are used: the index of the entry to replace next */
    struct live_entry entries[LIVE_TABLE_ENTRIES];
};

/* Returns the entry with this key, or NULL. Its value may be changed. */
struct live_entry *live_table_find(struct live_table *t, const struct live_key *key);
/* The table must not have the key. */
struct live_entry *live_table_insert(struct live_table *t, const struct live_key *key, uint64_t value);
/* Removes the entry and returns true. Returns false if there is none. `value`, unless NULL, receives its value. */
bool live_table_remove(struct live_table *t, const struct live_key *key, uint64_t *value);

#endif
