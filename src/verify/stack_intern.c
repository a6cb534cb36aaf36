/* SPDX-License-Identifier: MIT */
/* Stacks that are kept: see stack_intern.h. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verify/stack_intern.h"
#include "wdk/common/check.h"

enum { BUCKETS = 1024, KEPT_MOST = 16384 };

struct kept {
    struct stack stack;
    struct kept *next;
};

static _Atomic(struct kept *) buckets[BUCKETS];
static atomic_uint count; /* recursion has as many stacks as it likes */

static unsigned bucket_of(const struct stack *s)
{
    uint64_t hash = 14695981039346656037ULL;

    for (int i = 0; i < s->depth; i++)
        hash = (hash ^ (uintptr_t)s->frames[i]) * 1099511628211ULL;
    return (unsigned)(hash >> 32) % BUCKETS;
}

static bool is_same(const struct stack *a, const struct stack *b)
{
    return a->depth == b->depth && !memcmp(a->frames, b->frames, (size_t)a->depth * sizeof a->frames[0]);
}

/* One that two threads keep at a time is there twice, which does no harm. */
static struct kept *keep(const struct stack *s, _Atomic(struct kept *) *bucket)
{
    struct kept *k = atomic_fetch_add(&count, 1) < KEPT_MOST ? malloc(sizeof *k) : NULL;

    if (!k)
        return NULL;
    k->stack = *s;
    k->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &k->next, k))
        continue;
    return k;
}

const struct stack *kept_stack(const void *by)
{
    static const struct stack none;
    _Atomic(struct kept *) *bucket;
    struct stack now;
    struct kept *k;

    if (!check_on())
        return &none;
    stack_walk(&now, by);
    bucket = &buckets[bucket_of(&now)];
    k = atomic_load_explicit(bucket, memory_order_acquire);
    while (k && !is_same(&k->stack, &now))
        k = k->next;
    if (!k)
        k = keep(&now, bucket);
    return k ? &k->stack : &none;
}
