/* SPDX-License-Identifier: MIT */
/*
 * Allocates zeroed memory from malloc's per-thread cache, for objects of one connection. In glibc before 2.41, calloc
 * does not use that cache, so memory that free puts there would not be reused. The invariant: the result is that of
 * calloc.
 */
#ifndef BASE_ZEROED_H
#define BASE_ZEROED_H

#include <stdlib.h>
#include <string.h>

static inline void *zeroed(size_t size)
{
    void *memory = malloc(size);

    __asm__("" : "+r"(memory)); /* otherwise the compiler turns malloc and memset into calloc */
    return memory ? memset(memory, 0, size) : NULL;
}

#endif
