/* SPDX-License-Identifier: MIT */
/*
 * The numbers of live blocks and bytes for each pool tag. Each thread has counters of its own, so that counting costs
 * two additions and no lock. The counter of a thread that frees blocks of other threads may be negative; only the sum
 * over all threads has a meaning.
 */
#ifndef WDK_POOL_TAGS_H
#define WDK_POOL_TAGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_POOL_TAGS = 512 }; /* the last entry is for all tags that did not fit into the table */

struct pool_tag_sum {
    uint32_t tag;
    int64_t blocks, bytes;
};

/* Counters that one thread writes and any thread reads. */
struct pool_count {
    _Atomic int64_t blocks, bytes;
};

struct pool_tag_local {
    struct pool_count *counts; /* the counters of this thread; NULL before its first allocation or free */
    uint32_t tag;              /* the last tag that this thread used */
    unsigned index;            /* the index of that last tag */
};

extern _Thread_local struct pool_tag_local pool_tag_local
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The slow path of pool_tag_index: finds the tag in the table of all tags, or adds it. */
unsigned pool_tag_find(uint32_t tag);
/* Creates and returns the calling thread's counters. Called if the thread has none yet. */
struct pool_count *pool_tag_counts(void);

/* Returns the tag's index, which never changes. */
static inline unsigned pool_tag_index(uint32_t tag)
{
    return __builtin_expect(pool_tag_local.tag == tag && tag, 1) ? pool_tag_local.index : pool_tag_find(tag);
}

static inline void pool_count_add(struct pool_count *c, int64_t blocks, int64_t bytes)
{
    int64_t b = atomic_load_explicit(&c->blocks, memory_order_relaxed);
    int64_t o = atomic_load_explicit(&c->bytes, memory_order_relaxed);

    atomic_store_explicit(&c->blocks, b + blocks, memory_order_relaxed);
    atomic_store_explicit(&c->bytes, o + bytes, memory_order_relaxed);
}

static inline void pool_tag_count(unsigned index, int blocks, int64_t bytes)
{
    struct pool_count *counts = pool_tag_local.counts;

    pool_count_add((__builtin_expect(counts != NULL, 1) ? counts : pool_tag_counts()) + index, blocks, bytes);
}

/*
 * Sets an entry of `sums` for each tag that has counts of its own, and one entry for all other tags together. The other
 * tags are those that were first used when the table of tags was full. Returns the number of entries.
 */
unsigned pool_tag_sums(struct pool_tag_sum sums[MAX_POOL_TAGS]);
/*
 * Writes the tag's four characters and a terminator to `text`, in the order of poolmon: the tag 'Fred' in a driver's
 * source becomes derF. Returns `text`.
 */
const char *pool_tag_text(uint32_t tag, char *text);

#endif
