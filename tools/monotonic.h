/* SPDX-License-Identifier: MIT */
/* The clock for durations and deadlines. A change of the time of day does not affect this clock. */
#ifndef TOOLS_MONOTONIC_H
#define TOOLS_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline int64_t monotonic_ms(void)
{
    return (int64_t)(monotonic_ns() / 1000000);
}

static inline double monotonic_seconds(void)
{
    return (double)monotonic_ns() / 1e9;
}

#endif
