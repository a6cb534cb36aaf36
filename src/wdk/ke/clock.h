/* SPDX-License-Identifier: MIT */
/*
 * Time in the kernel's unit of 100 ns. clock_system counts from 1601. clock_interrupt counts from the start of the
 * host, without the time that the host has slept. This is Windows' unbiased interrupt time.
 */
#ifndef WDK_CLOCK_H
#define WDK_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_UNITS 10000000LL /* units in a second */
#define CLOCK_1970 116444736000000000LL

static inline int64_t clock_units(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * CLOCK_UNITS + t.tv_nsec / 100;
}

static inline int64_t clock_system(void)
{
    return clock_units(CLOCK_REALTIME) + CLOCK_1970;
}

static inline int64_t clock_interrupt(void)
{
    return clock_units(CLOCK_MONOTONIC);
}

/* Returns moment + units. If the sum overflows, returns INT64_MAX, which means never. */
static inline int64_t clock_after(int64_t moment, int64_t units)
{
    return moment > INT64_MAX - units ? INT64_MAX : moment + units;
}

/*
 * Converts a relative time, which is a negative number, to its positive length. Returns INT64_MAX for INT64_MIN,
 * because -INT64_MIN would overflow.
 */
static inline int64_t clock_relative(int64_t negative)
{
    return negative == INT64_MIN ? INT64_MAX : -negative;
}

static inline struct timespec clock_timespec(int64_t units)
{
    return (struct timespec){ .tv_sec = units / CLOCK_UNITS, .tv_nsec = units % CLOCK_UNITS * 100 };
}

#endif
