/* SPDX-License-Identifier: MIT */
/*
 * memcpy, of a few octets or of many. A compiler that has seen a training run copies many with `rep movs`, which takes
 * more than twice as long as the C library where the two places are not aligned alike, and payload behind headers hardly
 * ever is. So it is not to know how many they are.
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <string.h>

enum { COPY_MANY = 1024 };

#ifdef __has_attribute
#if __has_attribute(no_profile_instrument_function)
#define COPY_UNSEEN __attribute__((noinline, no_profile_instrument_function))
#endif
#endif
#ifndef COPY_UNSEEN
#define COPY_UNSEEN __attribute__((noinline))
#endif

COPY_UNSEEN static void copy_many(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

static inline void copy_octets(void *to, const void *from, size_t n)
{
    if (n < COPY_MANY)
        memcpy(to, from, n);
    else
        copy_many(to, from, n);
}

#endif
