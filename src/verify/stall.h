/* SPDX-License-Identifier: MIT */
/*
 * Stalls: calls, requests and events that wait for longer than stall_ms. A thread of the process, the doctor, reports
 * each stall once, with what it waits for. The doctor exists while an adapter is wrapped.
 *
 * The doctor sleeps until something can have become a stall, and without a deadline while nothing waits. So what begins
 * to wait must call stall_begin. The times are those of owner_clock.
 */
#ifndef VERIFY_STALL_H
#define VERIFY_STALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STALL_NS_PER_MS = 1000000 };

/* The doctor's thread starts with the first call of stall_start, and ends when stall_stop was called as often. */
void stall_start(void);
void stall_stop(void);

/* The setting stall_ms; 0: nothing is reported. */
void stall_set_limit_ms(uint32_t ms);
uint32_t stall_limit_ms(void);

/* True while the doctor sleeps without a deadline. */
extern atomic_bool stall_sleeps;
void stall_wake(void);

/*
 * Must be called after something that can stall has been inserted where stall_examine finds it. Both must hold the same
 * lock: the inserting thread then sees stall_sleeps, or stall_examine finds what was inserted.
 */
static inline void stall_begin(void)
{
    if (atomic_load_explicit(&stall_sleeps, memory_order_relaxed))
        stall_wake();
}

/*
 * Reports everything that is a stall at the time `now`. Returns when the next stall can be due; UINT64_MAX if nothing
 * waits. The doctor calls this with owner_clock's time.
 */
uint64_t stall_examine(uint64_t now);

/* Returns true for a time from before the latest fork, if the process is its child: what began then is the parent's. */
bool stall_is_inherited(uint64_t since);

#endif
