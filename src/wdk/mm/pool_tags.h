/* SPDX-License-Identifier: MIT */
/*
 * Outstanding blocks and octets for each pool tag. Each thread counts for itself, so that a count costs no more than
 * two additions; what it allocated and another freed is negative there, and the sum is right.
 */
#ifndef WDK_POOL_TAGS_H
#define WDK_POOL_TAGS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_TAGS_MOST = 512 }; /* the last one counts for all tags that found no place */

struct pool_tag_sum {
    uint32_t tag;
    int64_t blocks, octets;
};

/* One writer; readers see each number whole. */
struct pool_count {
    _Atomic int64_t blocks, octets;
};

struct pool_tag_local {
    struct pool_count *counts; /* of this thread; NULL: it has not allocated yet */
    uint32_t tag;              /* the last one asked for */
    unsigned index;
};

extern _Thread_local struct pool_tag_local pool_tag_local
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

unsigned pool_tag_find(uint32_t tag);
struct pool_count *pool_tag_counts(void);

/* A tag's place, for good. */
static inline unsigned pool_tag_index(uint32_t tag)
{
    return __builtin_expect(pool_tag_local.tag == tag && tag, 1) ? pool_tag_local.index : pool_tag_find(tag);
}

static inline void pool_count_add(struct pool_count *c, int64_t blocks, int64_t octets)
{
    int64_t b = atomic_load_explicit(&c->blocks, memory_order_relaxed);
    int64_t o = atomic_load_explicit(&c->octets, memory_order_relaxed);

    atomic_store_explicit(&c->blocks, b + blocks, memory_order_relaxed);
    atomic_store_explicit(&c->octets, o + octets, memory_order_relaxed);
}

static inline void pool_tag_count(unsigned index, int blocks, int64_t octets)
{
    struct pool_count *counts = pool_tag_local.counts;

    pool_count_add((__builtin_expect(counts != NULL, 1) ? counts : pool_tag_counts()) + index, blocks, octets);
}

/* How many places there are so far. */
unsigned pool_tag_sums(struct pool_tag_sum sums[POOL_TAGS_MOST]);
/* As poolmon shows it: 'Fred' in the source is derF. text has room for 5. */
const char *pool_tag_text(uint32_t tag, char *text);

#endif
