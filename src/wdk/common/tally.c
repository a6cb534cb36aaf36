/* SPDX-License-Identifier: MIT */
/*
 * Counts what drivers do: see tally.h. The counts are in a hash table with open addressing. An entry's key is set once,
 * by an atomic exchange, and never changes.
 */
#include "wdk/common/tally.h"

#include <stdatomic.h>
#include <stddef.h>

enum { BITS_OF_CODE = 32, BITS_OF_GROUP = 40 };

static struct entry {
    _Atomic uint64_t key; /* 0: not used */
    _Atomic uint64_t count, bytes;
} entries[TALLY_MAX_ENTRIES];

/* Returns the key, which is not 0, because the group is counted from 1. */
static uint64_t tally_key(enum tally_group group, uint8_t code, uint32_t status)
{
    return ((uint64_t)group + 1) << BITS_OF_GROUP | (uint64_t)code << BITS_OF_CODE | status;
}

/* Returns the entry with this key, which it adds if necessary. Returns NULL if the table is full. */
static struct entry *tally_find(uint64_t key)
{
    unsigned at = (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56) % TALLY_MAX_ENTRIES;

    for (unsigned i = 0; i < TALLY_MAX_ENTRIES; i++, at = (at + 1) % TALLY_MAX_ENTRIES) {
        uint64_t found = atomic_load_explicit(&entries[at].key, memory_order_relaxed);

        if (found == key)
            return &entries[at];
        if (!found && (atomic_compare_exchange_strong_explicit(&entries[at].key, &found, key, memory_order_relaxed,
                                                               memory_order_relaxed) ||
                       found == key))
            return &entries[at];
    }
    return NULL;
}

void tally_add(enum tally_group group, uint8_t code, uint32_t status, uint64_t bytes)
{
    struct entry *e = tally_find(tally_key(group, code, status));

    if (!e)
        return;
    atomic_fetch_add_explicit(&e->count, 1, memory_order_relaxed);
    if (bytes)
        atomic_fetch_add_explicit(&e->bytes, bytes, memory_order_relaxed);
}

static uint64_t tally_key_of(const struct tally *t)
{
    return tally_key(t->group, t->code, t->status);
}

unsigned tally_copy(struct tally all[TALLY_MAX_ENTRIES])
{
    unsigned n = 0;

    for (size_t i = 0; i < TALLY_MAX_ENTRIES; i++) {
        uint64_t key = atomic_load_explicit(&entries[i].key, memory_order_relaxed);
        struct tally one = {
            .group = (enum tally_group)((key >> BITS_OF_GROUP) - 1),
            .code = (uint8_t)(key >> BITS_OF_CODE),
            .status = (uint32_t)key,
            .count = atomic_load_explicit(&entries[i].count, memory_order_relaxed),
            .bytes = atomic_load_explicit(&entries[i].bytes, memory_order_relaxed),
        };
        unsigned at = n;

        if (!key || !one.count)
            continue;
        for (; at > 0 && tally_key_of(&all[at - 1]) > key; at--)
            all[at] = all[at - 1];
        all[at] = one;
        n++;
    }
    return n;
}
