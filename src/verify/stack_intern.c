/* SPDX-License-Identifier: MIT */
/* Stores stacks in a hash table that only grows: see stack_intern.h. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verify/stack_intern.h"
#include "verify/report.h"

enum { BUCKETS = 1024, MAX_INTERNED = 16384 };

struct interned {
    struct stack stack;
    struct interned *next;
};

static _Atomic(struct interned *) buckets[BUCKETS];
static atomic_uint count; /* number of stored stacks; limited, because recursion can produce any number of stacks */

static unsigned stack_bucket(const struct stack *s)
{
    uint64_t hash = 14695981039346656037ULL;

    for (int i = 0; i < s->depth; i++)
        hash = (hash ^ (uintptr_t)s->frames[i]) * 1099511628211ULL;
    return (unsigned)(hash >> 32) % BUCKETS;
}

static bool stack_equal(const struct stack *a, const struct stack *b)
{
    return a->depth == b->depth && !memcmp(a->frames, b->frames, (size_t)a->depth * sizeof a->frames[0]);
}

/*
 * Adds the stack to the bucket. Returns NULL if the table is full or memory ran out. If two threads add the same stack
 * at the same time, the table has the stack twice, which is harmless.
 */
static struct interned *stack_intern_new(const struct stack *s, _Atomic(struct interned *) *bucket)
{
    struct interned *entry = atomic_fetch_add(&count, 1) < MAX_INTERNED ? malloc(sizeof *entry) : NULL;

    if (!entry)
        return NULL;
    entry->stack = *s;
    entry->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &entry->next, entry))
        continue;
    return entry;
}

const struct stack *stack_intern(const void *by)
{
    static const struct stack none;
    _Atomic(struct interned *) *bucket;
    struct stack now;
    struct interned *entry;

    if (!verify_on())
        return &none;
    stack_walk(&now, by);
    bucket = &buckets[stack_bucket(&now)];
    entry = atomic_load_explicit(bucket, memory_order_acquire);
    while (entry && !stack_equal(&entry->stack, &now))
        entry = entry->next;
    if (!entry)
        entry = stack_intern_new(&now, bucket);
    return entry ? &entry->stack : &none;
}
