/* SPDX-License-Identifier: MIT */
/* See random.h. The seeded sequence is a counter through a mixing function, so that it can be shared without a lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/random.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

enum { SEEDED_STEP = 2 }; /* the counter stays odd, so never 0, which says "the kernel" */

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
static _Atomic uint64_t seeded;

static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

/* Only where the kernel has no entropy yet, right after the machine was started. */
static uint64_t without_kernel(void)
{
    static _Atomic uint64_t calls;
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return mix((uint64_t)now.tv_nsec * golden ^ (uint64_t)now.tv_sec ^ (uintptr_t)&now) +
           mix(atomic_fetch_add(&calls, 1) + golden);
}

uint64_t random_u64(void)
{
    uint64_t value;

    if (atomic_load_explicit(&seeded, memory_order_relaxed))
        return mix(atomic_fetch_add_explicit(&seeded, SEEDED_STEP, memory_order_relaxed) * golden);
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value)
        return without_kernel();
    return value;
}

void random_seed(uint64_t seed)
{
    atomic_store_explicit(&seeded, seed ? mix(seed) | 1 : 0, memory_order_relaxed);
}

uint64_t random_next(uint64_t *state)
{
    *state += golden;
    return mix(*state);
}
