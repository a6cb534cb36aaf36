/* SPDX-License-Identifier: MIT */
/*
 * Zeroed memory from the thread's own cache, for objects that come and go with each connection. glibc before 2.41 has
 * calloc pass that cache by, so that what free puts there is never found again.
 */
#ifndef BASE_ZEROED_H
#define BASE_ZEROED_H

#include <stdlib.h>
#include <string.h>

static inline void *zeroed(size_t size)
{
    void *memory = malloc(size);

    __asm__("" : "+r"(memory)); /* or the compiler makes a calloc of it */
    return memory ? memset(memory, 0, size) : NULL;
}

#endif
