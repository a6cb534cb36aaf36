/* SPDX-License-Identifier: MIT */
/*
 * Stalls: calls, requests and events that wait for longer than stall_ms. A thread of the process, the doctor, reports
 * each stall once, with the reason for the wait. The doctor exists while an adapter is wrapped.
 *
 * The doctor sleeps until the earliest time at which a wait can become a stall. While nothing waits, the doctor sleeps
 * without a deadline. Therefore stall_begin must be called whenever a wait begins. The times are those of owner_clock.
 */
#ifndef VERIFY_STALL_H
#define VERIFY_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STALL_NS_PER_MS = 1000000 };

/*
 * The first stall_start starts the doctor's thread. The thread ends when stall_stop was called as often as stall_start.
 */
void stall_start(void);
void stall_stop(void);

/* Set and get the setting stall_ms. If it is 0, no stall is reported. */
void stall_set_limit_ms(uint32_t ms);
uint32_t stall_limit_ms(void);

/* True while the doctor sleeps without a deadline. */
extern atomic_bool stall_sleeps;
void stall_wake(void);

/*
 * Must be called after an object that can stall was inserted where stall_examine searches. The insertion and the
 * search must hold the same lock. Without that lock, the doctor, which calls stall_examine, could miss the object and
 * sleep without a deadline.
 */
static inline void stall_begin(void)
{
    if (atomic_load_explicit(&stall_sleeps, memory_order_relaxed))
        stall_wake();
}

/*
 * Reports everything that is a stall at the time `now`. Returns the time at which the next stall can be due, or
 * UINT64_MAX if nothing waits. The doctor calls this with owner_clock's time.
 */
uint64_t stall_examine(uint64_t now);

/*
 * In a child of fork, returns true if `since` is before the fork: what began then belongs to the parent. Otherwise
 * returns false.
 */
bool stall_is_inherited(uint64_t since);

#endif
