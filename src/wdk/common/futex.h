/* SPDX-License-Identifier: MIT */
/*
 * Functions that sleep on a word and wake the sleepers. futex_wake does not read the word, so the word's memory may
 * already be freed.
 */
#ifndef WDK_FUTEX_H
#define WDK_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The time at which a sleep ends. If clock is negative, the sleep has no deadline. */
struct deadline {
    int clock; /* CLOCK_MONOTONIC or CLOCK_REALTIME */
    struct timespec at;
};

/*
 * Sleeps while *word equals `seen`. Returns false if the deadline has passed. Otherwise returns true; the caller must
 * then read *word again, because it may still equal `seen`.
 */
static inline bool futex_sleep(void *word, unsigned seen, const struct deadline *until)
{
    int op = FUTEX_WAIT_BITSET_PRIVATE | (until && until->clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
    const struct timespec *at = until && until->clock >= 0 ? &until->at : NULL;

    return syscall(SYS_futex, word, op, seen, at, NULL, FUTEX_BITSET_MATCH_ANY) == 0 || errno != ETIMEDOUT;
}

static inline void futex_wake(void *word, int max)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, max, NULL, NULL, 0);
}

#endif
