/* SPDX-License-Identifier: MIT */
/*
 * Makes random numbers from the kernel, or from a seed: see random.h. The invariant: a number that was fetched from the
 * kernel is returned at most once, and a child of fork returns no number that its parent has fetched. The seeded
 * sequence is a mixing function of a counter, so threads share it without a lock.
 */
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
    /* An even step keeps the counter odd, so the counter never becomes 0. The value 0 selects the kernel's numbers. */
    SEEDED_STEP = 2,
    MAX_AHEAD = 32, /* one fetch gets this many numbers; getrandom returns 256 bytes completely or not at all */
};

/* Numbers that were fetched from the kernel and are still unused. */
static struct {
    struct spin lock;
    unsigned count;
    uint64_t values[MAX_AHEAD];
} ahead;
static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

static const uint64_t golden_ratio = UINT64_C(0x9e3779b97f4a7c15);
static _Atomic uint64_t seeded;

static uint64_t random_mix(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

/*
 * Computes a number from the time. Used only shortly after the start of the machine, while the kernel has no entropy.
 */
static uint64_t random_without_kernel(void)
{
    static _Atomic uint64_t calls;
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return random_mix((uint64_t)now.tv_nsec * golden_ratio ^ (uint64_t)now.tv_sec ^ (uintptr_t)&now) +
           random_mix(atomic_fetch_add(&calls, 1) + golden_ratio);
}

static void random_drop_ahead(void)
{
    memset(&ahead, 0, sizeof ahead);
}

static void random_install_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, random_drop_ahead);
}

static bool random_pop_ahead(uint64_t *value)
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

/* Fetches MAX_AHEAD numbers from the kernel. Returns one of them and stores the others for later calls. */
static uint64_t random_fetch(void)
{
    uint64_t values[MAX_AHEAD];

    (void)pthread_once(&fork_handler_once, random_install_fork_handler);
    if (getrandom(values, sizeof values, GRND_NONBLOCK) != (ssize_t)sizeof values)
        return random_without_kernel();
    spin_lock(&ahead.lock);
    memcpy(ahead.values, values + 1, sizeof values - sizeof values[0]);
    ahead.count = MAX_AHEAD - 1;
    spin_unlock(&ahead.lock);
    return values[0];
}

uint64_t random_u64(void)
{
    uint64_t value;

    if (atomic_load_explicit(&seeded, memory_order_relaxed))
        return random_mix(atomic_fetch_add_explicit(&seeded, SEEDED_STEP, memory_order_relaxed) * golden_ratio);
    return random_pop_ahead(&value) ? value : random_fetch();
}

void random_seed(uint64_t seed)
{
    atomic_store_explicit(&seeded, seed ? random_mix(seed) | 1 : 0, memory_order_relaxed);
}

uint64_t random_next(uint64_t *state)
{
    *state += golden_ratio;
    return random_mix(*state);
}
