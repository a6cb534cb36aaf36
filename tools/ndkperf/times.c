/* SPDX-License-Identifier: MIT */
/* Collects durations in a histogram: see times.h. */
#include "times.h"

#include <math.h>

enum { EXACT = 2 * TIMES_SUB };

static const double NS_PER_US = 1000;

static unsigned times_class_of(uint64_t ns)
{
    unsigned shift = 0, index;

    while (ns >> shift >= EXACT)
        shift++;
    index = shift * TIMES_SUB + (unsigned)(ns >> shift);
    return index < TIMES_CLASSES ? index : TIMES_CLASSES - 1;
}

void times_class(unsigned index, uint64_t *from, uint64_t *to)
{
    unsigned shift = index < EXACT ? 0 : index / TIMES_SUB - 1;

    *from = (uint64_t)(index - shift * TIMES_SUB) << shift;
    *to = *from + ((uint64_t)1 << shift);
}

void times_add(struct times *t, uint64_t ns)
{
    double us = (double)ns / NS_PER_US;

    if (!t->count || ns < t->min)
        t->min = ns;
    if (ns > t->max)
        t->max = ns;
    t->count++;
    t->sum += us;
    t->squares += us * us;
    t->classes[times_class_of(ns)]++;
}

double times_quantile(const struct times *t, double part)
{
    uint64_t rank = (uint64_t)ceil(part * (double)t->count), seen = 0, from, to, ns;

    if (rank <= 1)
        return (double)t->min / NS_PER_US;
    if (rank >= t->count)
        return (double)t->max / NS_PER_US;
    for (unsigned i = 0; i < TIMES_CLASSES; i++) {
        seen += t->classes[i];
        if (seen < rank)
            continue;
        times_class(i, &from, &to);
        ns = from + (to - from) / 2;
        ns = ns < t->min ? t->min : ns > t->max ? t->max : ns;
        return (double)ns / NS_PER_US;
    }
    return (double)t->max / NS_PER_US;
}

double times_mean(const struct times *t)
{
    return t->count ? t->sum / (double)t->count : 0;
}

double times_deviation(const struct times *t)
{
    double mean = times_mean(t), variance = t->count ? t->squares / (double)t->count - mean * mean : 0;

    return variance > 0 ? sqrt(variance) : 0;
}
