/* SPDX-License-Identifier: MIT */
/*
 * Copies payload. Large copies must reach the C library's memcpy. GCC with a training profile inlines them as
 * `rep movs`, which takes more than twice as long if source and destination are not equally aligned, and payload behind
 * headers hardly ever is. copy_many hides the length from the compiler. The invariant: copy_many is not inlined.
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <string.h>

enum { COPY_MANY = 1024 }; /* bytes */

#ifdef __has_attribute
#if __has_attribute(no_profile_instrument_function)
#define COPY_NOT_PROFILED __attribute__((noinline, no_profile_instrument_function))
#endif
#endif
#ifndef COPY_NOT_PROFILED
#define COPY_NOT_PROFILED __attribute__((noinline))
#endif

COPY_NOT_PROFILED static void copy_many(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

static inline void copy_bytes(void *to, const void *from, size_t n)
{
    if (n < COPY_MANY)
        memcpy(to, from, n);
    else
        copy_many(to, from, n);
}

#endif
