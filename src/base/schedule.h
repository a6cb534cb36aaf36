/* SPDX-License-Identifier: MIT */
/*
 * Delays threads at random, so that a program's races occur more often. Each thread has a sequence of delays of its
 * own, which depends only on the seed and on how many threads have reached a schedule_point before it. Off by default:
 * a schedule_point then costs one branch.
 */
#ifndef BASE_SCHEDULE_H
#define BASE_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/private_export.h"

extern atomic_bool schedule_is_random PRIVATE_EXPORT(schedule_is_random);

/* Begins to delay threads at random. A later call begins the sequences of all threads anew, with another seed. */
void schedule_set_seed(uint32_t seed) PRIVATE_EXPORT(schedule_set_seed);
/* Delays the calling thread for 0 to 1000 us. The thread's sequence determines the time. */
void schedule_delay(void) PRIVATE_EXPORT(schedule_delay);

/* Delays the thread if delays are on. Called where a routine returns to the consumer, and where a callback begins. */
static inline void schedule_point(void)
{
    if (__builtin_expect(atomic_load_explicit(&schedule_is_random, memory_order_relaxed), 0))
        schedule_delay();
}

#endif
