/* SPDX-License-Identifier: MIT */
/* Implements the table: see table.h. */
#include "live/table.h"

#include <stddef.h>

static uint16_t *live_table_bucket(struct live_table *t, const struct live_key *key)
{
    uint64_t hash = (key->object ^ key->context * 31 ^ key->routine) * UINT64_C(0x9e3779b97f4a7c15);

    return &t->buckets[hash >> 32 & (LIVE_TABLE_BUCKETS - 1)];
}

static bool live_key_equals(const struct live_key *a, const struct live_key *b)
{
    return a->object == b->object && a->context == b->context && a->routine == b->routine;
}

/*
 * Returns the link that points to the entry with this key, or the link at the end of the bucket's list if there is no
 * such entry.
 */
static uint16_t *live_table_place(struct live_table *t, const struct live_key *key)
{
    uint16_t *at = live_table_bucket(t, key);

    while (*at && !live_key_equals(&t->entries[*at - 1].key, key))
        at = &t->entries[*at - 1].next;
    return at;
}

struct live_entry *live_table_find(struct live_table *t, const struct live_key *key)
{
    uint16_t index = *live_table_place(t, key);

    return index ? &t->entries[index - 1] : NULL;
}

bool live_table_remove(struct live_table *t, const struct live_key *key, uint64_t *value)
{
    uint16_t *at = live_table_place(t, key), index;
    struct live_entry *e;

    if (!*at)
        return false;
    e = &t->entries[*at - 1];
    if (value)
        *value = e->value;
    index = *at;
    *at = e->next;
    e->next = t->removed;
    t->removed = index;
    return true;
}

/* Returns 1 + the index of a free entry. If all entries are in use, first removes entries[oldest]. */
static uint16_t live_table_alloc(struct live_table *t)
{
    uint16_t index = t->removed;

    if (!index && t->fresh < LIVE_TABLE_ENTRIES)
        return ++t->fresh;
    if (!index) {
        struct live_key oldest = t->entries[t->oldest].key;

        t->oldest = (uint16_t)((t->oldest + 1) % LIVE_TABLE_ENTRIES);
        (void)live_table_remove(t, &oldest, NULL);
        index = t->removed;
    }
    t->removed = t->entries[index - 1].next;
    return index;
}

struct live_entry *live_table_insert(struct live_table *t, const struct live_key *key, uint64_t value)
{
    uint16_t index = live_table_alloc(t), *bucket = live_table_bucket(t, key);
    struct live_entry *e = &t->entries[index - 1];

    *e = (struct live_entry){ .key = *key, .value = value, .next = *bucket };
    *bucket = index;
    return e;
}
