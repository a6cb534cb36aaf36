/* SPDX-License-Identifier: MIT */
/*
 * Detects stalls, which are calls, requests and events that wait for longer than stall_ms. A thread of this library,
 * the doctor, reports each stall once, with the reason for the wait. The doctor exists while an adapter is wrapped.
 *
 * The doctor sleeps until the earliest time at which a wait can become a stall. While nothing waits, the doctor sleeps
 * without a deadline. Therefore each code that begins a wait must call stall_begin. All times are from owner_clock.
 */
#ifndef VERIFY_STALL_H
#define VERIFY_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STALL_NS_PER_MS = 1000000 };

/*
 * These two functions start and stop the thread of the doctor. The first stall_start creates the thread. The thread
 * ends when stall_stop was called as often as stall_start.
 */
void stall_start(void);
void stall_stop(void);

/* These two functions set and return the setting stall_ms, in milliseconds. If it is 0, no stall is reported. */
void stall_set_limit_ms(uint32_t ms);
uint32_t stall_limit_ms(void);

/* true while the doctor sleeps without a deadline */
extern atomic_bool stall_sleeps;
void stall_wake(void);

/*
 * Wakes the doctor if it sleeps without a deadline. Must be called after an object that can stall was inserted into a
 * list that stall_examine searches. Insertion and search must hold the same lock. Otherwise the doctor could miss the
 * object and sleep without a deadline.
 */
static inline void stall_begin(void)
{
    if (atomic_load_explicit(&stall_sleeps, memory_order_relaxed))
        stall_wake();
}

/*
 * Reports all stalls at the time `now`, a time of owner_clock. Returns the earliest time at which another stall is
 * possible, or UINT64_MAX if nothing waits.
 */
uint64_t stall_examine(uint64_t now);

/*
 * Returns true if this process is a child of fork, and the time `since` is before the fork. A wait that began before
 * the fork belongs to the parent.
 */
bool stall_is_inherited(uint64_t since);

#endif
