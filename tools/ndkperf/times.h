/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations in ns. Below 256 ns each duration has its own class. From 256 ns on, there are 128 classes
 * between two powers of two, so a quantile is accurate to 0.8 %. Minimum, maximum, mean and deviation are exact. The
 * memory does not depend on the number of durations.
 */
#ifndef NDKPERF_TIMES_H
#define NDKPERF_TIMES_H

#include <stdint.h>

enum { TIMES_SUB = 128, TIMES_CLASSES = 40 * TIMES_SUB };

struct times {
    uint64_t count, min, max; /* `count` is the number of durations; `min` and `max` are in ns */
    double sum, squares;
    uint64_t classes[TIMES_CLASSES];
};

void times_add(struct times *t, uint64_t ns);
/*
 * These functions return a duration in microseconds, or 0 if the histogram is empty. `part` is from 0 to 1, for example
 * 0.99.
 */
double times_quantile(const struct times *t, double part);
double times_mean(const struct times *t);
double times_deviation(const struct times *t);
/*
 * Sets the bounds of a class in ns. *from is the lowest duration in the class, *to the lowest duration above the class.
 */
void times_class(unsigned index, uint64_t *from, uint64_t *to);

#endif
