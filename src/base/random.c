/* SPDX-License-Identifier: MIT */
/* See random.h. The seeded sequence is a counter through a mixing function, so that it can be shared without a lock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/spin.h"

enum {
    SEEDED_STEP = 2, /* the counter stays odd, so never 0, which says "the kernel" */
    AHEAD = 32,      /* 256 bytes: the kernel gives so many at once or none */
};

/* Fetched from the kernel and not given out yet. A child of fork has none: it would give out what its parent does. */
static struct {
    struct spin lock;
    unsigned count;
    uint64_t values[AHEAD];
} ahead;
static pthread_once_t forgets_in_children = PTHREAD_ONCE_INIT;

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

static void forget(void)
{
    memset(&ahead, 0, sizeof ahead);
}

static void forget_in_children(void)
{
    (void)pthread_atfork(NULL, NULL, forget);
}

static bool take_ahead(uint64_t *value)
{
    bool found;

    spin_lock(&ahead.lock);
    found = ahead.count > 0;
    if (found) {
        *value = ahead.values[--ahead.count];
        ahead.values[ahead.count] = 0;
    }
    spin_unlock(&ahead.lock);
    return found;
}

/* One for the caller, the others for those who come next. */
static uint64_t fetch(void)
{
    uint64_t values[AHEAD];

    (void)pthread_once(&forgets_in_children, forget_in_children);
    if (getrandom(values, sizeof values, GRND_NONBLOCK) != (ssize_t)sizeof values)
        return without_kernel();
    spin_lock(&ahead.lock);
    memcpy(ahead.values, values + 1, sizeof values - sizeof values[0]);
    ahead.count = AHEAD - 1;
    spin_unlock(&ahead.lock);
    return values[0];
}

uint64_t random_u64(void)
{
    uint64_t value;

    if (atomic_load_explicit(&seeded, memory_order_relaxed))
        return mix(atomic_fetch_add_explicit(&seeded, SEEDED_STEP, memory_order_relaxed) * golden);
    return take_ahead(&value) ? value : fetch();
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
