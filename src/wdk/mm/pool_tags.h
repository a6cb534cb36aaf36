/* SPDX-License-Identifier: MIT */
/*
 * The numbers of live blocks and bytes for each pool tag. Each thread has counters of its own, so that counting costs
 * two additions without a lock. A thread's counter is negative if it frees blocks of other threads; only the sum over
 * all threads has a meaning.
 */
#ifndef WDK_POOL_TAGS_H
#define WDK_POOL_TAGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_POOL_TAGS = 512 }; /* the last entry counts for all tags for which the table had no room */

struct pool_tag_sum {
    uint32_t tag;
    int64_t blocks, bytes;
};

/* Counters that one thread writes and any thread reads. */
struct pool_count {
    _Atomic int64_t blocks, bytes;
};

struct pool_tag_local {
    struct pool_count *counts; /* the counters of this thread; NULL before its first allocation */
    uint32_t tag;              /* the last tag that this thread used */
    unsigned index;            /* the index of that last tag */
};

extern _Thread_local struct pool_tag_local pool_tag_local
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The slow path of pool_tag_index: looks the tag up in the table of all tags, and adds the tag if it is new. */
unsigned pool_tag_find(uint32_t tag);
/* Returns the calling thread's counters, and creates them if necessary. */
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
 * Sets an entry of `sums` for each tag that has its own counts, and one entry for all other tags together. A tag has
 * no counts of its own if the table of tags was full when the tag was first used. Returns the number of entries set.
 */
unsigned pool_tag_sums(struct pool_tag_sum sums[MAX_POOL_TAGS]);
/*
 * Writes the tag's four characters and a terminator to `text`, in poolmon's order: the tag 'Fred' in a driver's
 * source becomes derF. Returns `text`.
 */
const char *pool_tag_text(uint32_t tag, char *text);

#endif
