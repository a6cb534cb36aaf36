/* SPDX-License-Identifier: MIT */
/* Statistics of round-trip times, as `ping` prints them. */
#ifndef NDKPING_RTT_H
#define NDKPING_RTT_H

#include <stdint.h>

struct rtt {
    uint32_t count;
    double min_us, max_us, mean_us;
    double squares; /* sum of the squared differences from the mean */
};

void rtt_add(struct rtt *r, double us);
/* Returns the standard deviation. */
double rtt_deviation(const struct rtt *r);

#endif
