/* SPDX-License-Identifier: MIT */
/*
 * Structs of the public headers whose size is the caller's: include/openndk/api.h has the rule. Nothing beyond the
 * caller's size is read or written. A struct that is read must not get a field where it had padding: what an older
 * program has there is not zero.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies ours to the caller's struct. What the caller has beyond ours becomes zero. */
static inline void sized_write(void *theirs, size_t their_size, const void *ours, size_t our_size)
{
    size_t both = their_size < our_size ? their_size : our_size;

    memcpy(theirs, ours, both);
    memset((char *)theirs + both, 0, their_size - both);
}

/* The same for the caller's index-th of an array. */
static inline void sized_write_entry(void *theirs, size_t index, size_t their_size, const void *ours, size_t our_size)
{
    sized_write((char *)theirs + index * their_size, their_size, ours, our_size);
}

/*
 * Copies the caller's struct over ours, which keeps what the caller's lacks. Returns false and changes nothing if the
 * caller has something other than zero beyond ours.
 */
static inline bool sized_read(void *ours, size_t our_size, const void *theirs, size_t their_size)
{
    for (size_t i = our_size; i < their_size; i++) {
        if (((const unsigned char *)theirs)[i])
            return false;
    }
    memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
    return true;
}

#endif
