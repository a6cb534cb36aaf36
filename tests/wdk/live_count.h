/* SPDX-License-Identifier: MIT */
/* Counts the things that a driver has not released. */
#ifndef TESTS_WDK_LIVE_COUNT_H
#define TESTS_WDK_LIVE_COUNT_H

#include "wdk/common/live.h"

/* Returns the number of live things of all kinds. */
static inline uint32_t live_count(void)
{
    uint32_t counts[LIVE_KINDS], n = 0;

    live_count_kinds(counts);
    for (int kind = 0; kind < LIVE_KINDS; kind++)
        n += counts[kind];
    return n;
}

#endif
