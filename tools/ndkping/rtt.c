/* SPDX-License-Identifier: MIT */
/*
 * Computes the statistics: see rtt.h. Welford's method computes the deviation without a list of times or large sums.
 */
#include "rtt.h"

#include <math.h>

void rtt_add(struct rtt *r, double us)
{
    double difference = us - r->mean_us;

    if (!r->count || us < r->min_us)
        r->min_us = us;
    if (!r->count || us > r->max_us)
        r->max_us = us;
    r->count++;
    r->mean_us += difference / r->count;
    r->squares += difference * (us - r->mean_us);
}

double rtt_deviation(const struct rtt *r)
{
    return r->count ? sqrt(r->squares / r->count) : 0;
}
