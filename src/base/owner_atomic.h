/* SPDX-License-Identifier: MIT */
/*
 * Contains all accesses to the atomics of struct owner. The invariant: owner.c accesses them only through these
 * functions. The interleaving explorer (tests/owner) replaces this file by one in which each access is a scheduling
 * point.
 */
#ifndef OPENNDK_BASE_OWNER_ATOMIC_H
#define OPENNDK_BASE_OWNER_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/owner.h"

static inline uint32_t owner_word_load(struct owner *o)
{
    return atomic_load_explicit(&o->word, memory_order_acquire);
}

static inline bool owner_word_exchange(struct owner *o, uint32_t *seen, uint32_t next)
{
    return atomic_compare_exchange_weak_explicit(&o->word, seen, next, memory_order_acq_rel, memory_order_acquire);
}

static inline uint32_t owner_wake_count_load(struct owner *o)
{
    return atomic_load_explicit(&o->wake_count, memory_order_acquire);
}

static inline void owner_wake_count_add(struct owner *o)
{
    atomic_fetch_add_explicit(&o->wake_count, 1, memory_order_release);
}

static inline uint64_t owner_renewed_load(struct owner *o)
{
    return atomic_load_explicit(&o->renewed, memory_order_relaxed);
}

static inline void owner_renewed_store(struct owner *o, uint64_t now)
{
    atomic_store_explicit(&o->renewed, now, memory_order_relaxed);
}

#endif
